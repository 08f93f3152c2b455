#include <runtime/in_place.h>

#include <algorithm>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// Same number of axes, of the same kinds: what is computed element by element from one of them
/// and has this form has the same element at the same place.
bool samePlaces(const TensorView* a, const TensorView* b) {
  const std::vector<IterDomain*> first = TensorDomain::noReductions(a->getLogicalDomain());
  const std::vector<IterDomain*> second = TensorDomain::noReductions(b->getLogicalDomain());
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const IterDomain* x, const IterDomain* y) {
                      return x->isBroadcast() == y->isBroadcast() && !x->hasExpandedExtent() &&
                             !y->hasExpandedExtent();
                    });
}

bool isElementwise(const Expr* expr) {
  if (expr->isA<LoadStoreOp>()) {
    return !expr->output(0)->as<TensorView>()->hasRoot();
  }
  return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>();
}

}  // namespace

bool readsOnlyWhereItWrites(const Fusion& part, const TensorView* in, const TensorView* out) {
  std::unordered_set<const TensorView*> derived{in};
  for (const Expr* expr : part.exprs()) {
    bool reads = false;
    for (const TensorView* operand : tensorInputs(expr)) {
      reads |= derived.count(operand) != 0;
    }
    if (!reads) {
      continue;
    }
    const std::vector<TensorView*> outputs = tensorOutputs(expr);
    if (outputs.size() != 1 || !isElementwise(expr) || !samePlaces(in, outputs[0])) {
      return false;
    }
    derived.insert(outputs[0]);
  }
  return !in->isFusionOutput() && !out->isFusionInput() && samePlaces(in, out);
}

bool overlapsAnother(const KernelArgumentHolder& args, size_t position) {
  auto rangeOf = [](const Tensor& tensor) {
    const auto* first = static_cast<const std::byte*>(tensor.data());
    int64_t last = 0;
    for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
      last += (tensor.sizes()[axis] - 1) * tensor.strides()[axis];
    }
    return std::pair(first, first + (last + 1) * dataTypeSizeByte(tensor.dtype()));
  };
  const Tensor& tensor = args[position].tensor();
  if (tensor.numel() == 0) {
    return false;
  }
  const auto [first, end] = rangeOf(tensor);
  for (size_t i = 0; i < args.size(); ++i) {
    if (i == position || !args[i].isTensor() || args[i].tensor().numel() == 0) {
      continue;
    }
    const auto [other, other_end] = rangeOf(args[i].tensor());
    if (first < other_end && other < end) {
      return true;
    }
  }
  return false;
}

}  // namespace nvfuser
