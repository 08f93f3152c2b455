/// How the loops of a scan's result go along the scanned axis.
///
/// A scan walks its axis in order, and carries what it has combined so far. So the loops that the
/// axis is split into stand one inside the other as they came out of the splits: the outer part of
/// a split outside of its inner one. Loops over other axes may stand anywhere; each of their
/// iterations has a carry of its own.
///
///   T1[i0, i1] scanned along i1, loops       i0, i1 / 128, 128       in order
///                                            i1 / 128, i0, 128       in order: a carry for each i0
///                                            i0, 128, i1 / 128       out of order
///                                            (i0·i1) / 128, 128      mixed with another axis
///
/// Where neighbouring loops along the axis are bound to threads of a block, each thread combines
/// its own elements first; what stands in front of them comes from the other threads, and then it
/// goes through its elements again (device_lower/build_scan.cpp). So the operand has to be there
/// for all of a thread's elements: it is computed outside of the loops behind the threads'.
#pragma once

#include <string>
#include <vector>

#include <ir/composite_nodes.h>
#include <ir/interface_nodes.h>

namespace nvfuser {

struct ScanLoops {
  std::vector<int> positions;  ///< in the loop domain, outermost first
  /// Why the loops do not go along the axis in order; "": they do.
  std::string broken;
};

/// The definition of a tensor, if it is a scan; null for others.
const ScanOp* scanOf(const TensorView* tv);

/// Of a scan's result. Of a tensor of one element: no loops.
ScanLoops scanLoops(const TensorView* scanned);

/// The position in the loop domain of a scan's result before which its operand is computed: that of
/// the first loop along the axis behind those bound to threads. All positions, where none is.
int64_t scanOperandPosition(const TensorView* scanned);

/// Which of a tensor's loops are over axes that it reduces, or scans along.
std::vector<bool> foldedLoops(const TensorView* tv);

}  // namespace nvfuser
