/// All that a call does, where that is launches alone: each with the places of its tensors, which
/// are the call's arguments, its outputs, and a block of memory for tensors between the launches.
///
///   argument 0 ─▶ kernel 1 ─▶ between, byte 0 ─────────▶ kernel 2 ─▶ output 0
///                    └──────▶ between, byte 256 ─▶ kernel 3 ─▶ argument 1, which it updates
///
/// Made once, by slots of a plan (prepared_fusion.h); calls that are alike give it addresses
/// (repeated_launch.h). Launches that can be one are next to each other (launch_groups.h); tensors
/// between them that are not needed at the same time have the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <runtime/launch_plan.h>

namespace nvfuser {

class LaunchSequence {
 public:
  struct Place {
    enum class Kind : uint8_t { None, Argument, Output, Between };
    Kind kind = Kind::None;
    size_t index = 0;    ///< of the argument or output
    int64_t offset = 0;  ///< bytes behind it, or in the block
  };
  struct Launch {
    std::shared_ptr<const LaunchPlan> plan;
    std::vector<Place> inputs;  ///< scalars are arguments
    std::vector<Place> outputs;
    bool updates = false;  ///< an argument
  };

  // ---- made, step by step; false where a call is more than launches ----
  LaunchSequence(size_t num_arguments, size_t num_slots);
  bool addLaunch(std::shared_ptr<const LaunchPlan> plan, std::span<const size_t> inputs,
                 std::span<const size_t> outputs);
  /// Memory that launches write to part by part, before the first of them.
  void addMemory(size_t slot, const Allocator::Form& form);
  /// `view` lies in the memory of `source`, so many bytes behind it.
  void addView(size_t view, size_t source, int64_t offset);
  /// `outputs`: the slots of the fusion's, of which those with an `updated` argument are written
  /// there, and `returned` (positions) given to the caller, each in memory of its own.
  bool finish(std::span<const size_t> outputs, std::span<const std::optional<size_t>> updated,
              std::span<const size_t> returned);

  // ---- used ----
  const std::vector<Launch>& launches() const { return launches_; }
  /// The order in which they run, by numbers: those of a group wait for none of it.
  const std::vector<std::vector<size_t>>& groups() const { return groups_; }
  size_t numOutputs() const { return returned_.size(); }
  Allocator::Form outputForm(size_t i) const;
  /// Arguments that it writes to, each once.
  const std::vector<size_t>& updated() const { return updated_; }
  /// Of the block between launches.
  size_t bytesBetween() const { return bytes_between_; }
  /// Whether a run needs memory beside its outputs.
  bool allocates() const;

 private:
  /// Memory that is neither an argument's nor another's: of an output of one launch, or of a join
  /// that several fill.
  struct Made {
    Allocator::Form form;
    size_t first = SIZE_MAX;  ///< group that needs it
    size_t last = 0;
  };
  void notePlaces(const std::vector<Place>& places, size_t group);
  /// Gives each tensor that is not returned bytes of the block.
  void placeBetween(std::vector<Place>& final_of);

  std::vector<Place> slots_;  ///< until it is finished, `Between` has an index into `made_`
  std::vector<Made> made_;
  std::vector<Launch> launches_;
  std::vector<std::vector<size_t>> groups_;
  std::vector<Made> returned_;
  std::vector<size_t> updated_;
  size_t bytes_between_ = 0;
};

}  // namespace nvfuser
