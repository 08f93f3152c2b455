// One launch of a KernelExecutor: the plan for the call's arguments, memory for the outputs, the
// launch, and what is written back to the inputs.
#include <algorithm>

#include <evaluator/interpreter.h>
#include <runtime/bound_arguments.h>
#include <runtime/check_storage.h>
#include <runtime/dump_kernel.h>
#include <runtime/executor.h>
#include <runtime/in_place.h>
#include <runtime/launch_plan.h>
#include <runtime/memory_overlap.h>

namespace nvfuser {

namespace {

/// Computes everything on the host: for what no launch can express (a reduction over no elements).
void interpretInto(const Fusion& fusion, const KernelArgumentHolder& args,
                   KernelArgumentHolder& outputs, uint64_t seed, uint64_t offset, Stream stream) {
  const KernelArgumentHolder on_host = args.onHost(stream);
  std::vector<HostTensor> results =
      interpret(fusion, on_host.inputs(), {.philox_seed = seed, .philox_offset = offset});
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor target = outputs[i].tensor();
    if (target.numel() > 0) {
      target.copyFrom(results[i], stream);
    }
  }
}

/// Outputs that are inputs, or others once more, in memory that the caller gave: no kernel writes
/// there.
void fillCopies(const Fusion& fusion, const KernelArgumentHolder& args,
                KernelArgumentHolder& outputs, Stream stream) {
  const std::vector<Val*>& inputs = fusion.inputs();
  const std::vector<Val*>& declared = fusion.outputs();
  for (size_t i = 0; i < declared.size(); ++i) {
    const auto of = [&](const std::vector<Val*>& tensors) {
      return static_cast<size_t>(std::find(tensors.begin(), tensors.end(), declared[i]) -
                                 tensors.begin());
    };
    const size_t input = of(inputs);
    const Tensor& same =
        input < inputs.size() ? args[input].tensor() : outputs[of(declared)].tensor();
    Tensor output = outputs[i].tensor();
    if (output.numel() > 0 && output.data() != same.data()) {
      output.copyFrom(same, stream);
    }
  }
}

/// Outputs that reuse storage, as a kernel computes them: there where it may write it itself, else
/// in memory of their own. `outputs` is changed to that; returned is where they go afterwards.
/// `given`: the outputs' memory is the caller's own choice.
std::vector<const Tensor*> placeUpdates(const LaunchPlan& plan, const KernelArgumentHolder& args,
                                        const KernelArgumentHolder& given,
                                        KernelArgumentHolder& outputs, const RunContext& context) {
  const OccupiedMemory occupied(args);
  std::vector<const Tensor*> targets = plan.targets(args);
  const std::vector<Val*>& declared = plan.compiled().fusion().outputs();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] != nullptr && !given.empty()) {
      const bool is_apart =
          declared[i]->isFusionInput() || occupied.tensorsAt(given[i].tensor()) == 0;
      targets[i] = is_apart ? nullptr : &given[i].tensor();
    }
    if (targets[i] == nullptr || declared[i]->isFusionInput()) {
      continue;
    }
    const auto first = static_cast<size_t>(
        std::find(declared.begin(), declared.end(), declared[i]) - declared.begin());
    if (first < i) {
      outputs[i] = outputs[first];
    } else if (!plan.writesDirectly(i, *targets[i], occupied)) {
      outputs[i] = plan.allocateOutput(i, context);
    }
  }
  return targets;
}

/// What the caller gets, from what was computed.
KernelArgumentHolder writtenBack(const KernelArgumentHolder& outputs,
                                 const std::vector<const Tensor*>& targets,
                                 const RunContext& context) {
  std::vector<Tensor> values;
  for (const KernelArgument& output : outputs) {
    values.push_back(output.tensor());
  }
  writeBack(values, targets, context);
  KernelArgumentHolder results;
  for (Tensor& value : values) {
    results.push(std::move(value));
  }
  return results;
}

}  // namespace

