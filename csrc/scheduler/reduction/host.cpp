#include <algorithm>

#include <ir/last_task.h>
#include <scheduler/analysis/column_values.h>
#include <scheduler/reduction/plan.h>
#include <scheduler/reduction/row_passes.h>
#include <scheduler/reduction/schedule.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kVectorBytes = 64;  ///< of the widest SIMD register
constexpr int64_t kAlone = 8192;      ///< elements that one thread does as fast as several
constexpr int64_t kTasksPerThread = 4;
constexpr int64_t kLineBytes = 64;
constexpr int64_t kStripBytes = 4096;     ///< of sums of columns
constexpr int64_t kRowsAtOnce = 4;        ///< of sums of columns
constexpr int64_t kLeastShare = 1 << 15;  ///< elements of a row for which a task is worth its start

/// Lanes for rows that are shorter than a register: a part of one where there are masks for that,
/// else half or a quarter of one, where a row has whole ones. (Without masks, a part of a vector
/// goes through memory.)
int64_t lanesOfShortRow(int64_t elements, int64_t lanes, bool has_masks) {
  const bool is_part = has_masks && elements >= kLeastMaskedRun && elements % 8 != 0;
  return is_part ? lanes : elements % 8 == 0 ? 8 : elements % 4 == 0 ? 4 : 1;
}

/// Whether no cache could hold what is written, in whole lines, and read: then it need not be in
/// one before it is written.
bool isStreamed(const Problem& problem) {
  const DeviceProperties& device = problem.info.device();
  int64_t bytes = 0;
  for (const TensorView* tv : borderTensors(problem.fusion)) {
    bytes += problem.info.bytes(tv);
    if (tv->isFusionOutput() &&
        problem.inner_extent * SchedulerRuntimeInfo::elementBytes(tv) % kLineBytes != 0) {
      return false;
    }
  }
  return device.l3_bytes > 0 && bytes > device.l3_bytes;
}

}  // namespace

void planHost(const Problem& problem, ReductionParams& params) {
  const int64_t threads = problem.info.device().multiprocessors;
  const int64_t lanes = kVectorBytes / std::max<int64_t>(problem.full_dtype, 4);
  int64_t parallel = problem.kept;
  if (problem.fastest_dim) {
    // Several registers of partial results hide the latency of additions.
    params.vectorization =
        problem.inner_extent >= 4 * lanes ? 4 * lanes
        : problem.inner_extent >= lanes
            ? lanes
            : lanesOfShortRow(std::max<int64_t>(problem.inner_extent, 1), lanes, problem.has_masks);
  } else {
    int64_t strip = lanes;
    const int64_t most = kStripBytes / std::max<int64_t>(problem.largest_dtype, 4);
    while (strip * 4 <= most && problem.inner_extent >= strip * 4 * threads) {
      strip *= 4;
    }
    params.vectorization = strip;
    params.unroll = problem.reduced >= 2 * kRowsAtOnce ? kRowsAtOnce : 1;
    parallel = problem.kept / std::max<int64_t>(problem.inner_extent, 1) *
               ceilDiv(problem.inner_extent, strip);
  }
  params.column_values = !problem.fastest_dim || problem.reduced <= kMostHeldColumns;
  params.tasks = problem.kept * problem.reduced <= kAlone
                     ? 1
                     : floorPow2(std::min(parallel, kTasksPerThread * threads));
}

void planPasses(const Problem& problem, ReductionParams& params) {
  const DeviceProperties& device = problem.info.device();
  const PersistentBuffers& buffers = problem.form.buffers;
  const bool recomputable = buffers.notRecomputable() == nullptr;
  const bool persistent = !buffers.held().empty();
  // A strip of columns, or a row.
  const int64_t elements = problem.reduced * (params.fastest_dim ? 1 : params.vectorization);
  const int64_t cache = std::max(device.l2_bytes, device.l3_bytes / device.multiprocessors);
  // (Of no numbers there is no mean to be near.)
  params.moments_in_passes =
      params.grid == 1 && problem.reduced > 0 && (persistent || recomputable) &&
      2 * elements * problem.input_bytes <= cache && hasMoments(problem.fusion);
  params.project_persistent_buffers = recomputable && (persistent || params.moments_in_passes);
  const int64_t held_bytes = persistent ? buffers.bytesHeld(problem.info.getIndexType())
                                        : std::max<int64_t>(problem.largest_dtype, 4);
  params.streaming = persistent && isStreamed(problem);
  params.hold_expensive = params.project_persistent_buffers &&
                          problem.reduced * held_bytes <= device.shared_bytes_per_block;
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
  if (!trySchedule(&copy, shared) && findLastTasks(copy)) {
    params.grid = shared.grid;
  }
}

}  // namespace nvfuser::reduction
