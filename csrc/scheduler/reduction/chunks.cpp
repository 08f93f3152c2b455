/// Chunks: numbers that are added one by one lose digits to a sum that has grown, equal ones all in
/// one direction. So a long sum is one of chunks, whose sums are added in Double
/// (device_lower/build_accumulators.cpp).
#include <algorithm>

#include <scheduler/reduction/plan.h>

namespace nvfuser::reduction {

namespace {

/// Additions one after the other: how many are too many, and how many a chunk has. What a thread of
/// a GPU has begun, hundreds of others go on with.
struct Additions {
  int64_t most;
  int64_t of_chunk;
};
constexpr Additions kOfTask{128, 64};
constexpr Additions kOfThread{512, 128};

/// The serial loops of a reduction.
struct Steps {
  int64_t additions;  ///< in each step
  int64_t steps;      ///< of a run, or of all where there are no runs
  int64_t runs = 1;
};

Steps stepsOf(const Problem& problem, const ReductionParams& params) {
  if (!problem.fastest_dim) {
    const int64_t rows = (params.host ? 1 : params.threads_y) * params.unroll;
    return {params.unroll, ceilDiv(problem.reduced, rows * params.grid)};
  }
  int64_t additions = 1;
  int64_t elements = params.vectorization;  // of a step
  if (!params.host) {
    additions = params.vectorization * params.unroll * params.unroll_runs;
    elements = params.vectorization * params.threads_x * params.unroll;
  }
  if (!problem.schedule_3d) {
    return {additions, ceilDiv(problem.reduced, elements * params.grid)};
  }
  const int64_t run = std::max<int64_t>(problem.inner_extent, 1);
  return {additions, ceilDiv(run, elements),
          ceilDiv(problem.reduced / run, params.unroll_runs * params.grid)};
}

}  // namespace

void planChunks(const Problem& problem, ReductionParams& params) {
  if (params.batches > 0 || problem.reduced == 0) {
    return;
  }
  const auto [most, of_chunk] = params.host ? kOfTask : kOfThread;
  const Steps of = stepsOf(problem, params);
  const int64_t of_run = of.steps * of.additions;
  if (of_run > most) {
    params.chunk = std::max<int64_t>(of_chunk / of.additions, 1);
  } else if (of_run * of.runs > most) {
    params.chunk_runs = std::max<int64_t>(of_chunk / of_run, 1);
  }
}

}  // namespace nvfuser::reduction
