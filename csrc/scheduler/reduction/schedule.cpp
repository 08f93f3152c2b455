#include <scheduler/reduction/schedule.h>

#include <algorithm>
#include <map>

#include <ir/axis_map.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/analysis/row_values.h>
#include <scheduler/reduction/row_passes.h>
#include <scheduler/reduction/row_statistics.h>
#include <scheduler/utils.h>

namespace nvfuser::reduction {

namespace {

/// Partial results that the CPU's last step of a reduction combines one by one.
constexpr int64_t kLanes = 16;

struct Loop {
  int64_t size = 0;  ///< axes that are merged to it
  bool exists() const { return size > 0; }
};

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const ReductionParams& params) : fusion_(fusion), params_(params) {}

  void run() {
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
    copyAtBorders();
    reference_ = findReference();
    const std::vector<ParallelType> types = params_.fastest_dim ? innerLoops() : outerLoops();
    check(static_cast<int64_t>(types.size()) == reference_->nDims(),
          "a reduction's loops are those that were planned");
    TransformPropagator propagator(reference_);
    MaxLogicalDomainInfoSpanningTree(reference_).traverse(&propagator);
    for (size_t i = 0; i < types.size(); ++i) {
      IterDomain* id = reference_->axis(static_cast<int64_t>(i));
      id->parallelize(types[i]);
      if (types[i] == ParallelType::TIDx && params_.pad_to_warp) {
        id->padToMultipleOfWarp();
      }
      if (types[i] == ParallelType::BIDy && params_.cluster > 1) {
        id->setClusteredBlocks();
      }
    }
    scheduler_utils::parallelizeAllLike(reference_);
    const auto rows =
        std::find_if(reference_->getLoopDomain().begin(), reference_->getLoopDomain().end(),
                     [](const IterDomain* id) { return id->isReduction(); });
    std::unordered_map<const TensorView*, int64_t> held;
    for (const TensorView* tv : held_) {
      held[tv] = rows - reference_->getLoopDomain().begin();
    }
    if (params_.host && params_.fastest_dim) {
      holdRowValues(fusion_->allTvs(), rows - reference_->getLoopDomain().begin(), held);
    }
    if (params_.host) {
      keepChunks(keepLanes());
    } else {
      keepChunks(scheduler_utils::getReductionTvs(fusion_));
      dropOwnLoops();
      groupVectors();
      for (auto [tv, width] : vectors_) {
        vectorizeInnermost(tv, width, params_.vectorization);
      }
    }
    if (params_.most_threads > 0) {
      fusion_->manage("most_threads", params_.most_threads);
    }
    if (params_.resident_blocks > 0) {
      fusion_->manage("least_blocks", params_.resident_blocks);
    }
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

 private:
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
          again[tv] =
              signature.spansReduced(tv, permissive) &&
              (params_.persistence == Persistence::None || !signature.spansRows(tv, permissive));
        }
      }
      loads_ = scheduler_utils::cacheInputs(fusion_, true,
                                            [&](const TensorView* tv, const Expr* use) -> int64_t {
                                              return again.at(tv) ? place.at(use->name()) : 0;
                                            });
      for (TensorView* copy : loads_) {
        vectors_.emplace_back(copy, width_of[copy->definition()->input(0)]);
      }
    }
    scheduler_utils::cacheAndForkOutputs(fusion_, params_.streaming);
    if (params_.streaming) {
      for (Val* output : fusion_->outputs()) {
        scheduler_utils::storeStreaming(output->as<TensorView>());
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

  TensorView* findReference() const {
    for (TensorView* tv : fusion_->allTvs()) {
      if (tv->name() != params_.reference) {
        continue;
      }
      // An output's reduction may have moved to a copy before it.
      while (!isReduction(tv->definition())) {
        tv = tv->definition()->input(0)->as<TensorView>();
      }
      return tv;
    }
    throw InternalError("the reference of a plan is a tensor of the fusion");
  }

  // Loops of extent 1 bound to Unswitch stand where a step is done without conditions if all of it
  // exists.

  /// Merges the reference's axes to [outer kept, inner kept, outer reduced, inner reduced], as far
  /// as there are such.
  void mergeAxes(bool merge_reduced, Loop loops[4]) {
    std::vector<int64_t> groups[4];
    for (int64_t axis : params_.order) {
      const bool reduced = reference_->axis(axis)->isReduction();
      groups[reduced ? 2 : 0].push_back(axis);
    }
    std::vector<int64_t>& outer = groups[params_.fastest_dim ? 2 : 0];
    std::vector<int64_t>& inner = groups[params_.fastest_dim ? 3 : 1];
    const auto inner_size = static_cast<size_t>(params_.inner_axes);
    const size_t stay = params_.fastest_dim && merge_reduced
                            ? 0
                            : outer.size() - std::min(outer.size(), inner_size);
    inner.assign(outer.begin() + static_cast<std::ptrdiff_t>(stay), outer.end());
    outer.resize(stay);
    std::unordered_map<int64_t, int64_t> old2new;
    int64_t next = 0;
    for (size_t g = 0; g < 4; ++g) {
      loops[g].size = static_cast<int64_t>(groups[g].size());
      for (int64_t axis : groups[g]) {
        old2new[axis] = next++;
      }
    }
    reference_->reorder(old2new);
    int64_t begin = next;
    for (size_t g = 4; g-- > 0;) {
      begin -= loops[g].size;
      for (int64_t i = 1; i < loops[g].size; ++i) {
        reference_->merge(begin);
      }
    }
  }

  std::vector<ParallelType> innerLoops() {
    Loop loops[4];
    mergeAxes(params_.batches > 0, loops);
    std::vector<ParallelType> types;
    int64_t at = 0;
    const bool kept = loops[0].exists();
    if (kept && params_.host && params_.grid == 1) {
      reference_->split(at, params_.tasks, false);
      types = {ParallelType::BIDx, ParallelType::Serial};
    } else if (kept && params_.rows > 1) {
      reference_->split(at, params_.rows);
      types = {ParallelType::BIDx, ParallelType::TIDy};
    } else if (kept) {
      types = {ParallelType::BIDx};
    }
    at = static_cast<int64_t>(types.size());
    const ParallelType grid = kept ? ParallelType::BIDy : ParallelType::BIDx;
    const bool unrolls_runs = params_.unroll_runs > 1 && params_.batches == 0;
    if (loops[2].exists()) {
      if (params_.grid > 1) {
        reference_->split(at++, params_.grid, false);
        types.push_back(grid);
      }
      types.push_back(ParallelType::Serial);
      ++at;
      if (unrolls_runs) {
        reference_->split(at - 1, params_.unroll_runs);
        reference_->reorder({{at, at + 1}});  // [runs, run, U]
      }
      if (params_.chunk_runs > 0) {
        reference_->split(at - 1, params_.chunk_runs);
        types.push_back(ParallelType::Serial);
        ++at;
      }
    }
    reference_->split(at, params_.vectorization);
    if (params_.host) {
      if (params_.grid > 1 && !loops[2].exists()) {
        reference_->split(at++, params_.grid, false);
        types.push_back(grid);
      }
      if (params_.chunk > 0) {
        reference_->split(at++, params_.chunk);
        types.push_back(ParallelType::Serial);
      }
      // Whole vectors need no conditions.
      reference_->split(at + 1, 1, false);
      types.insert(types.end(),
                   {ParallelType::Serial, ParallelType::Unswitch, ParallelType::Serial});
      return types;
    }
    if (params_.batches > 0) {
      if (params_.cluster > 1) {
        reference_->split(at++, params_.cluster, false);
        types.push_back(ParallelType::BIDy);
      }
      reference_->split(at, params_.batches, false);
      reference_->split(at, 1, false);
      types.insert(types.end(), {ParallelType::Unswitch, ParallelType::Unroll, ParallelType::TIDx,
                                 ParallelType::Serial});
      return types;
    }
    reference_->split(at, params_.threads_x);
    reference_->split(at, params_.unroll);
    if (params_.grid > 1 && !loops[2].exists()) {
      reference_->split(at++, params_.grid, false);
      types.push_back(grid);
    }
    if (params_.chunk > 0) {
      reference_->split(at++, params_.chunk);
      types.push_back(ParallelType::Serial);
    }
    if (unrolls_runs) {
      reference_->reorder({{at + 4, at + 1}});
    }
    reference_->split(at + 1, 1, false);
    types.insert(types.end(), {ParallelType::Serial, ParallelType::Unswitch, ParallelType::Unroll});
    if (unrolls_runs) {
      types.push_back(ParallelType::Unroll);
    }
    types.insert(types.end(), {ParallelType::TIDx, ParallelType::Serial});
    unroll_at_ = at + 2;
    return types;
  }

  std::vector<ParallelType> outerLoops() {
    Loop loops[4];
    mergeAxes(true, loops);
    const bool outer = loops[0].exists();
    int64_t columns = outer ? 1 : 0;
    if (params_.host) {
      return hostOuterLoops(columns);
    }
    reference_->split(columns, params_.vectorization);
    reference_->split(columns, params_.threads_x);
    if (outer) {
      reference_->merge(0);
    }
    // [columns, T, V, reduced]
    int64_t at = 3;
    std::vector<ParallelType> types{ParallelType::BIDx};
    if (params_.batches > 0) {
      reference_->split(at, params_.batches, false);
      reference_->split(at, 1, false);
      types.insert(types.end(), {ParallelType::Unswitch, ParallelType::Unroll});
      at += 3;
    } else {
      reference_->split(at, params_.threads_y);
      reference_->split(at, params_.unroll);
      if (params_.grid > 1) {
        reference_->split(at++, params_.grid, false);
        types.push_back(ParallelType::BIDy);
      }
      if (params_.chunk > 0) {
        reference_->split(at++, params_.chunk);
        types.push_back(ParallelType::Serial);
      }
      reference_->split(at + 1, 1, false);
      types.insert(types.end(),
                   {ParallelType::Serial, ParallelType::Unswitch, ParallelType::Unroll});
      at += 4;
      unroll_at_ = at - 4;
    }
    types.insert(types.end(), {ParallelType::TIDy, ParallelType::TIDx, ParallelType::Serial});
    // T and V behind the reduced loops.
    reference_->reorder({{1, at - 2}, {2, at - 1}});
    return types;
  }

  /// [tasks, columns, rows, V columns of a strip]: a strip's sums stay in the first-level cache. Of
  /// several rows at once, [tasks, columns, rows, registers of the strip, U rows, a register]: what
  /// is added to a register of sums comes from U rows before it goes back.
  std::vector<ParallelType> hostOuterLoops(int64_t columns) {
    reference_->split(columns, params_.vectorization);
    if (columns > 0) {
      reference_->merge(0);
    }
    reference_->split(0, params_.tasks, false);
    reference_->split(2, 1, false);
    // [tasks, columns, 1, strip, reduced]; whole strips need no conditions.
    reference_->reorder({{3, 4}, {4, 3}});
    std::vector<ParallelType> types{ParallelType::BIDx, ParallelType::Serial,
                                    ParallelType::Unswitch, ParallelType::Serial,
                                    ParallelType::Serial};
    if (params_.unroll > 1) {
      reference_->split(4, std::min(params_.vectorization, kLanes));
      reference_->split(3, params_.unroll);
      reference_->reorder({{4, 5}, {5, 4}});
      types.insert(types.begin() + 4, {ParallelType::Serial, ParallelType::Unroll});
    }
    if (params_.chunk > 0) {
      // [tasks, columns, chunks, 1, rows, strip]: so do whole chunks.
      reference_->split(3, params_.chunk);
      reference_->reorder({{2, 3}, {3, 2}});
      types.insert(types.begin() + 2, ParallelType::Serial);
    }
    return types;
  }

  static std::vector<int64_t> reductionLoops(const TensorView* tv) {
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < tv->nDims(); ++i) {
      if (tv->axis(i)->isReduction()) {
        positions.push_back(i);
      }
    }
    return positions;
  }

  /// A row, or a task's share of it, is reduced into V partial results, which are reduced at its
  /// end. The reductions over steps, of lanes or whole.
  std::vector<TensorView*> keepLanes() {
    std::vector<TensorView*> of_steps = scheduler_utils::getReductionTvs(fusion_);
    if (params_.grid > 1) {
      for (TensorView*& of_row : of_steps) {
        std::vector<int64_t> own = reductionLoops(of_row);
        std::erase_if(own, [&](int64_t axis) { return of_row->axis(axis)->isBlockDim(); });
        of_row = of_row->rFactor(own, tensorOutputs(of_row->definition())).front();
      }
    }
    if (!params_.fastest_dim || params_.vectorization == 1) {
      return of_steps;
    }
    for (TensorView*& of_row : of_steps) {
      TensorView* tv = of_row;
      std::vector<int64_t> axes = reductionLoops(tv);
      axes.pop_back();
      of_row = tv->rFactor(axes, tensorOutputs(tv->definition())).front();
      if (params_.vectorization > kLanes) {
        // [rows…, V]: whole registers are combined first.
        const int64_t lanes = reductionLoops(tv).back();
        tv->split(lanes, kLanes);
        tv->rFactor({lanes}, tensorOutputs(tv->definition()));
      }
    }
    return of_steps;
  }

  /// Chunks of steps are reduced apart: sums of many elements one by one lose digits.
  void keepChunks(const std::vector<TensorView*>& of_steps) {
    if (params_.chunk == 0 && params_.chunk_runs == 0) {
      return;
    }
    for (TensorView* tv : of_steps) {
      // Loops of one task or thread: [chunks, steps, …] of columns, [(runs,) chunks, steps, …] of
      // rows or [chunks, runs, steps, …].
      std::vector<int64_t> axes = reductionLoops(tv);
      std::erase_if(axes, [&](int64_t axis) { return tv->axis(axis)->isThread(); });
      const bool in_runs = params_.schedule_3d && params_.fastest_dim && params_.chunk > 0;
      const std::ptrdiff_t outer = in_runs ? 2 : 1;
      tv->rFactor({axes.begin() + outer, axes.end()}, tensorOutputs(tv->definition()));
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
      if (tv->definition()->isA<ReductionOp>() && among_threads) {
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
  std::vector<TensorView*> held_;  ///< in memory, for later passes over the row
  std::vector<std::pair<TensorView*, int64_t>> vectors_;
  /// Position behind the serial loop of the reduction.
  int64_t unroll_at_ = 0;
};

}  // namespace

void schedule(Fusion* fusion, const ReductionParams& params) {
  FusionGuard guard(fusion);
  Scheduler(fusion, params).run();
}

}  // namespace nvfuser::reduction
