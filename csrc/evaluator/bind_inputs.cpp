#include <algorithm>
#include <string>
#include <vector>

#include <evaluator/interpreter.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

void bindTensorInput(ExpressionEvaluator& evaluator, size_t number, const Val* input,
                     const TensorRef& tensor) {
  if (!input->isA<TensorView>()) {
    userError("Expected input ", number, ", ", input->toInlineString(), ", to be a scalar but got ",
              dataTypeName(tensor.dtype), " tensor of rank ", tensor.rank());
  }
  const auto* tv = input->as<TensorView>();
  if (tensor.dtype != tv->dtype()) {
    userError("Expected input ", number, ", ", *tv, ", to be bound to a tensor of dtype ",
              dataTypeName(tv->dtype()), ", but got a tensor of dtype ",
              dataTypeName(tensor.dtype));
  }
  const size_t rank = TensorDomain::noReductions(tv->getLogicalDomain()).size();
  if (tensor.sizes.size() != rank) {
    userError("Expected input ", number, ", ", *tv, ", to be bound to a tensor of rank ", rank,
              ", but got a tensor of rank ", tensor.rank());
  }
  evaluator.bindTensor(tv, tensor.sizes, tensor.strides);
}

}  // namespace

ExpressionEvaluator bindInputs(const Fusion& fusion, std::span<const InterpreterInput> inputs) {
  const std::vector<Val*>& expected = fusion.inputs();
  if (inputs.size() < expected.size()) {
    userError("KernelArgumentHolder contains less argument than kernel's input. The fusion has ",
              expected.size(), " inputs, but got ", inputs.size(), " arguments");
  }
  if (inputs.size() > expected.size()) {
    userError("Inputs were not set up correctly. The fusion has ", expected.size(),
              " inputs, but got ", inputs.size(), " arguments");
  }
  ExpressionEvaluator evaluator;
  for (size_t number = 0; number < inputs.size(); ++number) {
    const Val* input = expected[number];
    if (const auto* tensor = std::get_if<TensorRef>(&inputs[number])) {
      bindTensorInput(evaluator, number, input, *tensor);
      continue;
    }
    const auto& value = std::get<PolymorphicValue>(inputs[number]);
    if (input->isA<TensorView>()) {
      userError("Expected input ", number, ", ", *input, ", to be an at::Tensor but got scalar ",
                value);
    }
    if (!value.hasValue()) {
      userError("Expected input ", number, ", ", input->toInlineString(),
                ", to have a value, but got none; pass a number of type ",
                dataTypeName(input->dtype()));
    }
    evaluator.bind(input, value, /*validate=*/true);
  }
  checkSizes(fusion, evaluator);
  return evaluator;
}

void checkRequirements(const Fusion& fusion, ExpressionEvaluator& evaluator) {
  for (const SizeRequirement& sizes : fusion.sizeRequirements()) {
    const PolymorphicValue found = evaluator.evaluate(sizes.found);
    const PolymorphicValue needed = evaluator.evaluate(sizes.needed);
    if (found.hasValue() && needed.hasValue() && !(found == needed)) {
      userError(sizes.message, " gives ", found, " elements, but there are ", needed,
                "; pass sizes whose product is the same");
    }
  }
}

void checkSizes(const Fusion& fusion, ExpressionEvaluator& evaluator) {
  checkRequirements(fusion, evaluator);
  for (const TensorView* tv : fusion.allTvs()) {
    for (const Expr* expr : tv->domain()->allExprs()) {
      if (!expr->isA<Split>()) {
        continue;
      }
      const auto* split = expr->as<Split>();
      const PolymorphicValue factor = evaluator.evaluate(split->factor());
      if (factor.hasValue() && factor.as<int64_t>() <= 0) {
        userError("run: axis ", *split->in(), " of ", *tv, " is split by a factor of ", factor,
                  ", which must be positive; pass other values for what ",
                  split->factor()->toInlineString(), " is computed from");
      }
    }
    int64_t count = 1;
    bool overflow = false;
    bool empty = false;
    std::vector<std::string> shown;
    for (const IterDomain* id : tv->getLogicalDomain()) {
      const PolymorphicValue size = evaluator.evaluate(id->getMaybeExpandedExtent());
      shown.push_back(size.hasValue() ? size.toString() : "?");
      if (!size.hasValue()) {
        continue;
      }
      const auto extent = size.as<int64_t>();
      if (extent < 0) {
        userError("run: axis ", *id, " of ", *tv, " would have ", extent,
                  " elements; a size must not be negative, so check the scalars and sizes that ",
                  id->getMaybeExpandedExtent()->toInlineString(), " is computed from");
      }
      empty |= extent == 0;
      overflow |= __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count);
    }
    overflow |= count > INT64_MAX / std::max<int64_t>(dataTypeSizeByte(tv->dtype()), 1);
    if (overflow && !empty) {
      userError("run: ", *tv, " of sizes [", join(shown, ", "),
                "] has more bytes than 2^63 - 1, which no index can count");
    }
  }
}

}  // namespace nvfuser
