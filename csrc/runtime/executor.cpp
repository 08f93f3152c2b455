#include <runtime/executor.h>

#include <algorithm>

#include <evaluator/interpreter.h>
#include <ir/internal_nodes.h>
#include <runtime/dump_kernel.h>
#include <runtime/launch_values.h>
#include <runtime/pack_arguments.h>

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
  return std::none_of(exprs.begin(), exprs.end(),
                      [](const Expr* expr) { return expr->isA<ScatterOp>(); });
}

Device& KernelExecutor::deviceOf(const KernelArgumentHolder& args,
                                 const CompileParams& params) const {
  Device* device = nullptr;
  for (const KernelArgument& argument : args) {
    if (!argument.isTensor() || !argument.tensor().defined() || argument.tensor().isMeta()) {
      continue;  // reported with its input's name when it is bound
    }
    if (device != nullptr && device != &argument.tensor().device()) {
      userError("run: the arguments are on several devices (", device->properties().name, " and ",
                argument.tensor().device().properties().name,
                "); a kernel runs on one, move them there first");
    }
    device = &argument.tensor().device();
  }
  if (device != nullptr) {
    return *device;
  }
  if (params.device != nullptr) {
    return *params.device;
  }
  if (compile_params_.device != nullptr) {
    return *compile_params_.device;
  }
  return defaultDevice();
}

void KernelExecutor::adopt(const Fusion& fusion) {
  fusion_ = std::make_unique<Fusion>(fusion);
  variants_.clear();
  launched_.clear();
  last_ = nullptr;
}

void KernelExecutor::compile(Fusion* fusion, const KernelArgumentHolder& args, const LaunchParams&,
                             const CompileParams& params, SchedulerType) {
  adopt(*fusion);
  compile_params_ = params;
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
  auto& slot = variants_[{&device, index_type.type, options.codeKey()}];
  if (slot == nullptr) {
    CompileParams resolved = params;
    resolved.options = options;
    slot = std::make_unique<CompiledKernel>(*fusion_, name_, device, index_type, resolved);
  }
  return *slot;
}

const CompiledKernel& KernelExecutor::variant(Device& device, DataType index_type,
                                              const CompileParams& params) {
  CompiledKernel& kernel = lowered(device, index_type, params);
  kernel.load();
  last_ = &kernel;
  return kernel;
}

void KernelExecutor::lower(Device& device, PrimDataType index_type, const CompileParams& params) {
  check(fusion_ != nullptr, "an executor that lowers has a fusion");
  last_ = &lowered(device, DataType(index_type), params);
}

bool KernelExecutor::needsCompiling() const {
  return std::any_of(variants_.begin(), variants_.end(),
                     [](const auto& variant) { return !variant.second->isLoaded(); });
}

CompiledKernel* KernelExecutor::waitingVariant(Device& device, PrimDataType index_type,
                                               const CompileParams& params) {
  CompiledKernel& kernel = lowered(device, DataType(index_type), params);
  last_ = &kernel;
  return kernel.isLoaded() ? nullptr : &kernel;
}

