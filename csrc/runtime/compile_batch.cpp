#include <runtime/compile_batch.h>

#include <runtime/compile_kernels.h>

namespace nvfuser {

void compileBatch(std::span<KernelExecutor* const> executors, Device& device,
                  PrimDataType index_type, const CompileParams& params) {
  std::vector<CompiledKernel*> kernels;
  for (KernelExecutor* executor : executors) {
    if (CompiledKernel* kernel = executor->waitingVariant(device, index_type, params)) {
      kernels.push_back(kernel);
    }
  }
  for (const std::exception_ptr& error : compileKernels(kernels, nullptr)) {
    if (error != nullptr) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace nvfuser
