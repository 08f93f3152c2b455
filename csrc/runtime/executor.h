/// `KernelExecutor`: one scheduled Fusion as one kernel: compile it, run it with arguments of any
/// sizes. One thread compiles or adopts a fusion; then several may run it at the same time. A
/// variant that is missing is lowered and compiled by one of them, while others run theirs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include <runtime/compiled_kernel.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/executor_params.h>
#include <runtime/launch_plan.h>
#include <runtime/run_context.h>

namespace nvfuser {

class KernelExecutor {
 public:
  explicit KernelExecutor(int64_t fusion_id = 0, int64_t concrete_id = 0, int64_t runtime_id = 0,
                          int64_t group_id = 0);

  static bool supported(Fusion* fusion);

  /// Lowers and compiles for the device of the arguments' tensors (or of `params`). Without either,
  /// the kernel is lowered, so that a wrong schedule is reported, and compiled at the first run.
  /// The fusion is copied.
  void compile(Fusion* fusion, const KernelArgumentHolder& args = {},
               const LaunchParams& launch = LaunchParams(), const CompileParams& params = {},
               SchedulerType scheduler = SchedulerType::None);
  /// Takes a copy of the fusion; variants are compiled when they are first run.
  void adopt(const Fusion& fusion);
  /// Lowers for a device without compiling yet: a schedule that cannot be carried out is thrown
  /// here. `run` (or compileBatch) compiles.
  void lower(Device& device, PrimDataType index_type, const CompileParams& params);
  bool isCompiled() const { return fusion_ != nullptr; }
  /// What its kernels are called.
  const std::string& name() const { return name_; }
  /// The fusion to compile (null before `compile` or `adopt`).
  const Fusion* fusion() const { return fusion_.get(); }
  /// The variant that `lower` made and nobody compiled yet, for compile_batch.h; null if there is
  /// none.
  CompiledKernel* waitingVariant(Device& device, PrimDataType index_type,
                                 const CompileParams& params);

  /// Runs the kernel, asynchronously where the device does (`Device::synchronize`). Outputs are
  /// allocated unless given (same order as the fusion's). Arguments on another device, or with
  /// sizes that need 64-bit indices, compile another variant once. Throws `UserError` for arguments
  /// that do not fit the fusion and for launches beyond the device's limits. `context`: the
  /// caller's stream and memory.
  KernelArgumentHolder run(const KernelArgumentHolder& args,
                           const KernelArgumentHolder& outputs = {},
                           const LaunchParams& launch = LaunchParams(),
                           const CompileParams& params = {}, const RunContext& context = {});

  /// What the larger fusion that this one is a part of knows: scalars that the arguments do not
  /// tell, and where its random numbers begin.
  struct Whole {
    const KnownScalars& sizes;
    uint64_t seed = 0;
    uint64_t offset = 0;
  };
  struct Launched {
    KernelArgumentHolder results;
    std::shared_ptr<const LaunchPlan> plan;  ///< to be run again as long as the executor lives
  };
  /// `run` as a part; its own random state stays as it is.
  Launched runPart(const Whole& whole, const KernelArgumentHolder& args,
                   const CompileParams& params, const RunContext& context);
  /// Runs a plan again, with arguments that it serves (launch_plan.h): outputs are allocated, and
  /// nothing is evaluated or checked but addresses.
  static KernelArgumentHolder run(const LaunchPlan& plan, const KernelArgumentHolder& args,
                                  uint64_t seed, uint64_t offset, const RunContext& context = {});

  /// The same with memory of the caller's for each output.
  static void launch(const LaunchPlan& plan, std::span<const LentArgument> args,
                     std::span<void* const> outputs, uint64_t seed, uint64_t offset,
                     const RunContext& context);

  /// Milliseconds of `repeats` launches on the device, arguments and outputs as in `run`.
  std::vector<double> time(const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                           int repeats);
  /// Is given the launch, to repeat it as it likes.
  using Measure = std::function<void(Device& device, const std::function<void()>& launch)>;
  /// The same launch, measured by `measure`.
  void measure(const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
               const Measure& measure, const Whole* whole = nullptr);

  /// The variant that ran (or was compiled) last.
  const CompiledKernel* compiledKernel() const;
  LaunchParams lastLaunchParams() const;

  /// Key and first offset (in units of the framework's generator) of random operations; each run
  /// advances the offset by the number of random operations.
  void setRandomState(uint64_t seed, uint64_t offset);

 private:
  Options optionsOf(const CompileParams& params) const;
  CompiledKernel& lowered(Device& device, DataType index_type, const CompileParams& params);
  const CompiledKernel& variant(Device& device, DataType index_type, const CompileParams& params);
  Device& deviceOf(const KernelArgumentHolder& args, const CompileParams& params) const;
  /// Numbers drawn by one run, of `count` operations.
  std::pair<uint64_t, uint64_t> takeDraws(uint64_t count);
  template <typename Launch>
  Launched prepareAndLaunch(const Whole* whole, const KernelArgumentHolder& args,
                            const KernelArgumentHolder& outputs, const LaunchParams& launch,
                            const CompileParams& params, const RunContext& context,
                            const Launch& doLaunch);
  Launched launchAndShow(const Whole* whole, const KernelArgumentHolder& args,
                         const KernelArgumentHolder& outputs, const LaunchParams& launch,
                         const CompileParams& params, const RunContext& context);

  std::string name_;
  std::unique_ptr<Fusion> fusion_;
  CompileParams compile_params_;
  std::mutex lowering_;       ///< held by the thread that makes a variant
  mutable std::mutex mutex_;  ///< of all below
  /// By device, index type and the options that code depends on.
  std::map<std::tuple<Device*, PrimDataType, std::string>, std::unique_ptr<CompiledKernel>>
      variants_;
  std::set<const CompiledKernel*> launched_;
  CompiledKernel* last_ = nullptr;
  LaunchParams last_launch_;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
};

/// The device that all tensors but the fusion's CPU scalars are on, null without any. Throws
/// `UserError` where there are several, or a CPU scalar's tensor is not on the CPU.
Device* deviceOfTensors(const Fusion& fusion, const KernelArgumentHolder& args);

/// Where a fusion without other tensors runs: with CPU scalars on the CPU, else `defaultDevice`.
Device& deviceWithoutTensors(const KernelArgumentHolder& args);

/// The device that kernels run on if nothing says otherwise: the first CUDA device if there is one,
/// else the CPU.
Device& defaultDevice();

}  // namespace nvfuser
