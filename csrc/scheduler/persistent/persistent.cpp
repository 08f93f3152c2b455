#include <scheduler/persistent/persistent.h>

#include <algorithm>

#include <scheduler/persistent/online_softmax.h>
#include <scheduler/reduction/plan.h>
#include <scheduler/reduction/refuses_turned.h>
#include <scheduler/reduction/row_passes.h>
#include <scheduler/reduction/schedule.h>
#include <scheduler/reduction/trial.h>
#include <scheduler/reduction/turned_rows.h>

namespace nvfuser {

using namespace reduction;

namespace {

constexpr int64_t kMostHeldBytes = 256;   ///< in registers of one thread
constexpr int64_t kManyBatches = 32;      ///< of a thread; an eighth less is worth a kernel
constexpr int64_t kIdleWorth = 16;        ///< one in so many threads' turns is worth other batches
constexpr int64_t kMostThreads = 512;     ///< of a block that holds a row in registers
constexpr int64_t kCluster = 8;           ///< blocks
constexpr int64_t kClusterBytes = 32768;  ///< of a row that is worth a cluster where rows are few
constexpr int64_t kSharedOfExchanges = 8192;  ///< bytes beside rows
constexpr int64_t kVectorsInShared = 8;       ///< of a thread
constexpr int64_t kLeastThreads = 128;        ///< of a block with its row in shared memory
constexpr int64_t kMostThreadsInShared = 1024;
constexpr int64_t kMostExpensive = 2;       ///< operations that are rather done again than held
constexpr int64_t kHeldExponentials = 128;  ///< bytes of a thread: more cost blocks in flight

/// Vectors that a thread may hold.
std::vector<int64_t> batchLadder(int64_t vectorization) {
  switch (vectorization) {
    case 1:
      return {1, 4, 16, 32, 64};
    case 2:
      return {1, 4, 8, 16, 32};
    case 4:
      return {1, 4, 8, 16};
    default:
      return {1, 2, 4, 8};
  }
}

/// Few threads with much in flight each: what a block does for a row besides, it does for each
/// thread. Of rows read in narrow accesses, a thread has as many of these as it has of whole ones.
int64_t threadsWanted(int64_t row_bytes, int64_t access_bytes) {
  const int64_t wanted = row_bytes <= 2048    ? 32
                         : row_bytes <= 8192  ? 64
                         : row_bytes <= 16384 ? 128
                         : row_bytes <= 32768 ? 256
                                              : 512;
  const int64_t of_whole = SchedulerRuntimeInfo::kMaxAlignment / std::max<int64_t>(access_bytes, 1);
  return std::min(wanted * std::max<int64_t>(of_whole, 1), kMostThreads);
}

bool worthProjecting(const Problem& problem) {
  const PersistentBuffers& buffers = problem.form.buffers;
  if (buffers.notRecomputable() != nullptr || buffers.repeatsMany()) {
    return false;
  }
  const DataType index = problem.info.getIndexType();
  return buffers.expensiveRepeated() <= kMostExpensive &&
         buffers.bytesProjected(index) < buffers.bytesHeld(index);
}

/// Threads of whole warps that a row of so many vectors takes.
int64_t lanesOf(int64_t vectors, int64_t batches, int64_t warp) {
  return ceilDiv(ceilDiv(vectors, batches), warp) * warp;
}

/// Rows of few vectors: several a warp, each by a power of two of threads, which exchange by
/// shuffles. 96 numbers of 16 bits are 12 vectors: 4 threads with 3 each, 8 rows. Of 5 vectors 8
/// threads have one each, and three have none, where a whole warp would leave 27 idle. A point of 2
/// or 3 numbers has one thread.
void shareWarps(const Problem& problem, int64_t vectors, int64_t most_batches,
                ReductionParams& params) {
  constexpr int64_t kBlock = 128;
  constexpr int64_t kMostBatches = 5;
  constexpr int64_t kLeastOfRow = 4;  // threads, which read side by side
  constexpr double kWorth = 1.25;     // more turns that have a vector, than in whole warps
  const int64_t warp = problem.info.device().warp_size;
  const auto used = [&](int64_t batches, int64_t threads) {
    return static_cast<double>(vectors) / static_cast<double>(batches * threads);
  };
  double best = kWorth * used(params.batches, lanesOf(vectors, params.batches, warp));
  // One thread reads a row of one access, whatever else; so do neighbours theirs.
  const bool is_one_access = problem.reduced * std::max<int64_t>(problem.largest_dtype, 1) <=
                             SchedulerRuntimeInfo::kMaxAlignment;
  const int64_t least = is_one_access ? 1 : std::min<int64_t>(kLeastOfRow, ceilPow2(vectors));
  int64_t threads = 0;
  const bool is_fixed = problem.isReducedByConstants();
  for (int64_t batches = 1; batches <= std::min(most_batches, kMostBatches); ++batches) {
    const int64_t needed = ceilPow2(ceilDiv(vectors, batches));
    // Rows of changing sizes: few numbers, so that a kernel serves many of them.
    const bool is_one_of_few =
        vectors < 16 && (batches == 1 || batches == 3) && needed * batches == vectors;
    if (!is_fixed && !is_one_of_few) {
      continue;
    }
    if ((needed > 1 || is_fixed) && needed >= least && needed < warp &&
        used(batches, needed) > best) {
      best = used(batches, needed);
      threads = needed;
      params.batches = batches;
    }
  }
  if (threads == 0) {
    return;
  }
  params.pad_to_warp = false;
  params.padded_to = ceilDiv(vectors, params.batches) == threads ? 0 : threads;
  const int64_t blocks = ceilDiv(problem.kept * threads, kBlock);
  const bool many = blocks >= 2 * problem.info.device().multiprocessors;
  params.rows = (many ? kBlock : warp) / threads;
}

/// Vectors of a thread, from half of `batches` to `most`, that leave the fewest threads of warps
/// idle: 96 vectors are 32 threads with 3 each rather than 24 with 4, and 2049 are 410 with 5
/// rather than 257, a ninth warp for one thread, with 8. A kernel of changing sizes (not
/// `is_fixed`) has one of few numbers, so that it serves many of them.
int64_t withoutIdle(int64_t vectors, int64_t batches, int64_t most, bool is_fixed, int64_t warp) {
  auto lanes = [&](int64_t n) { return n * lanesOf(vectors, n, warp); };
  int64_t best = batches;
  for (int64_t other = batches / 2 + 1; other <= most; ++other) {
    const bool is_one_of_few = batches >= kManyBatches && other % (batches / 8) == 0;
    const bool is_tried = is_fixed || is_one_of_few || lanes(other) == vectors;
    if (is_tried && lanes(other) < lanes(best) && ceilDiv(vectors, other) <= kMostThreads) {
      best = other;
    }
  }
  const int64_t worth = is_fixed ? 16 : 8;  // more than this part of all turns has to be saved
  return worth * (lanes(batches) - lanes(best)) > lanes(batches) ? best : batches;
}

/// Rows in registers: false if they do not fit.
bool planInnerRegisters(const Problem& problem, int64_t held_bytes, ReductionParams& params) {
  // A row made of separate pieces is merged to one loop, which vectors could cross; reading it
  // again in vectors is better than holding it element by element.
  const bool pieces = problem.schedule_3d;
  if (problem.reduced == 0 ||
      (pieces && problem.widest() > 1 && problem.form.buffers.notRecomputable() == nullptr)) {
    return false;
  }
  params.vectorization = pieces ? 1 : problem.widest();
  const int64_t vectors = ceilDiv(problem.reduced, params.vectorization);
  const int64_t wanted = threadsWanted(problem.reduced * problem.input_bytes,
                                       params.vectorization * problem.full_dtype);
  const int64_t most_elements = kMostHeldBytes / std::max<int64_t>(held_bytes, 1);
  int64_t batches = 0;
  for (int64_t candidate : batchLadder(params.vectorization)) {
    if (candidate * params.vectorization > std::max(most_elements, params.vectorization)) {
      break;
    }
    batches = candidate;
    // A single batch is for rows of one warp.
    if (ceilDiv(vectors, candidate) <= (candidate == 1 ? 32 : wanted)) {
      break;
    }
  }
  // Where there are threads enough for all multiprocessors, a row may have fewer of them.
  const DeviceProperties& device = problem.info.device();
  const bool many =
      problem.kept * vectors >= 2 * batches * kMostThreads * 2 * device.multiprocessors;
  const int64_t more = std::min(3 * batches / 2, most_elements / params.vectorization);
  const bool is_fixed = problem.isReducedByConstants();
  batches = withoutIdle(vectors, batches, many && is_fixed ? std::max(more, batches) : batches,
                        is_fixed, device.warp_size);
  const int64_t threads = ceilDiv(vectors, batches);
  if (threads > kMostThreads) {
    return false;
  }
  const auto ladder = batchLadder(params.vectorization);
  params.persistence = Persistence::Registers;
  params.most_threads = kMostThreads;
  params.batches = batches;
  params.pad_to_warp = true;
  params.rows = threads <= 32 && batches <= ladder[1] ? 4 : 1;
  if (threads <= device.warp_size) {
    shareWarps(problem, vectors, std::max<int64_t>(most_elements / params.vectorization, 1),
               params);
  }
  return true;
}

/// Without elements, the greatest is −∞ rather than the number that an online softmax starts at.
bool hasOnline(const Problem& problem) {
  return problem.reduced > 0 && hasOnlineSoftmax(problem.fusion);
}

/// Whether an online softmax does the rows in one pass, so that nothing is held.
bool fitsOnline(const Problem& problem) {
  if (!hasOnline(problem)) {
    return false;
  }
  Fusion exchanged(problem.fusion);
  computeSoftmaxOnline(&exchanged);
  if (!needsNoRow(exchanged)) {
    return false;
  }
  const auto form = Form::of(exchanged);
  const auto* of = std::get_if<std::unique_ptr<Form>>(&form);
  return of != nullptr && !tryForm(exchanged, **of, SchedulerType::Reduction);
}

/// Whether the blocks of a cluster can have parts of a row each, in whole accesses.
bool suitsCluster(const Problem& problem) {
  return problem.info.device().major >= 9 && !problem.schedule_3d && problem.reduced > 0 &&
         problem.widest() * problem.largest_dtype >= SchedulerRuntimeInfo::kMaxAlignment;
}

/// A cluster for each row, of blocks of up to `threads` with `batches` accesses each.
void planCluster(const Problem& problem, Persistence where, int64_t threads, int64_t batches,
                 ReductionParams& params) {
  params.vectorization = problem.widest();
  params.persistence = where;
  params.most_threads = threads;
  params.batches = batches;
  params.pad_to_warp = true;
  params.cluster = kCluster;
}

/// Rows that few blocks or no single one can do, in registers.
bool planInnerCluster(const Problem& problem, int64_t held_bytes, ReductionParams& params) {
  if (!suitsCluster(problem)) {
    return false;
  }
  const int64_t vectorization = problem.widest();
  const int64_t vectors = ceilDiv(problem.reduced, vectorization * kCluster);
  for (int64_t batches : {4, 8}) {
    if (batches * vectorization * held_bytes <= kMostHeldBytes &&
        ceilDiv(vectors, batches) <= kMostThreads) {
      planCluster(problem, Persistence::Registers, kMostThreads, batches, params);
      return true;
    }
  }
  return false;
}

/// Rows of inputs in shared memory: a block's part waits there without a register, so that several
/// blocks are on a multiprocessor while each waits for the others of its cluster.
bool planInnerShared(const Problem& problem, ReductionParams& params) {
  const PersistentBuffers& buffers = problem.form.buffers;
  if (!suitsCluster(problem) || buffers.notRecomputable() != nullptr || buffers.repeatsMany()) {
    return false;
  }
  const int64_t vectors = ceilDiv(problem.reduced, problem.widest() * kCluster);
  const int64_t threads = std::clamp<int64_t>(ceilPow2(ceilDiv(vectors, kVectorsInShared)),
                                              kLeastThreads, kMostThreadsInShared);
  const int64_t batches = ceilDiv(vectors, threads);
  const int64_t bytes =
      batches * threads * problem.widest() * buffers.bytesProjected(problem.info.getIndexType());
  if (bytes + kSharedOfExchanges > problem.info.device().shared_bytes_per_block_optin) {
    return false;
  }
  planCluster(problem, Persistence::Shared, threads, batches, params);
  params.project_persistent_buffers = true;
  return true;
}

bool planOuterRegisters(const Problem& problem, int64_t held_bytes, ReductionParams& params) {
  if (problem.reduced == 0) {
    return false;
  }
  planOuter(problem, false, params);
  params.unroll = 1;
  const int64_t most_elements = kMostHeldBytes / std::max<int64_t>(held_bytes, 1);
  const int64_t most_rows = kMostThreads / params.threads_x;
  int64_t batches = 1;
  while (ceilDiv(problem.reduced, batches) > std::min(most_rows, params.threads_y) &&
         batches * 2 * params.vectorization <= most_elements) {
    batches *= 2;
  }
  if (ceilDiv(problem.reduced, batches) > most_rows) {
    return false;
  }
  params.persistence = Persistence::Registers;
  params.most_threads = kMostThreads;
  params.batches = batches;
  params.threads_y = 0;
  return true;
}

class PersistentScheduler : public SchedulerEntry {
 public:
  explicit PersistentScheduler(bool inner) : inner_(inner) {}

