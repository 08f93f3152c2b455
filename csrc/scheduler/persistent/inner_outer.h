/// Normalisations' gradients: reductions over rows that are held on the chip, and in the same
/// kernel reductions over the rows' axis, which give the gradients of weight and bias.
///
///   T5[i0, r1] = sum(dy · w)   dx = …T5…   T9[r0, i1] = sum(dy)
///
///   [blockIdx.x G, threadIdx.z Z, rows, batches, threadIdx.y, threadIdx.x 32, V]
///
/// Each block goes over a stretch of rows and adds what they give to sums of columns, which its
/// threads hold in registers; where these are left, the next row is loaded ahead (S stages). At the
/// end threads of different rows add theirs together, and a block writes one row of sums to global
/// memory. After a barrier of the grid the same blocks reduce those G rows, each some columns:
///
///   T9[r G, i1]  →  [blockIdx.x G, columns, serial, unrolled U, threadIdx.z, threadIdx.y,
///                    threadIdx.x 32]
///
/// The axis of one element that such a sum may keep stands behind the columns.
///
/// All blocks must be resident, so registers are limited to what lets G blocks run at once. On the
/// CPU tasks cannot wait for each other: there it takes nothing.
#pragma once

#include <scheduler/registry.h>

namespace nvfuser {

struct InnerOuterParams : HeuristicParams {
  InnerOuterParams() : HeuristicParams(SchedulerType::InnerOuterPersistent) {}

  int64_t reference = 0;         ///< name of an inner reduction's result, whose axes are the loops
  std::vector<int64_t> order;    ///< of its logical axes
  bool project = false;          ///< values are computed again from inputs instead of being held
  int64_t vectorization = 1;     ///< V
  int64_t batches = 1;           ///< vectors of a row that a thread holds
  int64_t warps = 1;             ///< of a row, at most: threadIdx.y in the second stage
  int64_t rows = 1;              ///< Z: rows that a block has under way
  int64_t grid = 1;              ///< G
  int64_t blocks = 1;            ///< that a multiprocessor has registers for
  int64_t stages = 1;            ///< S: rows of a thread that it holds or loads; 1: none ahead
  int64_t unroll = 1;            ///< U: rows of partial sums in flight
  std::vector<int64_t> inputs;   ///< elements in one access of each input; 0: not vectorised
  std::vector<int64_t> outputs;  ///< the same for each output

  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<InnerOuterParams>(*this);
  }
};

const SchedulerEntry& innerOuterPersistentScheduler();

}  // namespace nvfuser
