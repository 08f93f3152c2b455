/// Why a schedule has no kernel: the tensor with its axis by its place, what was found, and the
/// primitive that mends it.
#pragma once

#include <optional>
#include <string>

#include <ir/interface_nodes.h>
#include <support/error.h>

namespace nvfuser {

struct ScheduleRefusal {
  const TensorView* tv = nullptr;
  std::string what;
  std::string help;
};
using MaybeRefused = std::optional<ScheduleRefusal>;

/// "axis 1 (iS3{i0}) of T2".
inline std::string axisText(const TensorView* tv, size_t position) {
  return text("axis ", position, " (", tv->getLoopDomain()[position], ") of T", tv->name());
}

[[noreturn]] inline void refuseSchedule(const ScheduleRefusal& refusal) {
  userError("lower: ", refusal.what, "\n  note: ", refusal.tv, "\n  help: ", refusal.help);
}

}  // namespace nvfuser
