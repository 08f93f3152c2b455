#include <preseg_passes/operand_order.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/composite_nodes.h>

namespace nvfuser::preseg_passes {

namespace {

bool isAttention(const Expr* expr) { return expr->isOneOf<SdpaFwdOp, SdpaBwdOp>(); }

bool isPermute(const Expr* expr) {
  return expr->isA<LoadStoreOp>() && expr->output(0)->isA<TensorView>() &&
         expr->output(0)->as<TensorView>()->hasRoot();
}

/// The axes of a permuted tensor as its source has them in memory; empty where it has others there.
std::vector<IterDomain*> orderOfSource(const Expr* permute) {
  auto* source = permute->input(0)->as<TensorView>();
  auto* out = permute->output(0)->as<TensorView>();
  const auto pairs = mapAxes(permute, source, out);
  std::vector<IterDomain*> order;
  for (const IterDomain* id : TensorDomain::noReductions(source->getMaybeAllocationDomain())) {
    const auto found = std::find_if(pairs.begin(), pairs.end(),
                                    [&](const auto& pair) { return pair.first == id; });
    if (found == pairs.end()) {
      return {};
    }
    order.push_back(found->second);
  }
  return order.size() == out->getLogicalDomain().size() ? order : std::vector<IterDomain*>();
}

}  // namespace

void orderOperands(Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    if (!isPermute(expr)) {
      continue;
    }
    auto* out = expr->output(0)->as<TensorView>();
    const std::vector<Expr*> readers = fusion.usesOf(out);
    const bool for_libraries =
        !readers.empty() && std::all_of(readers.begin(), readers.end(), [](const Expr* reader) {
          return reader->isOneOf<MatmulOp, LinearOp>() || isAttention(reader);
        });
    if (!for_libraries || out->isFusionOutput() || out->hasAllocation()) {
      continue;
    }
    std::vector<IterDomain*> order = orderOfSource(expr);
    const bool moves_innermost =
        !order.empty() && order.back() != out->getLogicalDomain().back() &&
        std::any_of(readers.begin(), readers.end(),
                    [](const Expr* reader) { return isAttention(reader); });
    if (order.empty() || moves_innermost || order == out->getLogicalDomain()) {
      continue;
    }
    Contiguity contiguity = TensorDomain::getContiguityFilledWith(order, true);
    out->setAllocationDomain(std::move(order), std::move(contiguity));
  }
}

}  // namespace nvfuser::preseg_passes
