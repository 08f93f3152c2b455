/// Members of `Fusion` that lower it, and the text of a lowered kernel: the whole way down, for
/// people who want to look.
#include <iostream>

#include <codegen.h>
#include <codegen/generate.h>
#include <device_lower/bank_conflict.h>
#include <device_lower/lower2device.h>
#include <runtime/compiled_kernel.h>
#include <support/error.h>

namespace nvfuser {

std::string codegen::generateCudaKernel(const kir::Kernel* kernel, const std::string& kernel_name,
                                        const LaunchParams& launch) {
  if (kernel == nullptr) {
    userError("generateCudaKernel: the kernel is null; call GpuLower::run() first");
  }
  const ParallelType grid[] = {ParallelType::BIDx, ParallelType::BIDy, ParallelType::BIDz};
  const ParallelType block[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
  for (int d = 0; d < 3; ++d) {
    for (auto [type, extent] :
         {std::pair{grid[d], kernel->grid[d]}, std::pair{block[d], kernel->block[d]}}) {
      if (launch.hasDim(type) && extent != nullptr && extent->isConstant() &&
          extent->value != launch.getDim(type)) {
        userError("generateCudaKernel: LaunchParams ask for ", parallelTypeName(type), " of ",
                  launch.getDim(type), ", but the schedule needs ", extent->value);
      }
    }
  }
  return generateCuda(*kernel, kernel_name).text;
}

/// CUDA text unless the CPU is asked for.
std::string Fusion::kernelString(const CompileParams& params) const {
  if (params.device != nullptr && params.device->kind() == DeviceKind::Cpu) {
    const CompiledKernel kernel(*this, "nvfuser_0", *params.device, DataType::Int, params);
    return kernel.generated().ownText();
  }
  GpuLower lower(const_cast<Fusion*>(this), params);  // it takes a copy
  return generateCuda(*lower.run(), "CUDAGeneratedKernel").ownText();
}

void Fusion::printKernel() const { printKernel(CompileParams()); }

void Fusion::printKernel(const CompileParams& params) const {
  std::cout << kernelString(params) << "\n";
}

std::vector<BankConflict> Fusion::bankConflictInfo() const {
  return bankConflictInfo(CompileParams());
}

std::vector<BankConflict> Fusion::bankConflictInfo(const CompileParams& params) const {
  constexpr int64_t kAnySize = 4096;
  GpuLower lower(const_cast<Fusion*>(this), params);
  return findBankConflicts(*lower.run(), [](kir::Scalar a) {
    return kir::evaluate(a, [](kir::Scalar) { return kAnySize; });
  });
}

}  // namespace nvfuser
