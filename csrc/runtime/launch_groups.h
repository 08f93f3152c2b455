/// Launches of one kernel that do not wait for each other are one launch, with a table of arguments
/// (codegen/launch_table.h): an optimizer's step of 144 tensors is a few launches.
///
///   launches   k1(a)  k2(a, b)  k1(c)  k2(c, d)      k2 reads what k1 has written
///   groups     k1: a, c         k2: a, c
///
/// A launch joins an earlier one if nothing between them writes what it reads, or reads or writes
/// what it writes. Only launches on arguments and outputs move, so that memory between launches is
/// needed for no longer.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <runtime/compiled_kernel.h>
#include <runtime/launch_sequence.h>

namespace nvfuser {

struct LaunchGroup {
  std::vector<size_t> launches;        ///< of the sequence, ascending
  const LaunchTable* table = nullptr;  ///< null: they are launched one by one
};

/// In the order in which they run. Kernels for tables are compiled here; where that fails, launches
/// stay single.
std::vector<LaunchGroup> groupLaunches(const LaunchSequence& sequence);

}  // namespace nvfuser
