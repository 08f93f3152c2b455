/// Launches of one kernel that do not wait for each other are one launch, with a table of arguments
/// (codegen/launch_table.h): an optimizer's step of 144 tensors is a few launches.
///
///   launches   k1(a)  k2(a, b)  k1(c)  k2(c, d)      k2 reads what k1 has written
///   groups     k1: a, c         k2: a, c
///
/// A launch joins an earlier one if nothing between them writes what it reads, or reads or writes
/// what it writes. What it makes is then in memory for longer, so a launch stays where it is that
/// makes a large tensor for others.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <runtime/launch_sequence.h>

namespace nvfuser {

/// Numbers of launches, ascending, by group; groups in the order in which they run. Places of
/// `Between` have numbers of tensors; `may_move` says of one whether the launch that makes it may
/// run earlier.
std::vector<std::vector<size_t>> groupLaunches(const std::vector<LaunchSequence::Launch>& launches,
                                               const std::function<bool(size_t)>& may_move);

}  // namespace nvfuser
