/// The automatic schedulers. Each says of a Fusion, without changing it, what it would do, or why
/// it cannot; and carries a plan out on a copy.
///
///   plan(fusion, sizes)  →  HeuristicParams | Refusal     pure
///   schedule(copy, params)                                deterministic: same params, same kernel
///
/// The same entries serve the CPU and GPUs: `SchedulerRuntimeInfo` tells the device, and a plan
/// chooses its numbers by it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <scheduler/heuristic.h>
#include <scheduler/runtime_info.h>

namespace nvfuser {

/// Why a scheduler does not take a Fusion: a sentence for reports, naming the tensor that stands in
/// the way.
struct Refusal {
  std::string why;
};
using Plan = std::variant<std::unique_ptr<HeuristicParams>, Refusal>;

class SchedulerEntry {
 public:
  virtual ~SchedulerEntry() = default;
  virtual SchedulerType type() const = 0;
  /// What holds for all sizes: operations and how axes relate. Cheap enough to be asked for each
  /// candidate while a Fusion is cut.
  virtual std::optional<Refusal> refusesForm(const Fusion& fusion) const = 0;
  /// Another scheduler whose refusals of a form are this one's, too, besides its own. Null: none.
  virtual const SchedulerEntry* refusesAs() const { return nullptr; }
  /// Assumes that the form is not refused.
  virtual Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const = 0;
  /// Schedules `fusion`, a private copy of the one that was planned for.
  virtual void schedule(Fusion* fusion, const HeuristicParams& params) const = 0;
};

/// In order of preference; the last one (Greedy) takes any single operation that has a kernel.
const std::vector<const SchedulerEntry*>& schedulerEntries();
const SchedulerEntry& schedulerEntry(SchedulerType type);
/// What a scheduler says of a form, itself or by another one.
std::optional<Refusal> refusalOfForm(const SchedulerEntry& entry, const Fusion& fusion);

struct Proposal {
  /// Null if nobody takes the Fusion.
  std::unique_ptr<HeuristicParams> params;
  /// What those said that were asked before.
  std::vector<std::pair<SchedulerType, Refusal>> refusals;
};

}  // namespace nvfuser
