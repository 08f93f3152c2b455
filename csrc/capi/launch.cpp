/// Executions that were looked up once, for callers that count nanoseconds.
#include <complex>
#include <cstddef>
#include <memory>

#include <capi/arguments.h>
#include <capi/callers_context.h>
#include <capi/fusion_handle.h>
#include <capi/guarded.h>
#include <runtime/repeated_launch.h>
#include <runtime/tensor.h>

using namespace nvfuser;
using namespace nvfuser::capi;

struct nvf_launch {
  std::unique_ptr<FusionExecutorCache::RepeatedLaunch> launch;
};

static_assert(sizeof(nvf_word) == sizeof(LentWord) &&
              offsetof(nvf_word, address) == offsetof(LentWord, address) &&
              offsetof(nvf_word, real) == offsetof(LentWord, real) &&
              offsetof(nvf_word, integer) == offsetof(LentWord, integer));

namespace {

/// False for what an execution has to deal with: tensors that are handed over, and what is wrong.
bool lendArgument(const nvf_argument& input, LentArgument& lent) {
  switch (input.kind) {
    case NVF_ARG_TENSOR:
      return input.tensor != nullptr &&
             lend(*static_cast<const nvfuser::DLTensor*>(input.tensor), lent);
    case NVF_ARG_BOOL:
      lent = PolymorphicValue(input.integer != 0);
      return true;
    case NVF_ARG_INT:
      lent = PolymorphicValue(input.integer);
      return true;
    case NVF_ARG_DOUBLE:
      lent = PolymorphicValue(input.real);
      return true;
    default:
      return false;
  }
}

std::unique_ptr<FusionExecutorCache::RepeatedLaunch> launchOf(nvf_fusion& fusion,
                                                              const nvf_argument* inputs,
                                                              int64_t input_count) {
  FusionExecutorCache* executor = fusion.made.load(std::memory_order_acquire);
  if (executor == nullptr || !executor->canRepeat()) {
    return nullptr;
  }
  const auto count = static_cast<size_t>(input_count);
  ShortList<LentArgument, 8> arguments(count);
  for (size_t i = 0; i < count; ++i) {
    if (!lendArgument(inputs[i], arguments[i])) {
      return nullptr;
    }
  }
  return executor->repeatedLaunch(arguments.span(),
                                  fusion.options ? *fusion.options : Options::current());
}

}  // namespace

extern "C" {

int nvf_launch_create(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                      nvf_launch** launch) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    requirePointer(inputs, "inputs");
    requirePointer(launch, "launch");
    auto found = launchOf(*fusion, inputs, input_count);
    *launch = found == nullptr ? nullptr : new nvf_launch{std::move(found)};
  });
}

void nvf_launch_destroy(nvf_launch* launch) { delete launch; }

int nvf_launch_output(const nvf_launch* launch, int64_t index, nvf_tensor_form* form) {
  return guarded([&] {
    requirePointer(launch, "the launch");
    requirePointer(form, "form");
    const FusionExecutorCache::RepeatedLaunch& what = *launch->launch;
    if (index < 0 || static_cast<size_t>(index) >= what.numOutputs()) {
      throw ArgumentError(
          text("launch: there is no output ", index, "; there are ", what.numOutputs()));
    }
    const Allocator::Form output = what.outputForm(static_cast<size_t>(index));
    const DLDevice device = toDLDevice(what.device());
    *form = {codeOf(output.dtype), device.device_type,
             device.device_id,     static_cast<int64_t>(output.sizes.size()),
             output.sizes.data(),  output.strides.data()};
  });
}

int nvf_launch_run(nvf_launch* launch, const nvf_word* inputs, void* const* outputs,
                   const nvf_run_context* context, int32_t* done) {
  return guarded([&] {
    requirePointer(launch, "the launch");
    requirePointer(inputs, "inputs");
    requirePointer(outputs, "outputs");
    requirePointer(done, "done");
    FusionExecutorCache::RepeatedLaunch& what = *launch->launch;
    // The launch knows how many there are.
    const auto* words = reinterpret_cast<const LentWord*>(inputs);
    *done = what.take(words) ? 1 : 0;
    if (*done != 0) {
      what.run(outputs, contextOf(context, what.allocates()));
    }
  });
}

}  // extern "C"
