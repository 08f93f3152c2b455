/// `HeuristicParams`: what an automatic scheduler decided, as data: enough to schedule a Fusion of
/// the same definition, on whatever sizes lead to the same decision.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <ir/type.h>

namespace nvfuser {

/// Values only: numbers, flags, positions, names of tensors; no pointers into a Fusion, because a
/// plan is made on one copy and carried out on another.
struct HeuristicParams {
  explicit HeuristicParams(SchedulerType type) : scheduler_type(type) {}
  virtual ~HeuristicParams() = default;
  HeuristicParams(const HeuristicParams&) = default;
  HeuristicParams& operator=(const HeuristicParams&) = delete;

  const SchedulerType scheduler_type;
  /// Largest number of registers a thread may use; 0: the compiler's choice.
  int max_registers = 0;
  /// Loops of the CPU ask for lines of memory before they get there (scheduler/fetch_ahead.h).
  bool fetch_ahead = false;

  /// Every field that the schedule depends on, as "name value" pairs. Two sets of parameters with
  /// the same text give the same kernel; it is also what the dump `scheduler_params` prints.
  virtual std::string toString() const = 0;
  virtual std::unique_ptr<HeuristicParams> clone() const = 0;

  bool sameAs(const HeuristicParams* other) const {
    return scheduler_type == other->scheduler_type && max_registers == other->max_registers &&
           fetch_ahead == other->fetch_ahead && toString() == other->toString();
  }
  size_t hash() const { return std::hash<std::string>()(toString()); }
};

}  // namespace nvfuser
