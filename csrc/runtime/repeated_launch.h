/// A call that was looked up once: what is left to give of the next ones like it are addresses and
/// floating-point numbers. For callers that count microseconds and see by themselves that a call is
/// like the one before.
///
///   auto launch = cache.repeatedLaunch(args, options);  // null: it is more than a launch
///   if (launch->take(words)) {
///     …                                                 // outputs as `outputForm` says
///     launch->run(addresses, context);
///   }
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <runtime/fusion_executor_cache.h>
#include <runtime/launch_plan.h>

namespace nvfuser {

/// What differs between calls that are alike: a tensor's address or a number.
union LentWord {
  void* address;    ///< null for a tensor without elements
  double real;      ///< of a floating-point number
  int64_t integer;  ///< of an integer or a bool
};

/// It has to be destroyed before the cache. One thread at a time may use it.
class FusionExecutorCache::RepeatedLaunch {
 public:
  /// `args`: of the call that `kept` has the plan of.
  RepeatedLaunch(FusionExecutorCache& cache, std::shared_ptr<Kept> kept,
                 std::span<const LentArgument> args);

  size_t numOutputs() const { return plan_.numOutputs(); }
  Allocator::Form outputForm(size_t i) const { return plan_.outputForm(i); }
  Device& device() const { return plan_.compiled().device(); }
  /// Whether a run allocates from its context.
  bool allocates() const { return plan_.hasWorkspaces(); }

  /// One word for each argument of the call, for the runs from now on. False: this launch is not
  /// for them, since an address is aligned otherwise than in the call before, or an integer is
  /// another one.
  bool take(const LentWord* words);
  /// Launches, with an address for each output: aligned as an `Allocator`'s, null if it has no
  /// elements.
  void run(void* const* outputs, const RunContext& context);

 private:
  struct Taken {
    size_t argument;    ///< of the call
    int64_t alignment;  ///< of a tensor
  };

  FusionExecutorCache& cache_;
  std::shared_ptr<Kept> kept_;
  const LaunchPlan& plan_;
  std::vector<Taken> taken_;        ///< by the launch, in its order
  std::vector<LentArgument> lent_;  ///< the same, with the words taken
};

}  // namespace nvfuser
