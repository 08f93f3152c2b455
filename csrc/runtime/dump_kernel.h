/// What NVFUSER_DUMP shows of one kernel, stage by stage. Each function does nothing unless its
/// options ask for it.
#pragma once

#include <device_lower/lower.h>
#include <runtime/compiled_kernel.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/launch_values.h>

namespace nvfuser {

/// fusion_ir, fusion_ir_math, fusion_ir_graph.
void dumpFusion(const Options& options, const std::string& subject, const Fusion& fusion);
/// Operations and tensors as a graph in GraphViz's language.
std::string fusionGraph(const Fusion& fusion);

/// Shows lower_verbose while it observes a lowering, and keeps its times.
class LoweringDump {
 public:
  LoweringDump(const Options& options, std::string subject);
  LoweringObserver observer();
  /// pass_times.
  void showTimes(double generating_ms) const;

 private:
  const Options& options_;
  std::string subject_;
  int number_ = 0;
  std::string times_;
};

/// kernel_ir, parallel_dimensions, dynamic_shared_memory, index_type.
void dumpLowered(const Options& options, const kir::Kernel& kernel);
/// cuda_kernel, cuda_full, cuda_to_file.
void dumpText(const Options& options, const CompiledKernel& compiled);
/// compile_params.
void dumpCompileParams(const Options& options, const std::string& subject, const Device& device,
                       const KernelSource& source);
/// ptx, sass, ptxas_verbose (also for `verbose`); the warning of warn_register_spill.
void dumpLoaded(const Options& options, const CompiledKernel& compiled, bool verbose);

/// launch_param, kernel_args, occupancy; with `first`, bank_conflict.
void dumpLaunch(const Options& options, const CompiledKernel& compiled, LaunchValues& values,
                const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                const LaunchShape& shape, bool first);
/// A number with so many digits behind the point, as dumps and profiles show it.
std::string fixed(double value, int digits);
/// What a launch moves: each input read once, each output written once; elements that a tensor
/// repeats count once.
int64_t bytesOfLaunch(const CompiledKernel& compiled, const KernelArgumentHolder& args,
                      const KernelArgumentHolder& outputs);
/// dump_eff_bandwidth.
void dumpBandwidth(const Options& options, const CompiledKernel& compiled,
                   const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                   double milliseconds);

}  // namespace nvfuser
