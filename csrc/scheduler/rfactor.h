/// Whether a reduction can be cut in two, asked before rFactor is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

struct ScheduleProblem {
  std::string what;
  std::string help;
};

/// Why loop axes of `tv`, the result of a reduction, cannot be reduced first; nothing if they can.
/// `axes` count from the front.
std::optional<ScheduleProblem> refusesRFactor(const TensorView* tv,
                                              const std::vector<int64_t>& axes);

}  // namespace nvfuser
