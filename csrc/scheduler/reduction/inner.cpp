#include <algorithm>

#include <scheduler/reduction/plan.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kBytesInFlight = 32;    ///< that a thread loads of full inputs in one step
constexpr int64_t kMostLoadedBytes = 64;  ///< of all inputs
constexpr int64_t kThreadsOfRows = 256;   ///< of a block, where there are blocks enough
constexpr int64_t kMostThreadsOfRows = 512;
constexpr int64_t kResident = 2;  ///< blocks of most threads that a multiprocessor holds at once
constexpr int64_t kLeastThreads = 8;  ///< of a row of many vectors: 128 bytes side by side
constexpr double kIdleGain = 1.1;     ///< by which fewer threads must do fewer vectors in vain

/// Threads of a row, and vectors that each loads in one step.
struct Row {
  int64_t threads;
  int64_t unroll;
};

/// Vectors that a row's threads go through, those behind its end among them.
int64_t padded(int64_t vectors, Row row) {
  const int64_t step = row.threads * row.unroll;
  return ceilDiv(vectors, step) * step;
}

/// Fewer threads, with more rows a block, where they go through fewer vectors behind the end of a
/// row. 48 vectors are two steps of 32 threads, a quarter of them in vain, and three of 16.
Row withoutIdle(int64_t vectors, Row most) {
  Row best = most;
  for (int64_t threads = most.threads; threads >= kLeastThreads; threads /= 2) {
    for (int64_t unroll = most.unroll; unroll >= 1; unroll /= 2) {
      const Row row{threads, unroll};
      if (static_cast<double>(padded(vectors, row)) * kIdleGain <=
          static_cast<double>(padded(vectors, best))) {
        best = row;
      }
    }
  }
  return best;
}

}  // namespace

void planInner(const Problem& problem, bool may_split, ReductionParams& params) {
  const DeviceProperties& device = problem.info.device();
  const int64_t processors = device.multiprocessors;
  params.vectorization = problem.widest();
  const int64_t vectors = ceilDiv(problem.inner_extent, params.vectorization);
  const int64_t others = problem.inner_extent > 0 ? problem.reduced / problem.inner_extent : 1;

  // Threads of a row: several rows a warp for very short ones, whole warps for others.
  const int64_t bytes = params.vectorization * problem.input_bytes;
  const int64_t of_registers = kMostLoadedBytes / (params.vectorization * problem.row_bytes);
  const int64_t most_unroll =
      std::clamp<int64_t>(std::min(kBytesInFlight / bytes, of_registers), 1, 8);
  const bool few_rows = problem.kept < 2 * processors;
  const bool whole_accesses =
      params.vectorization * problem.largest_dtype >= SchedulerRuntimeInfo::kMaxAlignment;
  const int64_t most_threads = few_rows || whole_accesses ? kMostThreadsOfRows : kThreadsOfRows;
  int64_t threads = 0;
  if (vectors < device.warp_size) {
    threads = ceilPow2(vectors);
  } else {
    threads = std::clamp<int64_t>(floorPow2(vectors / most_unroll), device.warp_size, most_threads);
  }
  params.unroll = std::clamp<int64_t>(floorPow2(vectors / threads), 1, most_unroll);
  if (!params.schedule_3d && !few_rows && whole_accesses && vectors >= device.warp_size) {
    const Row row = withoutIdle(vectors, {threads, params.unroll});
    threads = row.threads;
    params.unroll = row.unroll;
  }
  if (params.schedule_3d && few_rows && vectors >= device.warp_size) {
    // A short run at each step: threads for all of it, rather than few with several vectors each.
    const int64_t share = ceilDiv(vectors, ceilDiv(vectors, kMostThreadsOfRows));
    threads = ceilDiv(share, device.warp_size) * device.warp_size;
    params.unroll = 1;
  }
  if (params.schedule_3d && params.unroll == 1) {
    params.unroll_runs = std::clamp<int64_t>(floorPow2(others), 1, most_unroll);
  }
  params.threads_x = threads;
  int64_t rows = std::max<int64_t>(kThreadsOfRows / 2 / threads, 1);
  while (rows > 1 && ceilDiv(problem.kept, rows) < 2 * processors && rows * threads > 32) {
    rows /= 2;
  }
  params.rows = problem.kept > 1 ? rows : 1;

  // Rows too few for the device, or with few threads each: several blocks a row.
  const int64_t blocks = ceilDiv(problem.kept, params.rows);
  int64_t block = threads * params.rows;
  if (blocks * block * 2 > kMostThreadsOfRows * processors) {
    return;
  }
  if (params.schedule_3d) {
    // Runs are shared out to threads of a block first, whose results meet without memory.
    const int64_t steps =
        std::clamp<int64_t>(floorPow2(others / params.unroll_runs), 1, device.max_block[2]);
    params.threads_of_runs = std::clamp<int64_t>(kThreadsOfRows / block, 1, steps);
    if (params.threads_of_runs > 1) {
      params.rows = std::min(params.rows, device.max_block[2]);  // (either is threadIdx.z)
    }
    block *= params.threads_of_runs;
  }
  if (may_split) {
    splitOverBlocks(
        problem, blocks, kResident * kMostThreadsOfRows / block,
        params.schedule_3d ? others / params.threads_of_runs : vectors / (threads * params.unroll),
        params);
  }
}

void splitOverBlocks(const Problem& problem, int64_t blocks, int64_t resident, int64_t steps,
                     ReductionParams& params) {
  const int64_t processors = problem.info.device().multiprocessors;
  const int64_t wanted = resident * processors / std::max<int64_t>(blocks, 1);
  // Few values, for few kernels of many sizes: 4, 5, 6 or 7 times a power of two.
  const int64_t unit = std::max<int64_t>(floorPow2(wanted) / 4, 1);
  params.grid = std::min(wanted / unit * unit, floorPow2(steps));
  if (params.grid > 1) {
    params.resident_blocks = resident;
  }
}

}  // namespace nvfuser::reduction
