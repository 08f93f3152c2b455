#include <runtime/executor.h>

#include <algorithm>

#include <ir/external_ops.h>
#include <runtime/launch_plan.h>

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

}  // namespace nvfuser
