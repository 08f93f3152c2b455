/// The steps of a plan, one after the other, over the values of one call. Private to
/// run_fusion.cpp.
///
///   slots before   T0 T1 –  –        the call's arguments come first
///   step 0         T0 T1 T2 –        a kernel, views, a library's operation, or the interpreter
///   step 1         –  –  –  T3       what nobody reads any more is let go
///
/// A plan's first run completes it: with launch plans, and with the layouts of what libraries give.
#pragma once

#include <optional>
#include <vector>

#include <runtime/memory_overlap.h>
#include <runtime/prepared_fusion.h>
#include <runtime/run_exchanges.h>

namespace nvfuser {

/// Whether a dump wants to see each launch, which a finished plan does not show.
bool showsLaunches(const Options& options);

class FusionExecutorCache::StepRunner {
 public:
  /// `first`: the plan itself where it runs for the first time, else null. `has_updated` becomes
  /// true when a step has written to an argument, also where a later one throws.
  StepRunner(FusionExecutorCache& cache, const Prepared& plan, Call& call, Prepared* first,
             std::vector<KernelArgument>& slots, bool* has_updated);

  /// False where a kernel cannot be launched and its plan is dropped.
  bool runAll(const StepObserver& observe);

 private:
  bool run(size_t number, const StepObserver& observe);
  /// What the step is given. An argument that it is to write to, and may not yet, is a copy.
  KernelArgumentHolder argumentsOf(size_t number, bool* updates);
  bool compute(size_t number, const KernelArgumentHolder& args, KernelArgumentHolder& results);
  void runLibrary(size_t number, const KernelArgumentHolder& args, KernelArgumentHolder& results);
  bool launch(size_t number, const KernelArgumentHolder& args, KernelArgumentHolder& results);
  /// Results go to their slots, and to their places in joins.
  void keep(const Step& step, const KernelArgumentHolder& results);

  FusionExecutorCache& cache_;
  const Prepared& plan_;
  Call& call_;
  Prepared* first_;
  std::vector<KernelArgument>& slots_;
  bool* has_updated_;
  const uint64_t seed_, offset_;
  const bool shows_;
  std::optional<OccupiedMemory> occupied_;  ///< by the arguments, where a step writes to any
  std::optional<Exchanges> exchanges_;
};

}  // namespace nvfuser
