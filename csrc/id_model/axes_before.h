/// The one walk back from axes to those that they were made from.
#pragma once

#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

/// Transforms between the axes `ends` and the axes where a walk back stops (those of `stop`, or
/// without a definition), producers first.
std::vector<Expr*> transformsBefore(const std::vector<IterDomain*>& ends,
                                    const std::vector<IterDomain*>& stop);

/// All axes on that way, each once: the ends first, and last those at which the walk stops.
std::vector<const IterDomain*> axesBefore(const std::vector<const IterDomain*>& ends,
                                          const std::vector<IterDomain*>& stop);

}  // namespace nvfuser
