/// How many elements a thread of a GPU may have side by side before its first cache, which hands a
/// warp one line at a time, takes longer than the memory.
///
///   T1[n] = select(T0[n, 4], 0)     a warp's read of T0 for 32 elements is in 4 lines; each of
///                                   four reads for 128 elements, 4 side by side, is in 16
///   16 windows of T0[n], shifted    each element has a read of its own: with one a thread a warp's
///                                   is in one line, with 4 side by side in 4
///   slices T0[:-2], T0[1:-1], T0[2:]   4 side by side of all three are 6 elements of T0, each read
///                                   once: whether they lie in T0 is not asked for each
///
/// Vectors move a line for each line of memory; what is read element by element moves as many more
/// as its neighbours in a warp lie apart.
#pragma once

#include <cstdint>
#include <vector>

#include <scheduler/analysis/reference_axes.h>

namespace nvfuser {

/// A tensor of a kernel's border, or a window of one, and the elements of it that one access moves.
struct LineAccess {
  const TensorView* tensor = nullptr;
  int64_t width = 1;   ///< 0: the same element along the innermost loop
  double times = 1;    ///< reads of it for each element, at different places
  int64_t beside = 1;  ///< slices of one row, this one among them
  int64_t spread = 0;  ///< between the first and the last of them
};

/// What a kernel reads and stores: places that are selected of a tensor one by one, and of a window
/// the part that lies in its input. Left out: reads at an index that data decide.
std::vector<LineAccess> lineAccesses(const ReferenceAxes& axes,
                                     const std::vector<TensorView*>& tensors,
                                     const std::vector<TensorView*>& windows,
                                     const std::vector<int64_t>& inner, SchedulerRuntimeInfo& info);

/// The largest power of two, at most `elements`, for loops of `total` elements, of which those over
/// `inner` are innermost. Memory moves each byte of a tensor once.
int64_t elementsOfLines(const std::vector<LineAccess>& accesses, const ReferenceAxes& axes,
                        const std::vector<int64_t>& inner, int64_t total, int64_t elements,
                        SchedulerRuntimeInfo& info);

}  // namespace nvfuser
