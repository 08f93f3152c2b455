/// One scheduled Fusion, lowered, generated and compiled for one device and index type. Immutable
/// once made.
#pragma once

#include <memory>
#include <string>

#include <codegen/generate.h>
#include <device_lower/lower.h>
#include <runtime/device.h>
#include <runtime/executor_params.h>

namespace nvfuser {

class CompiledKernel {
 public:
  /// Lowers a clone of `fusion` and generates its text.
  CompiledKernel(const Fusion& fusion, std::string name, Device& device, DataType index_type,
                 const CompileParams& params);
  /// Compiles the text for the device, once.
  void load();
  bool isLoaded() const { return loaded_ != nullptr; }
  /// The same kernel under another name, before it is compiled.
  void rename(std::string name);

  const Fusion& fusion() const { return *fusion_; }
  const kir::Kernel& kernel() const { return lowering_.kernel; }
  const Lowering& lowered() const { return lowering_; }
  const std::string& kernelName() const { return lowering_.kernel.name; }
  /// The kernel's text, snippets included.
  const std::string& kernelString() const { return generated_.text; }
  Device& device() const { return device_; }
  DataType indexType() const { return lowering_.kernel.index_type; }
  const GeneratedKernel& generated() const { return generated_; }
  /// Whether the text is a file's instead of the generated one (kernel_override.h).
  bool isOverridden() const { return overridden_; }
  /// What the device is asked to compile.
  const KernelSource& source() const { return source_; }
  const Options& options() const { return options_; }
  const LoadedKernel& loaded() const;
  /// Instead of `load`: what was compiled elsewhere from its text.
  void setLoaded(std::unique_ptr<LoadedKernel> loaded);
  /// Milliseconds of lowering and generating.
  double loweringMs() const { return lowering_ms_; }

 private:
  void generate();

  std::unique_ptr<Fusion> fusion_;
  Device& device_;
  Options options_;
  bool verbose_;
  Lowering lowering_;
  GeneratedKernel generated_;
  bool overridden_ = false;
  KernelSource source_;
  std::unique_ptr<LoadedKernel> loaded_;
  double lowering_ms_ = 0;
};

/// How a device wants kernels lowered.
LowerOptions lowerOptionsFor(const Device& device, DataType index_type,
                             const Options& options = Options());
/// What the options ask of a device's compiler.
std::vector<std::string> compilerOptionsFor(const Device& device, const Options& options);

}  // namespace nvfuser