namespace {

/// Sizes and strides of an output: dense in the order of its allocation domain; expanded axes have
/// stride 0.
std::pair<std::vector<int64_t>, std::vector<int64_t>> outputLayout(const TensorView* tv,
                                                                   LaunchValues& values) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  std::vector<int64_t> sizes;
  for (const IterDomain* id : logical) {
    sizes.push_back(
        values.evaluator().evaluateInt(id->getMaybeExpandedExtent(), "an output's size"));
  }
  std::vector<int64_t> strides(logical.size(), 0);
  int64_t stride = 1;
  const auto& memory = tv->getMaybeAllocationDomain();
  for (auto it = memory.rbegin(); it != memory.rend(); ++it) {
    auto place = std::find(logical.begin(), logical.end(), *it);
    if (place == logical.end()) {
      if ((*it)->isReduction()) {
        continue;
      }
      userError("run: output ", tv,
                " has an allocation domain that is no permutation of its logical axes; "
                "give the output tensor to run()");
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    if ((*it)->isBroadcast()) {
      strides[axis] = (*it)->hasExpandedExtent() ? 0 : stride;
      continue;
    }
    strides[axis] = stride;
    stride *= std::max<int64_t>(sizes[axis], 1);
  }
  return {sizes, strides};
}

Tensor makeOutput(const Fusion& fusion, Val* output, LaunchValues& values,
                  const KernelArgumentHolder& args, Device& device) {
  if (output->isFusionInput() || fusion.getOutputAlias(output).aliased_io != nullptr) {
    const Val* source = output->isFusionInput() ? output : fusion.getOutputAlias(output).aliased_io;
    const auto& inputs = fusion.inputs();
    const auto position =
        static_cast<size_t>(std::find(inputs.begin(), inputs.end(), source) - inputs.begin());
    return args[position].tensor();
  }
  auto [sizes, strides] = outputLayout(output->as<TensorView>(), values);
  return Tensor::emptyStrided(sizes, strides, output->dtype(), device);
}

/// Computes everything on the host: for what no launch can express (a reduction over no elements).
void interpretInto(const Fusion& fusion, const KernelArgumentHolder& args,
                   KernelArgumentHolder& outputs) {
  KernelArgumentHolder on_host;
  for (const KernelArgument& argument : args) {
    on_host.push(argument.isTensor() ? KernelArgument(argument.tensor().copyTo(cpuDevice()))
                                     : argument);
  }
  std::vector<HostTensor> results = interpret(fusion, on_host.inputs());
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor target = outputs[i].tensor();
    if (target.numel() > 0) {
      target.copyFrom(Tensor::fromHostTensor(results[i], target.device()));
    }
  }
}

}  // namespace

