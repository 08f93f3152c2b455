/// The order of a plan's groups where some are exchanges between devices: what these send is
/// computed early, and what reads what they bring is computed late, so that they run beside other
/// groups.
///
///   before   product 1   exchange of 1   reads the exchange   product 2   exchange of 2
///   after    product 1   exchange of 1   product 2   exchange of 2   reads the exchange
///
/// Exchanges keep their order. Groups of a fusion without any keep theirs.
#pragma once

#include <vector>

#include <segmenter/group.h>

namespace nvfuser {

/// `groups`: each behind those that it reads, as in the result.
std::vector<Group> exchangesEarly(std::vector<Group> groups);

}  // namespace nvfuser
