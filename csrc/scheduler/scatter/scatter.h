/// Scatters with what computes their entries and what reads their results, in one kernel:
/// element-wise operations and reads at an index on either side.
///
///   T3 = relu(T0[T1] * T2)                  one kernel, three loop nests:
///   T4 = scatter(0, T5, T3, add)      →       T6 = 0                    the target, over its axes
///   T7 = T4 + T0                              T6[T5[e]] += relu(…)      over the entries
///                                             T7 = T6 + T0              readers, over its axes
///
/// On the CPU entries are written one after the other, as they stand along the scattered axis: what
/// goes to one place is combined in the order that eager PyTorch has, in whichever task. Tasks
/// share the axes outside (A), or else the columns; each goes through all entries of its own.
///
///   rows     axes inside of the scattered one are columns, in vectors      [A, D, B]
///   points   entries are computed in vectors, and written one by one       [A, D / 128, B, 128]
///
/// On a GPU the nests are computed by blocks that are resident together, with a barrier of all of
/// them between two nests. Entries are combined by atomic operations, in any order, as PyTorch's
/// are; of those that are written to one place without one, one stays.
///
///   rows     [A·D / Y / blocks / U, blockIdx.x, threadIdx.y Y, B / (X·V) / blocks, blockIdx.y,
///             threadIdx.x X, U, V]
///   points   [A·D / (X·V) / blocks, blockIdx.x, threadIdx.x X, V]     without columns
///
/// What is read for U rows of entries, or V points, is read before any of these is written: an
/// index, what it leads to and an atomic operation would wait for each other in each turn.
///
/// Where many entries are added to few elements, each block adds up its own in shared memory first
/// (device_lower/add_by_blocks.h).
///
/// Left to a library: what is written from outside of the target's extents, and half precision,
/// which a library adds more exactly.
#pragma once

#include <vector>

#include <scheduler/registry.h>

namespace nvfuser {

struct ScatterParams : HeuristicParams {
  ScatterParams() : HeuristicParams(SchedulerType::Scatter) {}

  bool rows = false;
  int64_t tasks = 1;             ///< of the CPU that share the axes outside of the scattered one
  int64_t columns = 0;           ///< of a task of the CPU; 0: all
  int64_t threads_x = 0;         ///< X; 0: on the CPU
  int64_t threads_y = 1;         ///< Y
  int64_t vectorization = 1;     ///< V: neighbours that a thread computes
  int64_t unroll = 1;            ///< U: rows of entries that a thread has read at once
  int64_t blocks = 1;            ///< of a GPU, along x
  int64_t blocks_y = 1;          ///< that share columns
  int64_t resident_blocks = 1;   ///< of them that a multiprocessor must hold at once
  bool adds_vectors = false;     ///< what is added to rows is added V elements at once
  int64_t sums_by = 0;           ///< sums of a block that are added in one access; 0: has none
  int64_t of_target = 0;         ///< elements of the target that are filled in one access
  std::vector<int64_t> inputs;   ///< elements in one access of each input; 0: not in vectors
  std::vector<int64_t> reads;    ///< the same for rows of it that are read at an index
  std::vector<int64_t> outputs;  ///< the same for each output

  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<ScatterParams>(*this);
  }
};

bool hasScatters(const Fusion& fusion);

const SchedulerEntry& scatterScheduler();

}  // namespace nvfuser
