#include <runtime/executor.h>

#include <algorithm>

#include <evaluator/interpreter.h>
#include <ir/external_ops.h>
#include <runtime/bound_arguments.h>
#include <runtime/check_storage.h>
#include <runtime/dump_kernel.h>
#include <runtime/in_place.h>
#include <runtime/launch_plan.h>
#include <runtime/memory_overlap.h>

namespace nvfuser {

Device& defaultDevice() {
  if (cudaDeviceCount() > 0) {
    if (Device* device = cudaDevice(0)) {
      return *device;
    }
  }
  return cpuDevice();
}

KernelExecutor::KernelExecutor(int64_t fusion_id, int64_t, int64_t, int64_t group_id)
    : name_(text("nvfuser_", fusion_id, group_id != 0 ? text("_", group_id) : std::string())) {}

bool KernelExecutor::supported(Fusion* fusion) {
  const std::vector<Expr*> exprs = fusion->exprs();
  return std::none_of(exprs.begin(), exprs.end(), hasNoKernel);
}

Device* deviceOfTensors(const Fusion& fusion, const KernelArgumentHolder& args) {
  Device* device = nullptr;
  for (size_t i = 0; i < args.size(); ++i) {
    const KernelArgument& argument = args[i];
    if (!argument.isTensor() || !argument.tensor().defined() || argument.tensor().isMeta()) {
      continue;  // reported with its input's name when it is bound
    }
    const Val* input = i < fusion.inputs().size() ? fusion.inputs()[i] : nullptr;
    if (input != nullptr && input->isA<TensorView>() && input->as<TensorView>()->isCpuScalar()) {
      const Device& scalars = argument.tensor().device();
      if (scalars.kind() != DeviceKind::Cpu) {
        userError("run: input ", i, ", ", input->toString(),
                  ", is a CPU scalar, but its tensor is on ", scalars.properties().name,
                  "; pass a tensor of the CPU, or define the input without is_cpu");
      }
      continue;
    }
    if (device != nullptr && device != &argument.tensor().device()) {
      userError(
          "run: KernelExecutor does not support the Fusion provided. The arguments are on "
          "several devices (",
          device->properties().name, " and ", argument.tensor().device().properties().name,
          "); a kernel runs on one, move them there first");
    }
    device = &argument.tensor().device();
  }
  return device;
}

Device& deviceWithoutTensors(const KernelArgumentHolder& args) {
  for (const KernelArgument& argument : args) {
    if (argument.isTensor() && argument.tensor().defined() && !argument.tensor().isMeta()) {
      return argument.tensor().device();
    }
  }
  return defaultDevice();
}

Device& KernelExecutor::deviceOf(const KernelArgumentHolder& args,
                                 const CompileParams& params) const {
  if (Device* device = deviceOfTensors(*fusion_, args)) {
    return *device;
  }
  if (params.device != nullptr) {
    return *params.device;
  }
  if (compile_params_.device != nullptr) {
    return *compile_params_.device;
  }
  return deviceWithoutTensors(args);
}

void KernelExecutor::adopt(const Fusion& fusion) {
  fusion_ = std::make_unique<Fusion>(fusion);
  std::lock_guard<std::mutex> lock(mutex_);
  variants_.clear();
  launched_.clear();
  last_ = nullptr;
}

void KernelExecutor::compile(Fusion* fusion, const KernelArgumentHolder& args, const LaunchParams&,
                             const CompileParams& params, SchedulerType) {
  adopt(*fusion);
  compile_params_ = params;
  compile_params_.cancellation = nullptr;
  if (!args.empty() || params.device != nullptr) {
    variant(deviceOf(args, params),
            params.index_type ? DataType(*params.index_type)
                              : DataType(args.getSmallestIndexTypeOfArguments()),
            params);
    return;
  }
  // To report a wrong schedule now. What there is to see is shown when the kernel is made, or here
  // if it cannot be.
  CompileParams lowering_only = params;
  try {
    lowering_only.options = Options();
    CompiledKernel(*fusion_, name_, defaultDevice(), DataType::Int, lowering_only);
  } catch (const std::exception&) {
    lowering_only.options = optionsOf(params);
    CompiledKernel(*fusion_, name_, defaultDevice(), DataType::Int, lowering_only);
    throw;
  }
}

Options KernelExecutor::optionsOf(const CompileParams& params) const {
  if (params.options) {
    return *params.options;
  }
  return compile_params_.options ? *compile_params_.options : Options::current();
}

CompiledKernel& KernelExecutor::lowered(Device& device, DataType index_type,
                                        const CompileParams& params) {
  if (device.kind() == DeviceKind::Cpu) {
    index_type = DataType::Int;
  }
  const Options options = optionsOf(params);
  const std::tuple key{&device, index_type.type, options.codeKey()};
  auto known = [&]() -> CompiledKernel* {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = variants_.find(key);
    return found != variants_.end() ? found->second.get() : nullptr;
  };
  if (CompiledKernel* kernel = known()) {
    return *kernel;
  }
  std::lock_guard<std::mutex> one_at_a_time(lowering_);
  if (CompiledKernel* kernel = known()) {
    return *kernel;
  }
  CompileParams resolved = params;
  resolved.options = options;
  auto made = std::make_unique<CompiledKernel>(*fusion_, name_, device, index_type, resolved);
  std::lock_guard<std::mutex> lock(mutex_);
  return *(variants_[key] = std::move(made));
}

const CompiledKernel& KernelExecutor::variant(Device& device, DataType index_type,
                                              const CompileParams& params) {
  CompiledKernel& kernel = lowered(device, index_type, params);
  kernel.load();
  std::lock_guard<std::mutex> lock(mutex_);
  last_ = &kernel;
  return kernel;
}

void KernelExecutor::lower(Device& device, PrimDataType index_type, const CompileParams& params) {
  check(fusion_ != nullptr, "an executor that lowers has a fusion");
  CompiledKernel& kernel = lowered(device, DataType(index_type), params);
  std::lock_guard<std::mutex> lock(mutex_);
  last_ = &kernel;
}

CompiledKernel* KernelExecutor::waitingVariant(Device& device, PrimDataType index_type,
                                               const CompileParams& params) {
  lower(device, index_type, params);
  CompiledKernel& kernel = lowered(device, DataType(index_type), params);
  return kernel.isLoaded() ? nullptr : &kernel;
}

const CompiledKernel* KernelExecutor::compiledKernel() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

LaunchParams KernelExecutor::lastLaunchParams() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_launch_;
}

void KernelExecutor::setRandomState(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  offset_ = offset;
}

std::pair<uint64_t, uint64_t> KernelExecutor::takeDraws(uint64_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t offset = offset_;
  offset_ += count;
  return {seed_, offset};
}

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
