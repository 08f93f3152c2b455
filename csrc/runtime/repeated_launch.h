/// A call that was looked up once: what is left to give of the next ones like it are addresses,
/// floating-point numbers and free integers, and what is left to do are its launches. For callers
/// that count microseconds and see by themselves that a call is like the one before.
///
///   auto launch = cache.repeatedLaunch(args, options);  // null: it is more than launches
///   if (launch->take(words)) {
///     …                                                 // outputs as `outputForm` says
///     launch->run(addresses, context);
///   }
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <runtime/fusion_executor_cache.h>
#include <runtime/launch_groups.h>
#include <runtime/launch_sequence.h>
#include <runtime/memory_overlap.h>

namespace nvfuser {

/// It has to be destroyed before the cache. One thread at a time may use it.
class FusionExecutorCache::RepeatedLaunch {
 public:
  /// `args`: of the call that `kept` has the plan of.
  RepeatedLaunch(FusionExecutorCache& cache, std::shared_ptr<Kept> kept,
                 std::span<const LentArgument> args);

  /// Those that a call returns.
  size_t numOutputs() const { return sequence_.numOutputs(); }
  Allocator::Form outputForm(size_t i) const { return sequence_.outputForm(i); }
  Device& device() const { return sequence_.launches()[0].plan->compiled().device(); }
  /// Whether a run allocates from its context.
  bool allocates() const { return sequence_.allocates(); }
  /// Arguments that a run writes to.
  const std::vector<size_t>& updated() const { return sequence_.updated(); }

  /// One word for each argument of the call, for the runs from now on. False: this launch is not
  /// for them, since an address is aligned otherwise than in the call before, an integer that is
  /// not free (free_integers.h) is another one, or what is updated shares memory with another
  /// argument.
  bool take(const LentWord* words);
  /// Launches, with an address for each output: aligned as an `Allocator`'s, null if it has no
  /// elements. Throws `PartialUpdateError` where a launch fails behind one that updated.
  void run(void* const* outputs, const RunContext& context);

 private:
  struct Argument {
    LentArgument before;  ///< scalar: its last value; a tensor of the plan's sizes and strides
    bool is_read = false;
    int64_t alignment = 0;   ///< of a tensor
    MemoryReach reach = {};  ///< of a tensor
    bool is_updated = false;
  };
  /// Of one launch, what it is given.
  struct Given {
    std::vector<LentArgument> inputs;
    std::vector<void*> outputs;
  };

  bool updatesAreApart(const LentWord* words);
  /// What a launch is given now.
  void give(size_t launch, void* const* outputs, void* between);
  /// A group by a table; `draws`: seed and offset.
  void launchTogether(const std::vector<size_t>& group, const LaunchTable& table,
                      std::pair<uint64_t, uint64_t> draws, const RunContext& context);
  void* addressOf(const LaunchSequence::Place& place, void* const* outputs, void* between) const;

  FusionExecutorCache& cache_;
  std::shared_ptr<Kept> kept_;
  const LaunchSequence& sequence_;
  std::vector<Argument> arguments_;
  std::vector<void*> addresses_;  ///< of the arguments
  std::vector<Given> given_;      ///< to each launch
  /// Kernels that take the launches of a group at once, null where these are launched one by one.
  std::vector<const LaunchTable*> tables_;
  struct Occupied {
    const std::byte* begin;
    const std::byte* end;
    bool is_updated;
  };
  std::vector<Occupied> occupied_;
};

}  // namespace nvfuser
