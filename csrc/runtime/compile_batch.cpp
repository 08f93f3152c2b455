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
  std::vector<std::unique_ptr<CompiledKernel>> kernels;
  std::vector<const GeneratedKernel*> generated;
  std::vector<std::string> entries;
  std::set<std::string> names;
  for (const KernelExecutor* executor : executors) {
    check(executor->fusion() != nullptr, "an executor of a batch has a fusion");
    std::string name = executor->name();
    while (!names.insert(name).second) {
      name = text(executor->name(), "_batched_", kernels.size());
    }
    kernels.push_back(std::make_unique<CompiledKernel>(*executor->fusion(), name, device,
                                                       index_type, params, false));
    if (kernels.back()->isOverridden()) {
      kernels.back()->setLoaded(device.compile(kernels.back()->source()));
      continue;
    }
    generated.push_back(&kernels.back()->generated());
    entries.push_back(generated.back()->entry);
  }
  std::vector<std::unique_ptr<LoadedKernel>> loaded;
  if (!entries.empty()) {
    KernelSource source = kernels.front()->source();  // compiler options are the same for all
    source.entry = entries.front();
    source.text = joinKernels(generated);
    loaded = device.compileEntries(source, entries);
  }
  auto next = loaded.begin();
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!kernels[i]->isOverridden()) {
      kernels[i]->setLoaded(std::move(*next++));
    }
    executors[i]->addVariant(std::move(kernels[i]));
  }
}

}  // namespace nvfuser