template <typename Launch>
KernelExecutor::Launched KernelExecutor::prepareAndLaunch(
    const Whole* whole, const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
    const LaunchParams& launch, const CompileParams& params, const RunContext& context,
    const Launch& doLaunch) {
  if (fusion_ == nullptr) {
    userError("run: nothing is compiled; call compile(fusion) first");
  }
  Device& device = deviceOf(args, params);
  DataType index_type = params.index_type ? DataType(*params.index_type)
                                          : DataType(args.getSmallestIndexTypeOfArguments());
  const CompiledKernel* compiled = &variant(device, index_type, params);
  auto makeValues = [&] {
    return std::make_unique<LaunchValues>(compiled->fusion(), compiled->kernel(), args,
                                          whole != nullptr ? &whole->sizes : nullptr);
  };
  auto values = makeValues();
  auto plan = std::make_shared<const LaunchPlan>(*compiled, *values, launch);
  // Large outputs of small inputs need wide indices too.
  if (index_type == DataType::Int32 && !params.index_type && plan->hasLargeOutputs() &&
      device.kind() != DeviceKind::Cpu) {
    compiled = &variant(device, DataType::Int, params);
    values = makeValues();
    plan = std::make_shared<const LaunchPlan>(*compiled, *values, launch);
  }
  if (outputs.empty()) {
    requireUpdatable(compiled->fusion(), compiled->fusion(), args, values->evaluator());
  } else {
    plan->checkOutputs(outputs);
  }
  KernelArgumentHolder results = outputs.empty() ? plan->allocateOutputs(args, context) : outputs;
  bool is_first = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last_launch_ = plan->launchParams();
    is_first = plan->kind() == LaunchPlan::Kind::Launch && launched_.insert(compiled).second;
  }
  std::vector<const Tensor*> targets;
  if (plan->hasTargets()) {
    targets = placeUpdates(*plan, args, outputs, results, context);
  }
  auto finished = [&] {
    if (!outputs.empty()) {
      fillCopies(compiled->fusion(), args, results, context.stream);
    }
    return plan->hasTargets() ? writtenBack(results, targets, context) : std::move(results);
  };
  if (plan->kind() == LaunchPlan::Kind::Nothing) {
    return {finished(), plan};
  }
  if (plan->kind() == LaunchPlan::Kind::Launch) {
    checkStorage(compiled->fusion(), args, results, device);
    if (compiled->kernel().index_type == DataType::Int32 &&
        (args.getSmallestIndexTypeOfArguments() == PrimDataType::Int || plan->hasLargeOutputs())) {
      userError(
          "run: CompileParams ask for index_type Int32, but a tensor has elements that 32 bits "
          "cannot count; leave index_type out, or ask for Int");
    }
  }
  const auto [seed, offset] =
      whole != nullptr ? std::pair(whole->seed, whole->offset) : takeDraws(plan->numDraws());
  if (plan->kind() == LaunchPlan::Kind::Interpret) {
    interpretInto(compiled->fusion(), args, results, seed, offset, context.stream);
    return {finished(), plan};
  }
  LentArguments lent(args);
  ShortList<void*, 8> addresses(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    addresses[i] = results[i].tensor().data();
  }
  const BoundArguments bound(*plan, lent.span(), addresses.span(), seed, offset, context);
  dumpLaunch(optionsOf(params), *compiled, *values, args, results, plan->shape(), is_first);
  doLaunch(*plan, bound.pointers());
  bound.checkReports();
  return {finished(), plan};
}

KernelArgumentHolder KernelExecutor::run(const LaunchPlan& plan, const KernelArgumentHolder& args,
                                         uint64_t seed, uint64_t offset,
                                         const RunContext& context) {
  KernelArgumentHolder results = plan.allocateOutputs(args, context);
  if (plan.kind() == LaunchPlan::Kind::Interpret) {
    interpretInto(plan.compiled().fusion(), args, results, seed, offset, context.stream);
  } else if (plan.kind() == LaunchPlan::Kind::Launch) {
    LentArguments lent(args);
    ShortList<void*, 8> addresses(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      addresses[i] = results[i].tensor().data();
    }
    launch(plan, lent.span(), addresses.span(), seed, offset, context);
  }
  return results;
}

void KernelExecutor::launch(const LaunchPlan& plan, std::span<const LentArgument> args,
                            std::span<void* const> outputs, uint64_t seed, uint64_t offset,
                            const RunContext& context) {
  const BoundArguments bound(plan, args, outputs, seed, offset, context);
  Device& device = plan.compiled().device();
  device.launch(plan.compiled().loaded(), plan.shape(), bound.pointers(), context.stream,
                context.cancellation);
  bound.checkReports();
}

KernelExecutor::Launched KernelExecutor::launchAndShow(
    const Whole* whole, const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
    const LaunchParams& launch, const CompileParams& params, const RunContext& context) {
  const Options options = optionsOf(params);
  const bool timed = options.dumps(DebugDumpOption::DumpEffBandwidth);
  std::vector<double> times;
  Launched launched = prepareAndLaunch(
      whole, args, outputs, launch, params, context,
      [&](const LaunchPlan& plan, std::span<void* const> pointers) {
        Device& device = plan.compiled().device();
        const LoadedKernel& kernel = plan.compiled().loaded();
        auto go = [&] {
          device.launch(kernel, plan.shape(), pointers, context.stream, context.cancellation);
        };
        if (timed) {
          times = device.timeEach(go, 1, context.stream);
          return;
        }
        go();
      });
  if (!times.empty()) {
    dumpBandwidth(options, launched.plan->compiled(), args, launched.results, times.front());
  }
  return launched;
}

KernelArgumentHolder KernelExecutor::run(const KernelArgumentHolder& args,
                                         const KernelArgumentHolder& outputs,
                                         const LaunchParams& launch, const CompileParams& params,
                                         const RunContext& context) {
  return launchAndShow(nullptr, args, outputs, launch, params, context).results;
}

KernelExecutor::Launched KernelExecutor::runPart(const Whole& whole,
                                                 const KernelArgumentHolder& args,
                                                 const CompileParams& params,
                                                 const RunContext& context) {
  return launchAndShow(&whole, args, {}, LaunchParams(), params, context);
}

std::vector<double> KernelExecutor::time(const KernelArgumentHolder& args,
                                         const KernelArgumentHolder& outputs, int repeats) {
  std::vector<double> times;
  measure(args, outputs, [&](Device& device, const std::function<void()>& launch) {
    times = device.timeEach(launch, repeats, nullptr);
  });
  return times;
}

void KernelExecutor::measure(const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                             const Measure& measure, const Whole* whole) {
  prepareAndLaunch(whole, args, outputs, LaunchParams(), {}, {},
                   [&](const LaunchPlan& plan, std::span<void* const> pointers) {
                     const CompiledKernel& compiled = plan.compiled();
                     Device& device = compiled.device();
                     measure(device, [&] {
                       device.launch(compiled.loaded(), plan.shape(), pointers, nullptr, nullptr);
                     });
                   });
}

}  // namespace nvfuser
