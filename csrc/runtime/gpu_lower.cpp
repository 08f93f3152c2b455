#include <codegen/generate.h>
#include <device_lower/lower2device.h>
#include <runtime/compiled_kernel.h>
#include <runtime/dump_kernel.h>

namespace nvfuser {

namespace {

Device& cudaTarget(const CompileParams& params) {
  if (params.device != nullptr && params.device->kind() != DeviceKind::Cpu) {
    return *params.device;
  }
  Device* first = cudaDeviceCount() > 0 ? cudaDevice(0) : nullptr;
  return first != nullptr ? *first : emulatedDevice();
}

}  // namespace

GpuLower::GpuLower(Fusion* fusion) : GpuLower(fusion, CompileParams()) {}

GpuLower::GpuLower(Fusion* fusion, const CompileParams& params)
    : fusion_(std::make_unique<Fusion>(*fusion)), params_(std::make_unique<CompileParams>(params)) {
  fusion_->settleAxes();  // a schedule has loops for them
  if (!params_->options) {
    params_->options = Options::current();
  }
}

GpuLower::~GpuLower() = default;
GpuLower::GpuLower(GpuLower&&) noexcept = default;
GpuLower& GpuLower::operator=(GpuLower&&) noexcept = default;

kir::Kernel* GpuLower::kernel() const {
  return lowering_ != nullptr ? &lowering_->kernel : nullptr;
}

kir::Kernel* GpuLower::run() {
  if (lowering_ == nullptr) {
    const Options& options = *params_->options;
    const std::string name = "kernel";
    const DataType index_type =
        params_->index_type ? DataType(*params_->index_type) : DataType(DataType::Int);
    dumpFusion(options, name, *fusion_);
    LoweringDump lowering_dump(options, name);
    lowering_ = std::make_unique<Lowering>(
        lower(fusion_.get(), lowerOptionsFor(cudaTarget(*params_), index_type, options),
              lowering_dump.observer()));
    lowering_->kernel.name = name;
    if (!options.features().empty()) {
      lowering_->kernel.header.push_back("options: " + options.features());
    }
    dumpLowered(options, lowering_->kernel);
  }
  return kernel();
}

}  // namespace nvfuser
