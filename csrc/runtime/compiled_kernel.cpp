#include <runtime/compiled_kernel.h>

#include <chrono>

namespace nvfuser {

LowerOptions lowerOptionsFor(const Device& device, DataType index_type) {
  LowerOptions options;
  options.index_type = index_type;
  if (device.kind() == DeviceKind::Cpu) {
    options.target = LowerTarget::Cpu;
    options.index_type = DataType::Int;
    options.compute_capability = 0;
  } else {
    options.compute_capability = device.properties().major * 10 + device.properties().minor;
  }
  return options;
}

CompiledKernel::CompiledKernel(const Fusion& fusion, std::string name, Device& device,
                               DataType index_type, const CompileParams& params, bool load)
    : fusion_(std::make_unique<Fusion>(fusion)), device_(device) {
  const auto start = std::chrono::steady_clock::now();
  lowering_ = lower(fusion_.get(), lowerOptionsFor(device, index_type));
  lowering_.kernel.name = std::move(name);
  generated_ = device.kind() == DeviceKind::Cpu ? generateHost(lowering_.kernel)
                                                : generateCuda(lowering_.kernel);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  lowering_ms_ = took.count();
  if (!load) {
    return;
  }
  KernelSource source;
  source.entry = generated_.entry;
  source.text = generated_.text;
  source.max_registers = params.maxrregcount;
  loaded_ = device.compile(source);
}

const LoadedKernel& CompiledKernel::loaded() const {
  check(loaded_ != nullptr, "this kernel was lowered but not compiled");
  return *loaded_;
}

}  // namespace nvfuser
