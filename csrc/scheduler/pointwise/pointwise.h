/// Element-wise fusions of any number of inputs and outputs in one pass over memory.
///
///   T2[i0, i1]  →  1-D: [blockIdx.x (i0·i1/(T·V)), threadIdx.x T, V]
///                  2-D: [blockIdx.y i0, blockIdx.x (i1/(T·V)), threadIdx.x T, V]
///
/// One axis is enough unless tensors are broadcast: then memory is read less often if the axes are
/// cut where the broadcasts are, or rows are read through windows (slices, pads), which vectors go
/// along then. What is computed of columns alone (the right part) is computed once for the R rows
/// of a thread: [blockIdx.y i0/R, blockIdx.x (i1/(T·V)), threadIdx.x T, R, V]. Each thread computes
/// V neighbours and moves them in as few accesses as each tensor's dtype, layout and alignment
/// allow. On the CPU V is 1: a block is a tile, its threads one loop of vectors, and outputs of
/// data beyond the last cache are streamed. There a short innermost axis that tensors do not share
/// (points, colours, pairs, what is joined along it) has a loop around those of vectors, which go
/// along the other axes then:
///
///   T2[n, 3] = T0[n, 3] * T1[n]  →  [blockIdx.x (n/T), 3, threadIdx.x T]
///
/// On a GPU a thread computes a whole row of such an axis where what the row shares costs much:
///
///   T2[n, 12]  →  [blockIdx.x (n/T), threadIdx.x T, 12/V, V]
///
/// It takes fusions without reductions where each tensor is read at the element that is computed.
/// Outputs with the axes of the reference share its loops; others of as many axes have loops of
/// their own beside them (loop_nests.h).
#pragma once

#include <vector>

#include <scheduler/registry.h>

namespace nvfuser {

struct PointwiseParams : HeuristicParams {
  PointwiseParams() : HeuristicParams(SchedulerType::PointWise) {}

  int64_t reference = 0;         ///< number of the output whose loops all others get
  std::vector<int64_t> order;    ///< of its logical axes, outermost first
  int64_t break_point = 0;       ///< how many of them (in that order) are left of the cut
  int64_t vectorization = 1;     ///< V: neighbours that a thread computes
  int64_t threads_x = 128;       ///< T
  int64_t threads_y = 1;         ///< rows of the left part in one block
  int64_t rows = 1;              ///< R: of the left part that a thread computes
  bool apart = false;            ///< the innermost axis has a loop around the threads (CPU)
  bool short_rows = false;       ///< a thread computes all of the innermost axis (GPU)
  bool row_values = false;       ///< what has no axis right of the cut is computed once a row (CPU)
  bool column_values = false;    ///< what no row of a task changes is computed once a task (CPU)
  bool flip_grid = false;        ///< the left part on blockIdx.x
  bool streaming = false;        ///< outputs go past the caches (CPU)
  std::vector<int64_t> inputs;   ///< elements in one access of each input; 0: not copied first
  std::vector<int64_t> outputs;  ///< the same for each output
  std::vector<int64_t> windows;  ///< the same for each input's slices and pads; empty: none has any

  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<PointwiseParams>(*this);
  }
};

const SchedulerEntry& pointwiseScheduler();

}  // namespace nvfuser