  SchedulerType type() const override {
    return inner_ ? SchedulerType::InnerPersistent : SchedulerType::OuterPersistent;
  }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    auto form = Form::of(fusion);
    if (auto* refusal = std::get_if<Refusal>(&form)) {
      return std::move(*refusal);
    }
    const Form& of = *std::get<std::unique_ptr<Form>>(form);
    if (of.buffers.held().empty()) {
      return Refusal{text("nothing is needed both before and behind the reduction ",
                          of.signature.reference())};
    }
    return tryForm(fusion, of, type());
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    const auto form = std::get<std::unique_ptr<Form>>(Form::of(fusion));
    const Problem problem(fusion, *form, info);
    if (problem.fastest_dim != inner_) {
      return Refusal{text(form->signature.reference(), " is reduced over ",
                          problem.fastest_dim ? "the innermost axes" : "outer axes", " in memory")};
    }
    if (auto refusal = refusesTurned(problem)) {
      return *refusal;
    }
    std::unique_ptr<ReductionParams> params = problem.makeParams(type());
    const PersistentBuffers& buffers = form->buffers;
    if (params->host) {
      planHost(problem, *params);
      planTurnedRows(problem, *params);
      planPasses(problem, *params);
      planChunks(problem, *params);
      problem.setWidths(*params);
      return params;
    }
    params->project_persistent_buffers = worthProjecting(problem);
    if (inner_ && fitsOnline(problem)) {
      params->online_softmax = true;
      planInner(problem, true, *params);
      planChunks(problem, *params);
      problem.setWidths(*params);
      return params;
    }
    const DataType index = info.getIndexType();
    const int64_t held_bytes = params->project_persistent_buffers ? buffers.bytesProjected(index)
                                                                  : buffers.bytesHeld(index);
    const bool few = problem.kept * kCluster <= info.device().multiprocessors &&
                     problem.reduced * problem.input_bytes >= kClusterBytes;
    bool fits = false;
    if (inner_) {
      fits = (few && (planInnerShared(problem, *params) ||
                      planInnerCluster(problem, held_bytes, *params))) ||
             planInnerRegisters(problem, held_bytes, *params) ||
             planInnerShared(problem, *params) || planInnerCluster(problem, held_bytes, *params);
    } else {
      fits = planOuterRegisters(problem, held_bytes, *params);
    }
    if (!fits) {
      if (const TensorView* tv = buffers.notRecomputable()) {
        return Refusal{text("rows of ", problem.reduced, " elements do not fit registers (",
                            held_bytes, " bytes an element), and ", tv,
                            " cannot be computed again from inputs")};
      }
      params->project_persistent_buffers = true;
      params->online_softmax = hasOnline(problem);
      inner_ ? planInner(problem, true, *params) : planOuterPasses(problem, *params);
      planChunks(problem, *params);
    }
    if (params->persistence != Persistence::None && inner_) {
      const int64_t held_numbers = params->batches * params->vectorization;
      params->moments_in_passes = hasMoments(fusion);
      params->hold_expensive =
          params->project_persistent_buffers && buffers.expensiveRepeated() > 0 &&
          held_numbers * dataTypeSizeByte(DataType::Float) <= kHeldExponentials &&
          (params->persistence == Persistence::Registers || expensiveReplaceInputs(fusion));
      if (params->hold_expensive) {
        params->persistence = Persistence::Registers;  // the row needs no shared memory any more
      }
    }
    problem.setWidths(*params);
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    const auto& of_rows = static_cast<const ReductionParams&>(params);
    if (of_rows.online_softmax) {
      computeSoftmaxOnline(fusion);
    }
    reduction::schedule(fusion, of_rows);
  }

 private:
  bool inner_;
};

}  // namespace

const SchedulerEntry& innerPersistentScheduler() {
  static const PersistentScheduler scheduler(true);
  return scheduler;
}

const SchedulerEntry& outerPersistentScheduler() {
  static const PersistentScheduler scheduler(false);
  return scheduler;
}

}  // namespace nvfuser
