#include <runtime/launch_values.h>

#include <algorithm>

#include <evaluator/shape_inference.h>

namespace nvfuser {

namespace {

void bindArgument(ExpressionEvaluator& evaluator, const Val* input, const KernelArgument& argument,
                  size_t position, bool with_strides) {
  if (input->isA<TensorView>()) {
    auto* tv = input->as<TensorView>();
    if (!argument.isTensor()) {
      userError("Expected input ", position, ", ", tv, ", to be an at::Tensor but got scalar ",
                argument.toString());
    }
    const Tensor& tensor = argument.tensor();
    if (!tensor.defined()) {
      userError("Expected input ", position, ", ", tv,
                ", to be a tensor with storage, but got an undefined one; allocate it first");
    }
    if (tensor.dtype() != tv->dtype()) {
      userError("Expected input ", position, ", ", tv, ", to be bound to a tensor of dtype ",
                tv->dtype(), ", but got a tensor of dtype ", tensor.dtype());
    }
    const auto rank = TensorDomain::noReductions(tv->getLogicalDomain()).size();
    if (tensor.sizes().size() != rank) {
      userError("Expected input ", position, ", ", tv, ", to be bound to a tensor of rank ", rank,
                ", but got a tensor of rank ", tensor.sizes().size());
    }
    if (with_strides) {
      evaluator.bindTensor(tv, tensor.sizes(), tensor.strides());
    } else {
      evaluator.bindTensor(tv, tensor.sizes());
    }
    return;
  }
  if (argument.isTensor()) {
    userError("Expected input ", position, ", ", input->toString(), ", to be a scalar but got ",
              argument.tensor().dtype(), " tensor of rank ", argument.tensor().sizes().size());
  }
  if (!argument.scalar().hasValue()) {
    userError("Expected input ", position, ", ", input->toString(),
              ", to have a value, but got none; pass a number of type ", input->dtype());
  }
  evaluator.bind(input, argument.scalar());
}

/// Of one element no stride matters, also not whether vectors fit it, unless the next axis outwards
/// is contiguous: its stride is computed from this one.
bool isStrideUnused(const TensorView* tv, size_t axis, const AllocationLayout& layout) {
  const std::vector<IterDomain*>& axes = tv->getMaybeAllocationDomain();
  size_t outer = axis;
  do {
    if (outer == 0) {
      return layout.sizes[axis] == 1;
    }
    --outer;
  } while (axes[outer]->isBroadcast() || axes[outer]->isReduction());
  return layout.sizes[axis] == 1 && tv->getContiguity()[outer] != true;
}

ExpressionEvaluator bind(const Fusion& fusion, const KernelArgumentHolder& arguments,
                         bool with_strides) {
  ExpressionEvaluator evaluator;
  const std::vector<Val*>& inputs = fusion.inputs();
  if (arguments.size() != inputs.size()) {
    userError(arguments.size() < inputs.size()
                  ? "KernelArgumentHolder contains less argument than kernel's input."
                  : "KernelArgumentHolder contains more arguments than kernel's input.",
              " The fusion has ", inputs.size(), " inputs, got ", arguments.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    bindArgument(evaluator, inputs[i], arguments[i], i, with_strides);
  }
  return evaluator;
}

}  // namespace

ExpressionEvaluator bindSizes(const Fusion& fusion, const KernelArgumentHolder& arguments) {
  return bind(fusion, arguments, false);
}

ExpressionEvaluator bindAllInputs(const Fusion& fusion, const KernelArgumentHolder& arguments) {
  return bind(fusion, arguments, true);
}

bool layoutsFit(const Fusion& fusion, const KernelArgumentHolder& arguments,
                ExpressionEvaluator& sizes) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isTensor()) {
      const Tensor& tensor = arguments[i].tensor();
      const auto* tv = fusion.inputs()[i]->as<TensorView>();
      if (!refusesLayout(tv, tensor.sizes(), tensor.strides(), sizes).empty()) {
        return false;
      }
    }
  }
  return true;
}

void requireScheduled(const Fusion& fusion, ExpressionEvaluator& call) {
  ShapeInference(fusion, ShapeInference::Scope::Used).requireIterated(call);
  for (const TensorView* tv : fusion.allTvs()) {
    for (const Expr* expr : tv->domain()->allExprs()) {
      if (!expr->isA<Split>()) {
        continue;
      }
      const auto* split = expr->as<Split>();
      const PolymorphicValue factor = call.evaluate(split->factor());
      if (factor.hasValue()) {
        requirePositive(factor.as<int64_t>(), split, tv);
      }
    }
  }
}

LaunchValues::LaunchValues(const Fusion& fusion, const kir::Kernel& kernel,
                           const KernelArgumentHolder& arguments, const KnownScalars* of_whole)
    : fusion_(fusion),
      kernel_(kernel),
      arguments_(arguments),
      evaluator_(bindAllInputs(fusion, arguments)) {
  if (of_whole == nullptr) {
    requireScheduled(fusion, evaluator_);
    return;
  }
  for (const auto& [name, value] : *of_whole) {
    evaluator_.bind(name, value);
  }
}

int64_t LaunchValues::of(kir::Scalar scalar) {
  auto found = cache_.find(scalar);
  if (found != cache_.end()) {
    return found->second;
  }
  const int64_t value = kir::evaluate(scalar, [&](kir::Scalar symbol) -> int64_t {
    auto cached = cache_.find(symbol);
    if (cached != cache_.end()) {
      return cached->second;
    }
    const auto source = kernel_.sources.find(symbol);
    check(source != kernel_.sources.end(), "a symbol of the kernel has no source");
    const kir::SymbolSource& from = source->second;
    int64_t result = 0;
    if (from.kind == kir::SymbolSource::Kind::Value) {
      result = evaluator_.evaluateInt(from.val, "which a size or index depends on");
    } else {
      const auto& inputs = fusion_.inputs();
      const auto position =
          static_cast<size_t>(std::find(inputs.begin(), inputs.end(), from.tv) - inputs.begin());
      const Tensor& tensor = arguments_[position].tensor();
      if (from.kind == kir::SymbolSource::Kind::Extent) {
        result = tensor.size(from.axis);
      } else {
        const AllocationLayout layout =
            allocationLayout(from.tv, tensor.sizes(), tensor.strides(), evaluator_);
        const auto axis = static_cast<size_t>(from.axis);
        result = isStrideUnused(from.tv, axis, layout) ? 0 : layout.strides[axis];
      }
    }
    cache_[symbol] = result;
    return result;
  });
  cache_[scalar] = value;
  return value;
}

}  // namespace nvfuser
