#include <runtime/compile_batch.h>

namespace nvfuser {

void compileBatch(std::span<KernelExecutor* const> executors, Device& device,
                  PrimDataType index_type, const CompileParams& params) {
  if (executors.empty()) {
    return;
  }
  if (device.kind() == DeviceKind::Cpu) {
    index_type = PrimDataType::Int;
  }
  std::vector<std::unique_ptr<CompiledKernel>> kernels;
  std::vector<const GeneratedKernel*> generated;
  std::vector<std::string> entries;
  for (const KernelExecutor* executor : executors) {
    check(executor->fusion() != nullptr, "an executor of a batch has a fusion");
    kernels.push_back(std::make_unique<CompiledKernel>(*executor->fusion(),
                                                       text("nvfuser_batched_", kernels.size()),
                                                       device, index_type, params, false));
    generated.push_back(&kernels.back()->generated());
    entries.push_back(generated.back()->entry);
  }
  KernelSource source;
  source.entry = entries.front();
  source.text = joinKernels(generated);
  source.max_registers = params.maxrregcount;
  std::vector<std::unique_ptr<LoadedKernel>> loaded = device.compileEntries(source, entries);
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i]->setLoaded(std::move(loaded[i]));
    executors[i]->addVariant(std::move(kernels[i]));
  }
}

}  // namespace nvfuser