template <typename Launch>
KernelArgumentHolder KernelExecutor::prepareAndLaunch(const KernelArgumentHolder& args,
                                                      const KernelArgumentHolder& outputs,
                                                      const LaunchParams& launch,
                                                      const CompileParams& params,
                                                      const Launch& doLaunch) {
  if (fusion_ == nullptr) {
    userError("run: nothing is compiled; call compile(fusion) first");
  }
  Device& device = deviceOf(args, params);
  DataType index_type = params.index_type ? DataType(*params.index_type)
                                          : DataType(args.getSmallestIndexTypeOfArguments());
  const CompiledKernel* compiled = &variant(device, index_type, params);
  auto values =
      std::make_unique<LaunchValues>(compiled->fusion(), compiled->kernel(), args, known_scalars_);

  KernelArgumentHolder results = outputs;
  const std::vector<Val*>& declared = compiled->fusion().outputs();
  if (!outputs.empty() && outputs.size() != declared.size()) {
    userError("run: ", outputs.size(), " output tensors were given for a fusion with ",
              declared.size(), " outputs");
  }
  if (outputs.empty()) {
    for (size_t i = 0; i < declared.size(); ++i) {
      // A value that is an output twice is one tensor.
      const auto first = static_cast<size_t>(
          std::find(declared.begin(), declared.end(), declared[i]) - declared.begin());
      results.push(first < i ? results[first].tensor()
                             : makeOutput(compiled->fusion(), declared[i], *values, args, device));
    }
  } else {
    for (size_t i = 0; i < declared.size(); ++i) {
      auto [sizes, strides] = outputLayout(declared[i]->as<TensorView>(), *values);
      const Tensor& given = outputs[i].tensor();
      if (given.dtype() != declared[i]->dtype() || given.sizes() != sizes ||
          (given.numel() > 0 && given.strides() != strides)) {
        userError("run: output ", i, ", ", declared[i]->toString(), ", needs a tensor ",
                  declared[i]->dtype(), "[", join(sizes, ", "), "] with strides [",
                  join(strides, ", "), "], got ", given.toString());
      }
    }
  }
  // Large outputs of small inputs need wide indices too.
  if (index_type == DataType::Int32 && !params.index_type &&
      results.getSmallestIndexTypeOfArguments() == PrimDataType::Int &&
      device.kind() != DeviceKind::Cpu) {
    compiled = &variant(device, DataType::Int, params);
    values = std::make_unique<LaunchValues>(compiled->fusion(), compiled->kernel(), args,
                                            known_scalars_);
  }
  const kir::Kernel& kernel = compiled->kernel();

  const bool all_empty = std::all_of(results.begin(), results.end(),
                                     [](const auto& r) { return r.tensor().numel() == 0; });
  if (all_empty || compiled->fusion().isNoOp()) {
    return results;
  }

  LaunchShape shape;
  bool empty_launch = false;
  const ParallelType grid[] = {ParallelType::BIDx, ParallelType::BIDy, ParallelType::BIDz};
  const ParallelType block[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
  last_launch_ = LaunchParams();
  for (int d = 0; d < 3; ++d) {
    if (kernel.grid[d] != nullptr) {
      shape.grid[d] = values->of(kernel.grid[d]);
    }
    if (kernel.cluster[d] != nullptr) {
      shape.cluster[d] = values->of(kernel.cluster[d]);
    }
    if (kernel.block[d] != nullptr) {
      shape.block[d] = values->of(kernel.block[d]);
    }
    for (auto [type, size, given] :
         {std::tuple{grid[d], &shape.grid[d], launch.getRawVal(grid[d])},
          std::tuple{block[d], &shape.block[d], launch.getRawVal(block[d])}}) {
      if (given != LaunchParams::UNINITIALIZED_VAL && given != *size) {
        userError("run: LaunchParams ask for ", parallelTypeName(type), " of ", given,
                  ", but the schedule needs ", *size);
      }
      empty_launch |= *size <= 0;
      last_launch_.bindUnsafe(*size, type);
    }
  }
  if (empty_launch) {
    // Some output has elements although a launched axis has none: reductions over nothing.
    interpretInto(compiled->fusion(), args, results);
    return results;
  }
  if (kernel.shared_bytes != nullptr) {
    shape.shared_bytes = values->of(kernel.shared_bytes);
  }
  shape.cooperative = kernel.cooperative;
  last_launch_.setSmem(shape.shared_bytes);

  PackedArguments packed(*compiled, *values, args, results, device, seed_, offset_);
  dumpLaunch(optionsOf(params), *compiled, *values, args, results, shape,
             launched_.insert(compiled).second);
  doLaunch(compiled->loaded(), shape, packed.pointers(), device);
  packed.release();
  for (const auto& expr : compiled->fusion().exprs()) {
    if (expr->isA<RNGOp>() && expr->as<RNGOp>()->seed() == nullptr) {
      ++offset_;
    }
  }
  return results;
}

KernelArgumentHolder KernelExecutor::run(const KernelArgumentHolder& args,
                                         const KernelArgumentHolder& outputs,
                                         const LaunchParams& launch, const CompileParams& params) {
  const Options options = optionsOf(params);
  const bool timed = options.dumps(DebugDumpOption::DumpEffBandwidth);
  std::vector<double> times;
  KernelArgumentHolder results =
      prepareAndLaunch(args, outputs, launch, params,
                       [&](const LoadedKernel& kernel, const LaunchShape& shape,
                           std::span<void* const> pointers, Device& device) {
                         if (timed) {
                           times = device.timeLaunches(kernel, shape, pointers, 1, nullptr);
                           return;
                         }
                         device.launch(kernel, shape, pointers, nullptr);
                         device.synchronize(nullptr);
                       });
  if (!times.empty()) {
    dumpBandwidth(options, *last_, args, results, times.front());
  }
  return results;
}

std::vector<double> KernelExecutor::time(const KernelArgumentHolder& args,
                                         const KernelArgumentHolder& outputs, int repeats) {
  std::vector<double> times;
  prepareAndLaunch(args, outputs, LaunchParams(), {},
                   [&](const LoadedKernel& kernel, const LaunchShape& shape,
                       std::span<void* const> pointers, Device& device) {
                     times = device.timeLaunches(kernel, shape, pointers, repeats, nullptr);
                   });
  return times;
}

}  // namespace nvfuser
