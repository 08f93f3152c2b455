#include "execution.h"

#include <chrono>
#include <mutex>
#include <optional>

#include "arrays.h"
#include "interpreter_lock.h"
#include "interruptible.h"
#include "torch_table.h"
#include <nanobind/stl/pair.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using RandomState = std::pair<uint64_t, uint64_t>;

/// Where PyTorch's generator is; it goes on by the call's draws.
RandomState takeRandomState(int64_t draws, const Device* device) {
  const int cuda_index =
      device != nullptr && device->kind() == DeviceKind::Cuda ? device->index() : -1;
  return nb::cast<RandomState>(
      nb::module_::import_("nvfuser._random").attr("take_state")(draws, cuda_index));
}

const Device* deviceOf(const KernelArgumentHolder& arguments, const Device* device) {
  for (const KernelArgument& argument : arguments) {
    if (argument.isTensor() && argument.tensor().device().kind() == DeviceKind::Cuda) {
      return &argument.tensor().device();
    }
  }
  return device;
}

}  // namespace

nb::list execute(FusionExecutorCache& executor, TorchCalls& known, nb::handle given, Device* device,
                 ObserveCall observe) {
  if (observe == nullptr && device == nullptr) {
    if (nb::object outputs = known.repeat(executor, given); outputs.is_valid()) {
      return nb::steal<nb::list>(outputs.release());
    }
  }
  const Inputs inputs(given);
  inputs.requireWritable(*executor.fusion());
  RunContext context = inputs.context(device);
  Interruptible call;
  context.cancellation = call.cancellation();
  std::optional<RandomState> random;
  if (executor.numDraws() > 0 && importedTorch() != nullptr) {
    random = takeRandomState(executor.numDraws(), deviceOf(inputs.holder(), device));
  }
  KernelArgumentHolder outputs;
  {
    OthersRun others_run;
    static std::mutex one_random_call;
    std::unique_lock<std::mutex> lock(one_random_call, std::defer_lock);
    if (random) {
      lock.lock();
      executor.setRandomState(random->first, random->second);
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = observe != nullptr ? Clock::now() : Clock::time_point();
    outputs = call.run([&] {
      return executor.runFusionWithInputs(inputs.holder(), std::nullopt, device, context);
    });
    if (observe != nullptr) {
      inputs.waitFor(context);
      const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
      observe(executor, inputs.holder(), outputs, took.count());
    } else if (!inputs.keepsStreamOrder()) {
      inputs.waitFor(context);  // else the inputs' memory may become another array's meanwhile
    }
  }
  nb::list result;
  for (KernelArgument& output : outputs) {
    result.append(inputs.toFramework(output.takeTensor(), context));
  }
  return result;
}

std::string explainFusion(const FusionExecutorCache& executor, std::string_view definition) {
  const std::vector<KernelExecutor*> kernels = executor.executors();
  const std::string report = executor.report();
  if (report == "nothing has run yet\n") {
    userError("explain: the fusion was not executed yet; what is done depends on the inputs");
  }
  std::string out = text("==== the definition ====\n", definition,
                         "\n==== how the last call was cut into kernels ====\n", report);
  for (size_t i = 0; i < kernels.size(); ++i) {
    append(out, text("\n==== kernel ", i + 1, " of ", kernels.size(), " ====\n",
                     kernels[i]->compiledKernel()->generated().ownText()));
  }
  return out;
}

}  // namespace nvfuser::python
