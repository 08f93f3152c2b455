/// One scheduled Fusion, lowered, generated and compiled for one device and index type. Immutable
/// once made, but for `load`, which several threads may call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <codegen/launch_table.h>
#include <device_lower/lower.h>
#include <runtime/device.h>
#include <runtime/executor_params.h>

namespace nvfuser {

/// A kernel that takes the arguments of many launches (codegen/launch_table.h).
struct LaunchTable {
  LaunchTableForm form;
  std::unique_ptr<LoadedKernel> loaded;
};

class CompiledKernel {
 public:
  /// Lowers a clone of `fusion` and generates its text.
  CompiledKernel(const Fusion& fusion, std::string name, Device& device, DataType index_type,
                 const CompileParams& params);
  /// Compiles the text for the device, once (compile_kernels.h).
  void load();
  bool isLoaded() const { return is_loaded_.load(std::memory_order_acquire); }

  const Fusion& fusion() const { return *fusion_; }
  const kir::Kernel& kernel() const { return lowering_.kernel; }
  const Lowering& lowered() const { return lowering_; }
  const std::string& kernelName() const { return lowering_.kernel.name; }
  /// The kernel's text, snippets included.
  const std::string& kernelString() const { return generated_.text; }
  Device& device() const { return device_; }
  DataType indexType() const { return lowering_.kernel.index_type; }
  const GeneratedKernel& generated() const { return generated_; }
  /// The same under another name.
  GeneratedKernel generatedAs(std::string name) const;
  /// Whether the text is a file's instead of the generated one (kernel_override.h).
  bool isOverridden() const { return overridden_; }
  /// What the device is asked to compile.
  const KernelSource& source() const { return source_; }
  const Options& options() const { return options_; }
  const LoadedKernel& loaded() const;
  /// What the compiler said; it comes from the cache as well if another kernel of this process had
  /// the same text.
  KernelResources resources() const;
  /// What was compiled from its text. `found`: for another kernel. The first one stays.
  void setLoaded(std::shared_ptr<const LoadedKernel> loaded, bool found);
  /// The same for many launches at once, compiled when it is asked for first; null where the
  /// compiler does not take it. The kernel has a form of its table.
  const LaunchTable* table() const;
  /// Milliseconds of lowering and generating.
  double loweringMs() const { return lowering_ms_; }

 private:
  std::unique_ptr<Fusion> fusion_;
  Device& device_;
  Options options_;
  bool verbose_;
  Lowering lowering_;
  GeneratedKernel generated_;
  bool overridden_ = false;
  KernelSource source_;
  std::mutex loading_;  ///< of the three below until `is_loaded_`
  std::shared_ptr<const LoadedKernel> loaded_;
  bool found_ = false;
  std::atomic<bool> is_loaded_{false};
  double lowering_ms_ = 0;
  mutable std::once_flag table_asked_;
  mutable std::optional<LaunchTable> table_;
};

/// What kernels of a device are lowered for.
LowerTarget lowerTargetOf(const Device& device);
/// How a device wants kernels lowered.
LowerOptions lowerOptionsFor(const Device& device, DataType index_type,
                             const Options& options = Options());
/// What the options ask of a device's compiler.
std::vector<std::string> compilerOptionsFor(const Device& device, const Options& options,
                                            bool exactly);

}  // namespace nvfuser
