/// What the schedulers of reductions and normalisations decide.
#pragma once

#include <string>
#include <vector>

#include <scheduler/heuristic.h>

namespace nvfuser {

/// How values that are needed behind a reduction get there.
enum class Persistence : uint8_t {
  None,       ///< there are none, or inputs are read again from memory
  Registers,  ///< rows stay in registers: a constant number of elements a thread
  Shared,     ///< rows stay in shared memory
};

struct ReductionParams : HeuristicParams {
  explicit ReductionParams(SchedulerType type) : HeuristicParams(type) {}

  /// Name of the reduction's result whose axes are the loops.
  int64_t reference = 0;
  /// Which of its logical axes are reduced; for the text alone.
  std::vector<bool> reduced;
  /// Its logical axes in the order of the largest tensor's memory, outermost first.
  std::vector<int64_t> order;
  /// The innermost ones are reduced; otherwise they are kept.
  bool fastest_dim = true;
  /// How many of `order`'s last axes lie together in memory and are vectorised.
  int64_t inner_axes = 1;
  /// Reduced (kept) axes outside of those have a loop of their own.
  bool schedule_3d = false;
  /// Tasks and SIMD loops instead of blocks and threads.
  bool host = false;
  /// Rows of a constant few elements, on the CPU, with the rows as lanes: loops are those of
  /// columns (fastest_dim is false), and what lies along the rows is turned in tiles.
  bool turned_rows = false;

  Persistence persistence = Persistence::None;
  /// Values are computed again from the inputs instead of being held.
  bool project_persistent_buffers = false;
  /// But for results of exponentials and their like, which are held.
  bool hold_expensive = false;
  /// Means and variances are sums of two passes (`row_passes.h`).
  bool moments_in_passes = false;
  /// Maxima and sums of exponentials behind them are one reduction (`online_softmax.h`).
  bool online_softmax = false;

  int64_t vectorization = 1;  ///< neighbours that a thread computes
  int64_t unroll = 1;         ///< vectors in flight in one step of the serial loop
  int64_t unroll_runs = 1;    ///< of a 3-D reduction: runs in flight in one step of their loop
  int64_t batches = 0;        ///< vectors of a row that a thread holds; 0: a serial loop
  int64_t threads_x = 0;      ///< 0: as many as the batches need
  int64_t threads_y = 0;
  int64_t rows = 1;             ///< rows of an inner reduction, planes of an outer one, in a block
  int64_t threads_of_runs = 1;  ///< of a 3-D inner reduction: runs that a block's threads share out
  bool pad_to_warp = false;
  int64_t padded_to = 0;  ///< threads of a row that shares its warp; 0: as many as it needs
  /// Of a block whose threads follow from the batches; 0: they are constants.
  int64_t most_threads = 0;
  int64_t grid = 1;              ///< blocks (tasks, on the CPU) that share one row's reduction
  int64_t resident_blocks = 0;   ///< that a multiprocessor must hold at once; 0: does not matter
  int64_t cluster = 1;           ///< blocks of a cluster that share one row
  int64_t tasks = 1;             ///< of the CPU
  bool column_values = false;    ///< what no row of a task changes is computed once a task (CPU)
  bool streaming = false;        ///< the CPU writes outputs past its caches
  int64_t chunk = 0;             ///< steps whose sum is added to the others'; 0: one by one
  int64_t chunk_runs = 0;        ///< of a 3-D reduction, the same: runs
  std::vector<int64_t> inputs;   ///< elements in one access of each input; 0: not vectorised
  std::vector<int64_t> outputs;  ///< the same for each output

  /// What is decided, and the loops that follow from it (loops.h).
  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<ReductionParams>(*this);
  }
};

}  // namespace nvfuser
