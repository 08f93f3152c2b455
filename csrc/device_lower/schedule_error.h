/// How an error about a schedule is worded: the tensor's axis by its place, what was found, and the
/// primitive that mends it.
#pragma once

#include <string>
#include <string_view>

#include <ir/interface_nodes.h>
#include <support/error.h>

namespace nvfuser {

/// "axis 1 (iS3{i0}) of T2".
inline std::string axisText(const TensorView* tv, size_t position) {
  return text("axis ", position, " (", tv->getLoopDomain()[position], ") of T", tv->name());
}

[[noreturn]] inline void refuseSchedule(const TensorView* tv, std::string_view what,
                                        std::string_view help) {
  userError("lower: ", what, "\n  note: ", tv, "\n  help: ", help);
}

}  // namespace nvfuser
