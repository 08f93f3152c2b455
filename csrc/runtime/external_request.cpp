#include <runtime/external_request.h>

#include <algorithm>

#include <segmenter/group.h>

namespace nvfuser {

namespace {

/// Sizes by name and the scalars among the arguments.
ExpressionEvaluator evaluatorOf(const Fusion& segment, const KernelArgumentHolder& args,
                                const KnownScalars& sizes) {
  ExpressionEvaluator evaluator;
  for (const auto& [name, value] : sizes) {
    evaluator.bind(name, value);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].isTensor()) {
      evaluator.bind(segment.inputs()[i], args[i].scalar());
    }
  }
  return evaluator;
}

}  // namespace

ExternalRequest requestOf(const Fusion& segment) {
  const std::vector<Expr*> exprs = tensorExprs(segment);
  ExternalRequest request;
  if (exprs.size() == 1) {
    request.op = exprs[0];
    for (const Val* output : request.op->outputs()) {
      request.results.push_back(output->as<TensorView>());
    }
    return request;
  }
  const auto* result = segment.outputs()[0]->as<TensorView>();
  const auto product = productWithEpilogue(exprs, result);
  check(product.has_value(), "a library's operation has nothing but its epilogue beside it");
  return {product->product, {result}, product->bias, product->end};
}

std::vector<KernelArgument> operandsOf(const Fusion& segment, const ExternalRequest& request,
                                       const KernelArgumentHolder& args,
                                       const KnownScalars& sizes) {
  const Expr* op = request.op;
  const bool has_scalars = std::any_of(op->inputs().begin(), op->inputs().end(),
                                       [](const Val* in) { return !in->isA<TensorView>(); });
  ExpressionEvaluator evaluator;
  if (has_scalars) {
    evaluator = evaluatorOf(segment, args, sizes);
  }
  std::vector<KernelArgument> operands;
  std::vector<const Val*> needed(op->inputs().begin(), op->inputs().end());
  if (request.bias != nullptr) {
    needed.push_back(request.bias);
  }
  for (const Val* input : needed) {
    if (!input->isA<TensorView>()) {
      const PolymorphicValue value = evaluator.evaluate(input);
      if (!value.hasValue()) {
        userError(op->getOpString(), ": the scalar ", input->toInlineString(),
                  " has no value; pass it to the fusion");
      }
      operands.emplace_back(value);
      continue;
    }
    const auto place = std::find(segment.inputs().begin(), segment.inputs().end(), input);
    operands.push_back(args[static_cast<size_t>(place - segment.inputs().begin())]);
  }
  return operands;
}

std::vector<ViewLayout> layoutsOf(const Fusion& segment, const ExternalRequest& request,
                                  const KernelArgumentHolder& args, const KnownScalars& sizes) {
  ExpressionEvaluator evaluator = evaluatorOf(segment, args, sizes);
  std::vector<ViewLayout> layouts;
  for (const TensorView* tv : request.results) {
    auto layout = denseLayout(tv, evaluator);
    if (!layout) {
      userError(request.op->getOpString(), ": the result ", tv,
                " has an order in memory that is no permutation of its axes; give it one");
    }
    layouts.push_back(std::move(*layout));
  }
  return layouts;
}

external::Call callOf(const ExternalRequest& request, const std::vector<KernelArgument>& operands,
                      const std::vector<ViewLayout>& results, RandomState random,
                      const external::Machine& machine) {
  external::Call call;
  call.op = request.op;
  call.epilogue = request.epilogue;
  call.philox_seed = random.seed;
  call.philox_offset = random.offset;
  call.machine = &machine;
  for (size_t i = 0; i < request.op->inputs().size(); ++i) {
    const KernelArgument& operand = operands[i];
    if (operand.isTensor()) {
      call.inputs.emplace_back(operand.tensor().ref());
    } else {
      call.inputs.emplace_back(operand.scalar());
    }
  }
  if (request.bias != nullptr) {
    call.added_bias = operands.back().tensor().ref();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    call.outputs.push_back(
        {nullptr, request.results[i]->dtype(), results[i].sizes, results[i].strides});
  }
  return call;
}

}  // namespace nvfuser
