#include <algorithm>

#include <ir/last_task.h>
#include <scheduler/reduction/plan.h>
#include <scheduler/reduction/schedule.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kVectorBytes = 64;  ///< of the widest SIMD register
constexpr int64_t kAlone = 8192;      ///< elements that one thread does as fast as several
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kStripBytes = 4096;     ///< of sums of columns
constexpr int64_t kLeastShare = 1 << 15;  ///< elements of a row for which a task is worth its start

}  // namespace

void planHost(const Problem& problem, ReductionParams& params) {
  const int64_t threads = problem.info.device().multiprocessors;
  const int64_t lanes = kVectorBytes / std::max<int64_t>(problem.largest_dtype, 4);
  int64_t parallel = problem.kept;
  if (problem.fastest_dim) {
    // Several registers of partial results hide the latency of additions.
    params.vectorization = problem.inner_extent >= 64 * lanes ? 4 * lanes
                           : problem.inner_extent >= lanes    ? lanes
                                                              : 1;
  } else {
    int64_t strip = lanes;
    const int64_t most = kStripBytes / std::max<int64_t>(problem.largest_dtype, 4);
    while (strip * 4 <= most && problem.inner_extent >= strip * 4 * threads) {
      strip *= 4;
    }
    params.vectorization = strip;
    parallel = problem.kept / std::max<int64_t>(problem.inner_extent, 1) *
               ceilDiv(problem.inner_extent, strip);
  }
  params.tasks = problem.kept * problem.reduced <= kAlone
                     ? 1
                     : floorPow2(std::min(parallel, kTasksPerThread * threads));
}

void shareRows(const Problem& problem, ReductionParams& params) {
  const int64_t threads = problem.info.device().multiprocessors;
  if (!params.fastest_dim || problem.kept == 0 || problem.kept >= threads) {
    return;
  }
  int64_t tasks =
      std::min(ceilDiv(kTasksPerThread * threads, problem.kept), problem.reduced / kLeastShare);
  if (params.schedule_3d) {  // whole runs
    tasks = std::min(tasks, problem.reduced / std::max<int64_t>(problem.inner_extent, 1));
  }
  if (tasks < 2) {
    return;
  }
  ReductionParams shared = params;
  shared.grid = floorPow2(tasks);
  Fusion copy(problem.fusion);
  schedule(&copy, shared);
  if (findLastTasks(copy)) {
    params.grid = shared.grid;
  }
}

}  // namespace nvfuser::reduction
