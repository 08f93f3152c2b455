// FusionExecutorCache and KernelExecutor.

#include "direct/executors.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "arguments.h"
#include "arrays.h"
#include "direct/bindings.h"
#include "direct/params.h"
#include "direct/profiler.h"
#include "dtypes.h"
#include "execution.h"
#include "explanation.h"
#include "interpreter_lock.h"
#include "interruptible.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <runtime/compile_kernels.h>
#include <runtime/executor.h>
#include <support/error.h>

namespace nvfuser::python {

ExecutorCache::ExecutorCache(const IrFusion& definition, int64_t fusion_id, bool auto_schedule)
    : fusion(definition),
      executor(std::make_unique<FusionExecutorCache>(
          std::make_unique<nvfuser::Fusion>(definition.definition->graph), fusion_id,
          auto_schedule)) {}

nb::list ExecutorCache::execute(nb::handle inputs, Device* device) {
  return python::execute(*executor, known, inputs, device, isProfiling() ? &recordCall : nullptr);
}

namespace {

using Names = std::vector<std::string>;

nb::list run(ExecutorCache& self, nb::handle inputs, nb::handle device, const Names& enable,
             const Names& disable) {
  std::optional<Options> options;
  if (!enable.empty() || !disable.empty()) {
    options = optionsOf(enable, disable);
  }
  Device* where = device.is_none() ? nullptr : deviceFrom(device, "execute");
  if (!options) {
    return self.execute(inputs, where);
  }
  OptionsGuard guard(*options);
  return self.execute(inputs, where);
}

std::string kernelFor(ExecutorCache& self, nb::handle inputs) {
  const Inputs given(inputs);
  self.executor->prepare(given.holder());
  return join(self.executor->getMostRecentCode(), "\n");
}

/// The scheduled fusions of the call before, one after the other.
std::string recentIr(const ExecutorCache& self, bool transforms) {
  std::string result;
  for (const KernelExecutor* executor : self.executor->executors()) {
    if (executor->fusion() != nullptr) {
      append(result, text(executor->fusion()->toString(transforms), "\n"));
    }
  }
  if (result.empty()) {
    userError("get_most_recent_scheduled_ir: there is no kernel yet; execute the fusion first");
  }
  return result;
}

/// A number, or a tensor's sizes, strides and dtype.
KernelArgument described(nb::handle input) {
  if (!nb::isinstance<nb::tuple>(input)) {
    return numberOf(input, "compile_ahead");
  }
  const auto [sizes, strides, dtype] =
      nb::cast<std::tuple<std::vector<int64_t>, std::vector<int64_t>, nvf_dtype>>(input);
  if (sizes.size() != strides.size()) {
    userError("compile_ahead: a tensor of ", sizes.size(), " sizes has ", strides.size(),
              " strides; give one for each axis");
  }
  return Tensor::meta(sizes, strides, toDtype(dtype));
}

size_t compileAhead(const std::vector<std::pair<ExecutorCache*, nb::list>>& calls,
                    nb::handle device) {
  Device* where = deviceFrom(device, "compile_ahead");
  std::vector<std::pair<ExecutorCache*, KernelArgumentHolder>> planned;
  for (const auto& [cache, inputs] : calls) {
    KernelArgumentHolder& arguments = planned.emplace_back(cache, KernelArgumentHolder()).second;
    for (nb::handle input : inputs) {
      arguments.push(described(input));
    }
  }
  OthersRun others_run;
  std::vector<CompiledKernel*> waiting;
  for (const auto& [cache, arguments] : planned) {
    try {
      for (CompiledKernel* kernel : cache->executor->waitingKernels(arguments, where)) {
        if (std::find(waiting.begin(), waiting.end(), kernel) == waiting.end()) {
          waiting.push_back(kernel);
        }
      }
    } catch (const std::exception&) {  // the call says it
    }
  }
  const std::vector<std::exception_ptr> errors = compileKernels(waiting, nullptr);
  return static_cast<size_t>(std::count(errors.begin(), errors.end(), nullptr));
}

void bindExecutorCache(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<ExecutorCache>(direct, "FusionExecutorCache",
                            "Runs a fusion with inputs of any sizes: cuts it into kernels, "
                            "schedules, compiles and keeps them.")
      .def(nb::init<const IrFusion&, int64_t, bool>(), "fusion"_a, "fusion_id"_a = 0,
           "auto_schedule"_a = true)
      .def(
          "execute", [](ExecutorCache& self, nb::handle inputs) { return self.execute(inputs); },
          "inputs"_a, "The outputs, tensors of the inputs' framework.")
      .def("execute", &run, "inputs"_a, nb::kw_only(), "device"_a.none() = nb::none(),
           "_enable_options"_a = Names(), "_disable_options"_a = Names(),
           "The outputs, tensors of the inputs' framework.")
      .def(
          "let_caller_fall_back", [](ExecutorCache& self) { self.executor->letCallerFallBack(); },
          "Before any call: the caller has a way of its own. What cannot be compiled is an error "
          "of "
          "the execution, and plans that fail while others do are in the report alone.")
      .def(
          "compute_exactly", [](ExecutorCache& self) { self.executor->computeExactly(); },
          "Before any call: as under NVFUSER_ENABLE=exact_numerics, whatever the options of a "
          "call.")
      .def(
          "is_compiled",
          [](ExecutorCache& self, nb::handle inputs, nb::handle) {
            const Inputs given(inputs);
            return self.executor->isCompiled(given.holder());
          },
          "inputs"_a, "device"_a = 0, "Whether a call with such inputs finds everything compiled.")
      .def("fusion", [](const ExecutorCache& self) { return self.fusion; })
      .def(
          "get_cuda_kernel",
          [](ExecutorCache& self, nb::handle inputs, bool, nb::handle) {
            return kernelFor(self, inputs);
          },
          "inputs"_a, "intrinsic_code"_a = false, "device"_a = 0,
          "Text of the kernels for such inputs: CUDA C++, or C++ for tensors of the CPU.")
      .def(
          "get_scheduled_ir",
          [](ExecutorCache& self, nb::handle inputs, bool transforms, nb::handle) {
            const Inputs given(inputs);
            self.executor->prepare(given.holder());
            return recentIr(self, transforms);
          },
          "inputs"_a, "tensor_transforms"_a = false, "device"_a = 0)
      .def("get_most_recent_scheduled_ir", &recentIr, "tensor_transforms"_a = false)
      .def(
          "get_output_shardings", [](const ExecutorCache&) { return nb::list(); },
          "Empty: there are no several devices.")
      .def(
          "report", [](const ExecutorCache& self) { return self.executor->report(); },
          "How the last call was cut into kernels, and why.")
      .def(
          "explain",
          [](const ExecutorCache& self) {
            return explainFusion(*self.executor,
                                 self.fusion.definition->pythonText("nvfuser_fusion"));
          },
          "Text about the last call: the definition, the report, and the kernels.")
      .def(
          "describe",
          [](const ExecutorCache& self, nb::handle inputs) {
            return describeFusion(*self.executor, inputs);
          },
          "inputs"_a.none() = nb::none(),
          "What the call does, as data: tensors, steps with their operations, schedule, kernel and "
          "cost (bytes, milliseconds, fraction of a copy's speed), and why neighbouring steps are "
          "not one kernel. Measured with these inputs; None: with others of the last call's sizes. "
          "A UserError if nothing has run yet.");
  direct.def(
      "compile_ahead", &compileAhead, "calls"_a, "device"_a,
      "Compiles together what calls of several executors need: [(executor, inputs), ...], an "
      "input being a number or a tensor's (sizes, strides, dtype). Gives the number of "
      "kernels compiled. What cannot be planned or compiled is told by the call itself.");
}

/// A kernel that the user scheduled.
struct Kernel {
  int64_t id;
  DefinitionPtr definition;
  std::unique_ptr<KernelExecutor> executor;
};

void compile(Kernel& self, const IrFusion& fusion, nb::handle args, const LaunchParams* launch,
             const CompileParamsView& params, SchedulerType type) {
  const Inputs given(args);
  nvfuser::Fusion& graph = fusion.definition->graph;
  if (!KernelExecutor::supported(&graph)) {
    userError(
        "KernelExecutor does not support the Fusion provided. Operations of a library are not run "
        "by a kernel; use execute()");
  }
  OthersRun others_run;
  auto executor = std::make_unique<KernelExecutor>(self.id);
  executor->compile(&graph, given.holder(), launch != nullptr ? *launch : LaunchParams(), params,
                    type);
  self.executor = std::move(executor);
  self.definition = fusion.definition;
}

nb::list runKernel(Kernel& self, nb::handle args, const LaunchParams* launch,
                   const CompileParamsView& params) {
  if (self.executor == nullptr) {
    userError("KernelExecutor: run: there is no kernel yet; call compile first");
  }
  const Inputs given(args);
  given.requireWritable(self.definition->graph);
  RunContext context = given.context();
  Interruptible call;
  context.cancellation = call.cancellation();
  KernelArgumentHolder outputs;
  {
    OthersRun others_run;
    const auto begin = std::chrono::steady_clock::now();
    outputs = call.run([&] {
      return self.executor->run(given.holder(), {}, launch != nullptr ? *launch : LaunchParams(),
                                params, context);
    });
    if (isProfiling()) {
      given.waitFor(context);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - begin;
      recordKernel(*self.executor, given.holder(), outputs, took.count());
    }
  }
  // A kernel gives each output; those that only update an input are not for the caller.
  const auto& all = self.definition->graph.outputs();
  nb::list result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool hidden =
        i < all.size() &&
        self.definition->graph.getOutputAlias(all[i]).visibility == OutputVisibility::kHidden;
    if (!hidden) {
      result.append(given.toFramework(outputs[i].takeTensor(), context));
    }
  }
  return result;
}

void bindKernelExecutor(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<Kernel>(direct, "KernelExecutor", "Compiles and runs one kernel, scheduled by hand.")
      .def(
          "__init__",
          [](Kernel* self, int64_t fusion_id, int64_t, int64_t, int64_t) {
            new (self) Kernel{fusion_id, nullptr, nullptr};
          },
          "fusion_id"_a = 0, "concrete_id"_a = 0, "runtime_id"_a = 0, "group_id"_a = 0)
      .def("compile", &compile, "fusion"_a, "args"_a = nb::list(),
           "launch_constraints"_a.none() = nb::none(), "compile_params"_a = CompileParamsView(),
           "scheduler_type"_a = SchedulerType::None,
           "A wrong schedule is a RuntimeError that names the tensor and the axis.")
      .def("run", &runKernel, "args"_a, "launch_constraints"_a.none() = nb::none(),
           "compile_params"_a = CompileParamsView())
      .def("is_compiled", [](const Kernel& self) { return self.executor != nullptr; })
      .def("is_programmatic_dependent_launch_enabled", [](const Kernel&) { return false; });
}

}  // namespace

void bindExecutors(nb::module_& direct) {
  bindExecutorCache(direct);
  bindKernelExecutor(direct);
}

}  // namespace nvfuser::python
