#include <algorithm>

#include <scheduler/reduction/plan.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kMostUnroll = 8;         ///< rows in flight
constexpr int64_t kMostOfPass = 4;         ///< the same, where columns are read again
constexpr int64_t kResidentOfPass = 1;     ///< blocks that a multiprocessor holds then: two spill
constexpr int64_t kElementsInFlight = 32;  ///< of a thread: more spill
constexpr int64_t kMostColumnBytes = 256;  ///< of a thread, of all inputs: of more, registers spill
constexpr int64_t kBytesOfPass = 64;       ///< in flight of a thread, of all inputs
constexpr int64_t kThreadsOfColumns = 256;  ///< of a block
constexpr int64_t kMostThreadsOfColumns = 512;
constexpr int64_t kMostThreadsOfPass = 1024;  ///< where each has several rows
constexpr int64_t kColumnsOfPass = 4;       ///< of a thread: of more, instructions alone take long
constexpr int64_t kRowsOfPass = 8;          ///< of a thread, for the larger block
constexpr int64_t kLeastStrip = 4;          ///< threads along the columns
constexpr int64_t kLeastStripWritten = 16;  ///< where rows are written, too
constexpr int64_t kMostAlone = 64;          ///< rows that one thread goes through
constexpr int64_t kFewRows = 8;             ///< as fast to go through as to share
constexpr int64_t kLeastBlock = 128;        ///< threads; of fewer a multiprocessor holds too few
constexpr int64_t kThreadsToSpare = 1024;   ///< of a multiprocessor, for columns alone
constexpr int64_t kLine = 128;              ///< bytes that neighbours read at once
constexpr int64_t kBytesOfProcessor = 32768;  ///< that its threads have in flight, to hide latency

}  // namespace

void planOuter(const Problem& problem, bool may_split, ReductionParams& params) {
  const int64_t processors = problem.info.device().multiprocessors;
  // Each of the V columns has an accumulator for each reduction.
  params.vectorization = std::min<int64_t>(problem.widest(), 8);
  while (params.vectorization > 1 &&
         params.vectorization * problem.input_bytes > kMostColumnBytes) {
    params.vectorization /= 2;
  }
  const int64_t columns = ceilDiv(problem.inner_extent, params.vectorization);
  const int64_t others = problem.inner_extent > 0 ? problem.kept / problem.inner_extent : 1;
  const int64_t access = params.vectorization * std::max<int64_t>(problem.largest_dtype, 1);
  const bool is_narrow = may_split && access < SchedulerRuntimeInfo::kMaxAlignment;
  // Narrow accesses start anywhere: neighbours that read whole lines share most of what they touch.
  // (Columns that are held or read again leave no registers for that.)
  const int64_t of_line = is_narrow ? kLine / access : 0;
  int64_t threads = std::min(ceilPow2(columns), std::max<int64_t>(of_line, 32));
  int64_t in_block = kThreadsOfColumns;
  auto blocks = [&] { return others * ceilDiv(columns, threads); };
  // Narrower strips, down to a sector or two, before a second phase. What is computed for rows that
  // are written keeps more of a thread busy than their loads, and wants whole lines.
  const bool writes_rows = problem.full_tensors > problem.full_inputs;
  const int64_t least = std::max(writes_rows ? kLeastStripWritten : kLeastStrip, of_line);
  while (threads > least && blocks() < processors) {
    threads /= 2;
    in_block = kMostThreadsOfColumns;
  }
  params.threads_x = threads;
  params.threads_y = std::clamp<int64_t>(ceilPow2(problem.reduced), 1, in_block / threads);
  // Few elements, or some that only indices tell apart (taps of a window), or that are computed of
  // shorter inputs: no thread waits for another's.
  const bool may_go_alone =
      problem.reduced <= kFewRows ||
      (problem.reduced <= kMostAlone && (problem.of_indices || problem.full_inputs == 0));
  if (may_go_alone && others * columns >= kThreadsToSpare * processors) {
    params.threads_x = std::min(ceilPow2(columns), kThreadsOfColumns);
    params.threads_y = 1;
  }
  const int64_t most_unroll = std::clamp<int64_t>(
      std::min(128 / problem.input_bytes, kElementsInFlight) / params.vectorization, 1,
      writes_rows && params.vectorization > 1 ? 1 : kMostUnroll);
  params.unroll =
      std::clamp<int64_t>(floorPow2(problem.reduced / params.threads_y), 1, most_unroll);
  const int64_t block = params.threads_x * params.threads_y;
  const int64_t of_thread = params.vectorization * problem.input_bytes * params.unroll;
  // (Accumulators of whole accesses leave no registers for more threads.)
  const int64_t most = is_narrow ? std::clamp(kBytesOfProcessor / of_thread, kMostThreadsOfColumns,
                                              2 * kMostThreadsOfColumns)
                                 : kMostThreadsOfColumns;
  if (may_split && blocks() * block * 2 <= (writes_rows ? 2 : 1) * most * processors) {
    splitOverBlocks(problem, blocks(), 2 * most / block,
                    problem.reduced / (params.threads_y * params.unroll), params);
  }
  if (may_split && params.grid == 1 && block < kLeastBlock) {
    // Planes are threadIdx.z, of which a block has fewer than of the others; or x, where it is
    // free.
    const int64_t most_planes = problem.info.device().max_block[params.threads_x > 1 ? 2 : 0];
    params.rows =
        std::min({kThreadsOfColumns / block, most_planes, floorPow2(std::max<int64_t>(others, 1))});
  }
}

void planOuterPasses(const Problem& problem, ReductionParams& params) {
  planOuter(problem, false, params);
  params.vectorization = std::min(params.vectorization, kColumnsOfPass);
  const int64_t columns = ceilDiv(problem.inner_extent, params.vectorization);
  const int64_t others = problem.kept / std::max<int64_t>(problem.inner_extent, 1);
  const int64_t of_line = std::max<int64_t>(
      kLine / (params.vectorization * std::max<int64_t>(problem.largest_dtype, 1)), 1);
  const int64_t wanted = kResidentOfPass * problem.info.device().multiprocessors;
  while (params.threads_x > of_line && others * ceilDiv(columns, params.threads_x) < wanted) {
    params.threads_x /= 2;
  }
  const int64_t blocks = std::max<int64_t>(others * ceilDiv(columns, params.threads_x), 1);
  const int64_t all_rows = kMostThreadsOfPass / params.threads_x * ceilDiv(wanted, blocks);
  const bool has_many = problem.reduced >= kRowsOfPass * all_rows;
  params.threads_y = std::clamp<int64_t>(
      ceilPow2(problem.reduced), 1,
      (has_many ? kMostThreadsOfPass : kMostThreadsOfColumns) / params.threads_x);
  const int64_t most = std::clamp<int64_t>(
      kBytesOfPass / (params.vectorization * problem.input_bytes), 1, kMostOfPass);
  params.unroll = std::clamp<int64_t>(floorPow2(problem.reduced / params.threads_y), 1, most);
  if (blocks * 2 <= wanted) {
    splitOverBlocks(problem, blocks, kResidentOfPass,
                    problem.reduced / (params.threads_y * params.unroll), params);
  }
}

}  // namespace nvfuser::reduction
