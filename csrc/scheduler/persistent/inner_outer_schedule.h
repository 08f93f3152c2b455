/// Carries a plan for inner and outer reductions out.
#pragma once

#include <optional>

#include <scheduler/persistent/inner_outer.h>

namespace nvfuser::inner_outer {

/// Why the loops are not those of every tensor; nothing if they are. (A trial on a copy asks.)
std::optional<Refusal> schedule(Fusion* fusion, const InnerOuterParams& params);

}  // namespace nvfuser::inner_outer
