// The shorter way of regions: launches that are known, else a call of the fusion's executor.

#include "direct/profiler.h"
#include "graph_plan/graph_plan.h"
#include "interruptible.h"
#include "torch_arrays.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

void noteUpdates(const RegionStep& step, Values& values) {
  if (step.updated.empty()) {
    return;
  }
  values.lock().take();
  nb::list tensors;
  for (SlotIndex slot : step.updated) {
    tensors.append(nb::borrow(values.object(slot)));
  }
  step.note_updates(tensors);
}

bool repeat(const RegionStep& step, std::span<const TorchValue> inputs,
            std::span<const SlotIndex> results, Values& values) {
  const auto take = [&](TorchKnownCall& call) {
    for (size_t i = 0; i < call.numOutputs(); ++i) {
      values.setTensor(results[i], call.takeOutput(i));
    }
  };
  return step.cache->known.repeat(*step.cache->executor, inputs, step.ones, values.lock(), take);
}

/// Null where it cannot be lent.
std::optional<KernelArgument> argumentOf(const TorchValue& value) {
  LentArgument lent;
  if (!lend(value, lent)) {
    return std::nullopt;
  }
  if (const PolymorphicValue* scalar = lent.scalar()) {
    return KernelArgument(*scalar);
  }
  const LentTensor& tensor = *lent.tensor();
  return Tensor::fromRef({tensor.data,
                          tensor.dtype,
                          {tensor.sizes.begin(), tensor.sizes.end()},
                          {tensor.strides.begin(), tensor.strides.end()}},
                         *tensor.device);
}

/// Nothing is stored by the strides of axes of one element, but programs see them.
void setStridesOfOnes(const RegionStep& step, size_t output, nb::handle tensor) {
  nb::object strides;
  for (const StrideOfOne& one : step.ones) {
    if (one.output == output) {
      strides = strides.is_valid() ? strides : nb::object(nb::list(tensor.attr("stride")()));
      strides[one.axis] = one.stride;
    }
  }
  if (strides.is_valid() && !nb::tuple(strides).equal(tensor.attr("stride")())) {
    tensor.attr("as_strided_")(tensor.attr("shape"), strides);
  }
}

/// Whatever the call needs besides launches: blocks that the library keeps, copies, views.
bool execute(const RegionStep& step, std::span<const TorchValue> inputs,
             std::span<const SlotIndex> results, Values& values) {
  FusionExecutorCache& executor = *step.cache->executor;
  const Torch& torch = *values.torch();
  KernelArgumentHolder arguments;
  int32_t cuda_index = -1;
  for (const TorchValue& input : inputs) {
    std::optional<KernelArgument> argument = argumentOf(input);
    if (!argument) {
      return false;
    }
    arguments.push(std::move(*argument));
    cuda_index = std::max(cuda_index, input.cuda_index);
  }
  RunContext context;
  context.allocator = torch.allocator;
  context.stream = cuda_index >= 0 ? currentStream(torch, cuda_index) : nullptr;
  Interruptible call;
  context.cancellation = call.cancellation();
  values.lock().give();
  KernelArgumentHolder outputs = call.run(
      [&] { return executor.runFusionWithInputs(arguments, std::nullopt, nullptr, context); });
  values.lock().take();
  size_t place = 0;
  for (KernelArgument& output : outputs) {
    Tensor tensor = output.takeTensor();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (arguments[i].isTensor() && arguments[i].tensor().sharesStorage(tensor)) {
        tensor = keepTorch(torch, values.object(step.inputs[i]), tensor);
      }
    }
    nb::object made = makeTorch(torch, std::move(tensor));
    setStridesOfOnes(step, place, made);
    values.setObject(results[place++], made.release().ptr());
  }
  return true;
}

}  // namespace

bool go(const RegionStep& step, std::span<const SlotIndex> results, Values& values) {
  if (values.torch() == nullptr || isProfiling() || !step.has_run ||
      step.cache->executor->numDraws() > 0) {
    return false;
  }
  ShortList<TorchValue, 16> inputs(step.inputs.size());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!values.read(step.inputs[i], inputs[i])) {
      return false;
    }
  }
  try {
    if (!repeat(step, inputs.span(), results, values) &&
        !execute(step, inputs.span(), results, values)) {
      return false;
    }
  } catch (const PartialUpdateError&) {
    throw;
  } catch (const nb::python_error&) {  // of a signal's handler
    throw;
  } catch (const std::exception&) {  // the compiled region says what it is, and goes another way
    return false;
  }
  noteUpdates(step, values);
  return true;
}

}  // namespace nvfuser::python
