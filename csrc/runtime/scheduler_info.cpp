#include <runtime/scheduler_info.h>

#include <evaluator/shape_inference.h>
#include <runtime/executor.h>
#include <runtime/launch_values.h>
#include <runtime/prepared_fusion.h>

namespace nvfuser {

SchedulerRuntimeInfo runtimeInfoOf(const Fusion& fusion, const KernelArgumentHolder& args) {
  ExpressionEvaluator evaluator = bindAllInputs(fusion, args);
  ShapeInference(fusion, ShapeInference::Scope::Used).check(evaluator);
  std::vector<TensorLayout> layouts;
  Device* device = nullptr;
  for (const KernelArgument& argument : args) {
    if (!argument.isTensor()) {
      continue;
    }
    const Tensor& tensor = argument.tensor();
    layouts.push_back({tensor.sizes(), tensor.strides(), alignmentOf(tensor.data())});
    device = device == nullptr || tensor.dim() > 0 ? &tensor.device() : device;
  }
  device = device == nullptr ? &defaultDevice() : device;
  return SchedulerRuntimeInfo(fusion, layouts, std::move(evaluator), device->kind(),
                              device->properties(),
                              DataType(args.getSmallestIndexTypeOfArguments()));
}

}  // namespace nvfuser
