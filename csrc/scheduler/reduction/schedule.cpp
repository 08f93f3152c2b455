#include <scheduler/reduction/schedule.h>

#include <algorithm>
#include <map>

#include <ir/axis_map.h>
#include <scheduler/analysis/column_values.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/analysis/row_values.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/indexed_reads.h>
#include <scheduler/reduction/loops.h>
#include <scheduler/reduction/partial_sums.h>
#include <scheduler/reduction/row_passes.h>
#include <scheduler/reduction/row_statistics.h>
#include <scheduler/reduction/turned_rows.h>
#include <scheduler/utils.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kWholeAccess = 16;  ///< bytes

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const ReductionParams& params) : fusion_(fusion), params_(params) {}

  /// Why a reduction that has other loops than the reference cannot be cut; nothing if all is done.
  std::optional<Refusal> run() {
    prepare();
    reference_ = referenceOf(*fusion_, params_.reference);
    makeLoops();
    const std::unordered_map<const TensorView*, int64_t> held = holdBeforeLoops();
    if (!params_.host) {
      dropOwnLoops();  // while the reference has all loops
    }
    if (const std::optional<Refusal> refusal = keepPartialSums(fusion_, params_)) {
      return refusal;
    }
    if (!params_.host) {
      vectorize();
    }
    fusion_->kernelHints().most_threads = params_.most_threads;
    fusion_->kernelHints().least_blocks = params_.resident_blocks;
    inlineAll(held);
    return std::nullopt;
  }

 private:
  /// What is computed otherwise than it was defined, and the copies that it takes.
  void prepare() {
    scheduler_utils::clearMemorySpace(fusion_);
    if (params_.moments_in_passes) {
      computeMomentsInPasses(fusion_);
    }
    if (params_.project_persistent_buffers) {
      projectToInputs(fusion_, params_.hold_expensive);
    }
    if (params_.host) {
      held_ = holdBesideReductions(fusion_);
    }
    if (params_.turned_rows) {
      turned_.copy(fusion_, params_);
      computeStatisticsApart(fusion_);
    } else {
      copyAtBorders();
    }
  }

  /// The plan's loops, for the reference and all others.
  void makeLoops() {
    const LoopSteps loops = loopsOf(params_, reducedAxes(reference_));
    loops.apply(reference_);
    const std::vector<ParallelType> types = loops.bindings();
    unroll_at_ = params_.host || params_.batches > 0 ? 0 : loops.placeOf("whole") + 1;
    TransformPropagator propagator(reference_);
    MaxLogicalDomainInfoSpanningTree(reference_).traverse(&propagator);
    for (size_t i = 0; i < types.size(); ++i) {
      IterDomain* id = reference_->axis(static_cast<int64_t>(i));
      id->parallelize(types[i]);
      if (types[i] == ParallelType::TIDx && (params_.pad_to_warp || params_.padded_to > 0)) {
        id->padToMultipleOfWarp(params_.padded_to > 0 ? std::optional(params_.padded_to)
                                                      : std::nullopt);
      }
      if (types[i] == ParallelType::BIDy && params_.cluster > 1) {
        id->setClusteredBlocks();
      }
    }
    scheduler_utils::parallelizeAllLike(reference_);
  }

  /// Tensors that are whole before the loops from a position on.
  std::unordered_map<const TensorView*, int64_t> holdBeforeLoops() {
    const auto rows =
        std::find_if(reference_->getLoopDomain().begin(), reference_->getLoopDomain().end(),
                     [](const IterDomain* id) { return id->isReduction(); });
    const int64_t row = rows - reference_->getLoopDomain().begin();
    std::unordered_map<const TensorView*, int64_t> held;
    for (const TensorView* tv : held_) {
      held[tv] = row;
    }
    if (params_.host && params_.fastest_dim) {
      holdRowValues(fusion_->allTvs(), row, held);
    }
    if (params_.host && params_.column_values && params_.grid == 1) {
      // [tasks, rows, row…], or [tasks, columns, reduced…]: loops over rows, in either case.
      std::vector<int64_t> of_rows;
      for (int64_t i = 1; params_.fastest_dim && i < row; ++i) {
        of_rows.push_back(i);
      }
      of_rows = params_.fastest_dim ? of_rows : reductionLoops(reference_);
      if (!of_rows.empty()) {
        holdColumnValues(*fusion_, reference_, fusion_->allTvs(), of_rows, held);
      }
    }
    if (params_.turned_rows) {
      turned_.reorder(row, held);
    }
    return held;
  }

  void vectorize() {
    groupVectors();
    for (auto [tv, width] : vectors_) {
      vectorizeInnermost(tv, width, params_.vectorization);
      if (tv->getMemoryType() == MemoryType::Shared && width * dataTypeSizeByte(tv->dtype()) >= 4) {
        scheduler_utils::recopy(tv, LoadStoreOpType::CpAsync, CacheOp::Unspecified);
      }
    }
  }

  /// As far inside as may be; unrolled loads stand together before what they are for.
  void inlineAll(const std::unordered_map<const TensorView*, int64_t>& held) {
    MaxPosCalculator most(*fusion_, held);
    for (TensorView* tv : fusion_->allTvs()) {
      tv->inlineAt(-1, true, &most);
    }
    if (params_.unroll * params_.unroll_runs > 1 && !params_.host && unroll_at_ > 0) {
      MaxPosCalculator calc(*fusion_);
      for (TensorView* copy : loads_) {
        if (copy->getComputeAtPosition() > unroll_at_) {
          copy->inlineAt(unroll_at_, true, &calc);
        }
      }
    }
  }

  void copyAtBorders() {
    std::map<const Val*, int64_t> width_of;
    for (size_t i = 0; i < fusion_->inputs().size(); ++i) {
      width_of[fusion_->inputs()[i]] = params_.inputs.empty() ? 0 : params_.inputs[i];
    }
    if (!params_.host) {
      const IdGraph permissive(*fusion_, IdGraph::Mode::Permissive);
      const auto signature = std::get<ReductionSignature>(reductionSignature(*fusion_, permissive));
      const PersistentBuffers buffers(*fusion_, permissive, signature);
      std::map<int64_t, int64_t> place;
      for (const Expr* expr : fusion_->exprs()) {
        place[expr->name()] = buffers.placeOf(expr);
      }
      // What a row does not own (weights) is read again rather than held.
      std::map<const TensorView*, bool> again;
      for (Val* input : fusion_->inputs()) {
        if (input->isA<TensorView>()) {
          auto* tv = input->as<TensorView>();
          again[tv] = signature.spansReduced(tv, permissive) &&
                      (params_.persistence != Persistence::Registers ||
                       !signature.spansRows(tv, permissive));
        }
      }
      loads_ = scheduler_utils::cacheInputs(fusion_, true,
                                            [&](const TensorView* tv, const Expr* use) -> int64_t {
                                              return again.at(tv) ? place.at(use->name()) : 0;
                                            });
      for (TensorView* copy : loads_) {
        vectors_.emplace_back(copy, width_of[copy->definition()->input(0)]);
      }
      if (params_.persistence == Persistence::None) {
        streamSingleReads(signature, permissive, width_of);
      } else if (params_.persistence == Persistence::Shared) {
        holdRows(signature, permissive, width_of);
      }
    }
    if (params_.host && params_.scheduler_type == SchedulerType::Reduction) {
      copyForOneNest();
    }
    for (TensorView* window : windowsOfInputs(*fusion_)) {
      const Val* input = window->definition()->input(0);
      if (!params_.host && readThroughWindows(input->as<TensorView>())) {
        vectors_.emplace_back(window, width_of[input]);
      }
    }
    scheduler_utils::cacheAndForkOutputs(fusion_, params_.streaming);
    if (params_.streaming) {
      for (Val* output : fusion_->outputs()) {
        scheduler_utils::streamCopy(output->as<TensorView>());
      }
    }
    computeStatisticsApart(fusion_);
    for (size_t i = 0; i < fusion_->outputs().size() && i < params_.outputs.size(); ++i) {
      auto* out = fusion_->outputs()[i]->as<TensorView>();
      if (params_.outputs[i] < 2 || out->isFusionInput()) {
        continue;
      }
      // The last block of a grid reduction writes its result, without the others waiting for it.
      const bool reduced = isReduction(out->definition());
      if (reduced && params_.grid > 1) {
        continue;
      }
      const bool done = std::any_of(vectors_.begin(), vectors_.end(),
                                    [&](const auto& known) { return known.first == out; });
      if (!done) {
        out->cacheBefore();
        vectors_.emplace_back(out, params_.outputs[i]);
      }
    }
  }

  static bool isOfRows(const Val* input, const ReductionSignature& signature,
                       const IdGraph& permissive) {
    const auto* tv = input->as<TensorView>();
    return signature.spansReduced(tv, permissive) && signature.spansRows(tv, permissive);
  }

  /// What is read once is the first to leave the caches: others keep what the next kernel wants of
  /// them. (Not columns in narrow accesses: neighbours share lines.)
  void streamSingleReads(const ReductionSignature& signature, const IdGraph& permissive,
                         const std::map<const Val*, int64_t>& width_of) {
    std::map<const Val*, std::vector<TensorView*>> reads;
    for (TensorView* copy : loads_) {
      reads[copy->definition()->input(0)].push_back(copy);
    }
    for (const auto& [input, copies] : reads) {
      const int64_t bytes = width_of.at(input) * dataTypeSizeByte(input->dtype());
      if (copies.size() == 1 && (params_.fastest_dim || bytes >= kWholeAccess) &&
          isOfRows(input, signature, permissive)) {
        scheduler_utils::streamCopy(copies.front());
      }
    }
  }

  /// Rows of inputs in shared memory, of which each pass reads what it needs to registers.
  void holdRows(const ReductionSignature& signature, const IdGraph& permissive,
                const std::map<const Val*, int64_t>& width_of) {
    std::map<const Val*, std::vector<Expr*>> reads;
    for (TensorView* copy : loads_) {
      if (const Val* input = copy->definition()->input(0); isOfRows(input, signature, permissive)) {
        reads[input].push_back(copy->definition());
      }
    }
    for (Val* input : fusion_->inputs()) {
      if (const auto passes = reads.find(input); passes != reads.end()) {
        TensorView* row = input->as<TensorView>()->cacheAfter(
            LoadStoreOpType::Set, CacheOp::Unspecified, false, passes->second);
        row->setMemoryType(MemoryType::Shared);
        vectors_.emplace_back(row, width_of.at(input));
      }
    }
  }

  /// What several tensors read of a whole input is read once, in loops that they share: without
  /// it, each would have loops of its own through the same memory.
  void copyForOneNest() {
    const IdGraph permissive(*fusion_, IdGraph::Mode::Permissive);
    const auto signature = std::get<ReductionSignature>(reductionSignature(*fusion_, permissive));
    for (Val* input : fusion_->inputs()) {
      auto* tv = input->isA<TensorView>() ? input->as<TensorView>() : nullptr;
      if (tv == nullptr || tv->isCpuScalar() || !isOfRows(tv, signature, permissive)) {
        continue;
      }
      std::vector<Expr*> uses = fusion_->usesOf(tv);
      std::erase_if(uses,
                    [&](const Expr* use) { return scheduler_tools::readsElsewhere(use, tv); });
      if (uses.size() > 1) {
        tv->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, false, uses);
      }
    }
  }

  /// The V reductions of neighbouring columns cross the block together.
  void groupVectors() {
    if (params_.fastest_dim || params_.vectorization == 1) {
      return;
    }
    for (TensorView* tv : scheduler_utils::getReductionTvs(fusion_)) {
      const auto& axes = tv->getLoopDomain();
      const bool among_threads = std::any_of(axes.begin(), axes.end(), [](const IterDomain* id) {
        return id->isReduction() && id->isThread();
      });
      if (tv->definition()->isOneOf<ReductionOp, WelfordOp, OnlineSoftmaxOp>() && among_threads) {
        tv->axis(-1)->parallelize(ParallelType::Group);
      }
    }
  }

  /// What may have no loops of its own is read element by element, in those of its reader.
  void dropOwnLoops() {
    std::vector<TensorView*> nest = fusion_->allTvs();
    std::erase_if(nest, [](const TensorView* tv) { return tv->isFusionInput(); });
    const OwnLoops own(*fusion_, reference_, nest);
    std::erase_if(vectors_,
                  [&](const auto& vector) { return !own.mayHaveInnermost(vector.first); });
    std::erase_if(loads_, [&](const TensorView* tv) { return !own.mayHave(tv, unroll_at_); });
  }

  Fusion* fusion_;
  const ReductionParams& params_;
  TensorView* reference_ = nullptr;
  std::vector<TensorView*> loads_;
  TurnedRows turned_;
  std::vector<TensorView*> held_;  ///< in memory, for later passes over the row
  std::vector<std::pair<TensorView*, int64_t>> vectors_;
  /// Position behind the serial loop of the reduction.
  int64_t unroll_at_ = 0;
};

}  // namespace

TensorView* referenceOf(const Fusion& fusion, int64_t name) {
  for (TensorView* tv : fusion.allTvs()) {
    if (tv->name() != name) {
      continue;
    }
    while (!isReduction(tv->definition())) {
      tv = tv->definition()->input(0)->as<TensorView>();
    }
    return tv;
  }
  throw InternalError("the reference of a plan is a tensor of the fusion");
}

std::optional<Refusal> trySchedule(Fusion* copy, const ReductionParams& params) {
  FusionGuard guard(copy);
  return Scheduler(copy, params).run();
}

void schedule(Fusion* fusion, const ReductionParams& params) {
  if (const auto refusal = trySchedule(fusion, params)) {
    userError("reduction: ", refusal->why);
  }
}

}  // namespace nvfuser::reduction
