/// Lowering under its public name: `GpuLower(&fusion).run()` gives the kernel for CUDA.
///
/// It is defined in runtime/, which knows devices; `lower()` (lower.h) is the function behind it.
#pragma once

#include <memory>
#include <span>

#include <device_lower/lower.h>

namespace nvfuser {

struct CompileParams;

class GpuLower {
 public:
  /// Copies the fusion. For the device of `params` unless that is the CPU's, else for the first
  /// CUDA device, else as for the emulated one.
  explicit GpuLower(Fusion* fusion);
  GpuLower(Fusion* fusion, const CompileParams& params);
  ~GpuLower();
  GpuLower(GpuLower&&) noexcept;
  GpuLower& operator=(GpuLower&&) noexcept;

  /// Runs the passes; a second call gives the same kernel. Throws `UserError` for a schedule that
  /// cannot be carried out. The kernel lives as long as this.
  kir::Kernel* run();
  /// Null before `run`.
  kir::Kernel* kernel() const;
  /// The clone that the kernel refers to.
  Fusion* fusion() const { return fusion_.get(); }
  std::span<const LoweringPass> passes() const { return loweringPasses(); }

 private:
  std::unique_ptr<Fusion> fusion_;
  std::unique_ptr<CompileParams> params_;
  std::unique_ptr<Lowering> lowering_;
};

}  // namespace nvfuser
