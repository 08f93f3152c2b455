#include <algorithm>
#include <string>
#include <vector>

#include <evaluator/interpreter.h>
#include <evaluator/shape_inference.h>

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
  ShapeInference(fusion, ShapeInference::Scope::Used).check(evaluator);
  return evaluator;
}

}  // namespace nvfuser
