#include <runtime/compile_batch.h>

#include <set>

namespace nvfuser {

void compileBatch(std::span<KernelExecutor* const> executors, Device& device,
                  PrimDataType index_type, const CompileParams& params) {
  if (executors.empty()) {
    return;
  }
  if (device.kind() == DeviceKind::Cpu) {
    index_type = PrimDataType::Int;
  }
  std::vector<CompiledKernel*> kernels;
  std::vector<const GeneratedKernel*> generated;
  std::vector<std::string> entries;
  std::set<std::string> names;
  for (KernelExecutor* executor : executors) {
    CompiledKernel* kernel = executor->waitingVariant(device, index_type, params);
    if (kernel == nullptr) {
      continue;
    }
    if (kernel->isOverridden()) {
      kernel->load();
      continue;
    }
    if (!names.insert(kernel->kernelName()).second) {
      // One text has each name once.
      kernel->rename(text(kernel->kernelName(), "_batched_", kernels.size()));
      names.insert(kernel->kernelName());
    }
    kernels.push_back(kernel);
    generated.push_back(&kernel->generated());
    entries.push_back(generated.back()->entry);
  }
  if (kernels.size() == 1) {
    kernels.front()->load();
  }
  if (kernels.size() < 2) {
    return;
  }
  KernelSource source = kernels.front()->source();  // compiler options are the same for all
  source.text = joinKernels(generated);
  source.entry = entries.front();
  std::vector<std::unique_ptr<LoadedKernel>> loaded = device.compileEntries(source, entries);
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i]->setLoaded(std::move(loaded[i]));
  }
}

}  // namespace nvfuser
