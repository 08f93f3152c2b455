#include <scheduler/persistent/inner_outer_schedule.h>

#include <algorithm>
#include <map>
#include <set>

#include <iteration_space/refused_loops.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/reduction/problem.h>
#include <scheduler/reduction/refuses_loops.h>
#include <scheduler/reduction/row_statistics.h>
#include <scheduler/reduction/schedule.h>
#include <scheduler/rfactor.h>
#include <scheduler/utils.h>

namespace nvfuser::inner_outer {

namespace {

constexpr int64_t kRowLoop = 3;   ///< loops outside of a row: blocks, threads of rows, rows
constexpr int64_t kRowsOnly = 2;  ///< of them, those outside of the loop over rows

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const InnerOuterParams& params) : fusion_(fusion), params_(params) {}

  std::optional<Refusal> run() {
    scheduler_utils::clearMemorySpace(fusion_);
    if (params_.project) {
      projectToInputs(fusion_, false);
    }
    copyAtBorders();
    findParts();
    scheduleRows();
    for (TensorView* sum : sums_) {
      if (auto refusal = refusesStages(sum)) {
        return refusal;
      }
      makeStages(sum);
    }
    for (TensorView* tv : tail_) {
      if (auto refusal = refusesColumns(tv)) {
        return refusal;
      }
      scheduleColumns(tv);
    }
    for (auto [tv, width] : vectors_) {
      vectorizeInnermost(tv, width, params_.vectorization);
    }
    fusion_->kernelHints().most_threads = kWarpSize * params_.warps * params_.rows;
    fusion_->kernelHints().least_blocks = params_.blocks;
    inlineMost();
    place();
    return check();
  }

 private:
  void copyAtBorders() {
    const IdGraph permissive(*fusion_, IdGraph::Mode::Permissive);
    const auto signature = std::get<ReductionSignature>(rowSignature(*fusion_, permissive));
    std::map<const Val*, int64_t> width_of;
    for (size_t i = 0; i < fusion_->inputs().size(); ++i) {
      width_of[fusion_->inputs()[i]] = params_.inputs.empty() ? 0 : params_.inputs[i];
    }
    auto hasKept = [&](const TensorView* tv) {
      const auto& logical = tv->getLogicalDomain();
      return std::any_of(logical.begin(), logical.end(), [&](const IterDomain* id) {
        return !id->isBroadcast() && !id->isReduction() &&
               signature.kept.count(permissive.classOf(id)) != 0;
      });
    };
    for (TensorView* copy : scheduler_utils::cacheInputs(fusion_, true)) {
      const auto* input = copy->definition()->input(0)->as<TensorView>();
      vectors_.emplace_back(copy, width_of[input]);
      if (signature.spansReduced(input, permissive) && !hasKept(input)) {
        weights_.push_back(copy);
      } else if (hasKept(input)) {
        rows_.push_back(copy);
      }
    }
    scheduler_utils::cacheAndForkOutputs(fusion_, false);
    computeStatisticsApart(fusion_);
    std::set<const Val*> done;
    for (size_t i = 0; i < fusion_->outputs().size() && i < params_.outputs.size(); ++i) {
      auto* out = fusion_->outputs()[i]->as<TensorView>();
      const bool has_rows = hasKept(out);
      if (params_.outputs[i] < 2 || out->isFusionInput() || !has_rows || !done.insert(out).second) {
        continue;
      }
      out->cacheBefore();
      vectors_.emplace_back(out, params_.outputs[i]);
    }
  }

  void findParts() {
    const IdGraph permissive(*fusion_, IdGraph::Mode::Permissive);
    const auto found = std::get<InnerOuterReductions>(innerOuterReductions(*fusion_, permissive));
    const PersistentBuffers buffers(*fusion_, permissive, found.inner);
    held_.insert(buffers.held().begin(), buffers.held().end());
    for (Expr* expr : found.outer) {
      sums_.push_back(expr->output(0)->as<TensorView>());
      tail_.push_back(sums_.back());
    }
    for (Expr* expr : found.tail) {
      tail_.push_back(expr->output(0)->as<TensorView>());
    }
    reference_ = reduction::referenceOf(*fusion_, params_.reference);
  }

  /// [blocks, threads of rows, rows, 1, batches, warps, lanes, V] for everything.
  void scheduleRows() {
    std::unordered_map<int64_t, int64_t> old2new;
    int64_t next = 0;
    int64_t kept = 0;
    for (bool reduced : {false, true}) {
      for (int64_t axis : params_.order) {
        if (reference_->axis(axis)->isReduction() == reduced) {
          old2new[axis] = next++;
          kept += reduced ? 0 : 1;
        }
      }
    }
    reference_->reorder(old2new);
    for (int64_t i = kept + 1; i < next; ++i) {
      reference_->merge(kept);
    }
    for (int64_t i = 1; i < kept; ++i) {
      reference_->merge(0);
    }
    reference_->split(0, params_.grid, false);
    reference_->split(1, params_.rows, false);
    reference_->split(kRowLoop, params_.vectorization);
    reference_->split(kRowLoop, params_.batches, false);
    reference_->split(kRowLoop + 1, kWarpSize);
    reference_->split(kRowLoop, 1, false);
    TransformPropagator propagator(reference_);
    MaxLogicalDomainInfoSpanningTree(reference_).traverse(&propagator);
    const ParallelType types[] = {
        ParallelType::BIDx,   ParallelType::TIDz, ParallelType::Serial, ParallelType::Unswitch,
        ParallelType::Unroll, ParallelType::TIDy, ParallelType::TIDx,   ParallelType::Serial};
    for (size_t i = 0; i < std::size(types); ++i) {
      reference_->axis(static_cast<int64_t>(i))->parallelize(types[i]);
    }
    scheduler_utils::parallelizeAllLike(reference_);
  }

  /// Why a sum of columns is none of the loops over rows; nothing if it is.
  std::optional<Refusal> refusesStages(const TensorView* sum) const {
    const int64_t innermost = params_.rows > 1 ? kRowsOnly - 1 : kRowsOnly;
    for (int64_t axis = kRowsOnly; axis >= innermost; --axis) {
      const auto problem = axis < sum->nDims()
                               ? refusesRFactor(sum, {axis})
                               : ScheduleProblem{text(sum, " has no such loop"), ""};
      if (problem) {
        return Refusal{problem->what};
      }
    }
    return std::nullopt;
  }

  /// A sum of columns: of a thread's rows in registers, of a block's threads, then of blocks.
  void makeStages(TensorView* sum) {
    TensorView* partial = sum->rFactor({kRowsOnly});
    partial_.insert(partial);
    if (params_.rows > 1) {
      partial = sum->rFactor({kRowsOnly - 1});
      partial_.insert(partial);
    }
    TensorView* stored = partial->cacheAfter();
    stored->setMemoryType(MemoryType::Global);
    if (params_.rows > 1) {
      partial->axis(-1)->parallelize(ParallelType::Group);  // one exchange for a vector of sums
    }
    stored_.insert(stored);
    vectors_.emplace_back(stored, std::min(params_.vectorization,
                                           kMaxVectorBytes / dataTypeSizeByte(stored->dtype())));
    TensorView* read = stored->cacheAfter();
    read_.push_back(read);
    tail_.push_back(read);
  }

  /// How many axes of blocks and threads of rows it has, in front.
  int64_t partialAxes(const TensorView* tv) const {
    const bool has_partials = contains(read_, tv) || contains(sums_, tv);
    return !has_partials ? 0 : params_.rows > 1 ? 1 : kRowsOnly;
  }

  /// Why what is computed of columns has no such loops: it has no columns, or they come before the
  /// sums of rows.
  std::optional<Refusal> refusesColumns(const TensorView* tv) const {
    const auto& axes = tv->getLogicalDomain();
    const auto partials = static_cast<size_t>(partialAxes(tv));
    for (size_t i = 0; i < std::max(axes.size(), partials + 1); ++i) {
      const bool is_partial = i < partials && contains(sums_, tv);
      if (i >= axes.size() || axes[i]->isReduction() != is_partial) {
        return Refusal{text("T", tv->name(), " has no columns behind the sums of its rows")};
      }
    }
    return std::nullopt;
  }

  /// [blocks, columns, (steps, U, threads of rows, warps,) lanes] anew.
  void scheduleColumns(TensorView* tv) const {
    tv->setLoopDomain(tv->getLogicalDomain());
    for (IterDomain* id : tv->getLoopDomain()) {
      id->parallelize(ParallelType::Serial);
    }
    const int64_t partials = partialAxes(tv);
    const bool has_partials = partials > 0;
    const int64_t spread = putSpreadLast(tv, partials);
    while (tv->nDims() > partials + 1 + spread) {
      tv->merge(partials);
    }
    tv->split(partials, kWarpSize);
    tv->split(partials, params_.grid, false);
    // [partials…, blocks, columns, lanes]
    if (has_partials) {
      for (int64_t i = 1; i < partials; ++i) {
        tv->merge(0);
      }
      tv->split(0, params_.warps);
      tv->split(0, params_.rows);
      tv->split(0, params_.unroll);
      // [steps, U, Z, warps, blocks, columns, lanes] → [blocks, columns, steps, U, Z, warps, lanes]
      tv->reorder({{4, 0}, {5, 1}});
      tv->axis(3)->parallelize(ParallelType::Unroll);
      tv->axis(4)->parallelize(ParallelType::TIDz);
      tv->axis(5)->parallelize(ParallelType::TIDy);
    }
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(-1 - spread)->parallelize(ParallelType::TIDx);
  }

  /// Axes of one element (a sum that keeps the axis) go behind the columns. How many there are.
  static int64_t putSpreadLast(TensorView* tv, int64_t first) {
    std::unordered_map<int64_t, int64_t> order;
    int64_t next = first;
    for (const bool is_spread : {false, true}) {
      for (int64_t i = first; i < tv->nDims(); ++i) {
        if (tv->axis(i)->isBroadcast() == is_spread) {
          order[i] = next++;
        }
      }
    }
    const int64_t columns =
        std::count_if(tv->getLoopDomain().begin() + first, tv->getLoopDomain().end(),
                      [](const IterDomain* id) { return !id->isBroadcast(); });
    if (columns == 0) {
      return 0;  // columns of one element are broadcast axes themselves
    }
    tv->reorder(order);
    return tv->nDims() - first - columns;
  }

  static bool contains(const std::vector<TensorView*>& tvs, const TensorView* tv) {
    return std::find(tvs.begin(), tvs.end(), tv) != tvs.end();
  }

  void place() {
    MaxPosCalculator calc(*fusion_);
    for (TensorView* copy : weights_) {
      if (copy->getComputeAtPosition() > kRowsOnly) {
        copy->inlineAt(kRowsOnly, true, &calc);  // read once for all rows of a block
      }
    }
    for (TensorView* copy : rows_) {
      if (params_.stages < 2 || copy->getComputeAtPosition() < kRowLoop) {
        continue;
      }
      copy->inlineAt(kRowLoop, true, &calc);
      copy->circularBuffer(params_.stages);
    }
    for (TensorView* copy : read_) {
      if (copy->getComputeAtPosition() > 3) {
        copy->inlineAt(3, true, &calc);
      }
    }
  }

  /// Of some elements, as a constant of another shape is, in loops that no threads share.
  static bool isOfOneThread(const TensorView* tv) {
    const auto& loops = tv->getLoopDomain();
    return std::any_of(loops.begin(), loops.end(), [](auto* id) { return !id->isBroadcast(); }) &&
           std::none_of(loops.begin(), loops.end(), [](auto* id) { return id->isThread(); });
  }

  std::optional<Refusal> check() const {
    const IdGraph permissive(*fusion_, IdGraph::Mode::Permissive);
    for (TensorView* tv : fusion_->allTvs()) {
      if (tv->isFusionOutput() && isOfOneThread(tv)) {
        return Refusal{
            text("T", tv->name(), " has no axis of the rows or columns that are reduced")};
      }
      if (tv->isFusionInput() || partial_.count(tv) != 0 || stored_.count(tv) != 0 ||
          isReduction(tv->definition())) {
        continue;
      }
      // (An output's, too: its innermost loop is the one of vectors.)
      if (const IterDomain* id =
              contains(tail_, tv) ? nullptr : reduction::loopOfOwn(tv, reference_, permissive)) {
        return Refusal{text("T", tv->name(), " has an axis, ", id, ", that no reduction has")};
      }
      if (tv->isFusionOutput() || held_.count(tv) != 0 || contains(weights_, tv)) {
        continue;
      }
      bool rest = false;
      for (int64_t i = tv->getComputeAtPosition(); i < tv->nDims(); ++i) {
        rest |= !tv->axis(i)->isBroadcast() && !tv->axis(i)->isThread();
      }
      const bool one_of_row = tv->getComputeAtPosition() >= kRowLoop;
      if (rest && !one_of_row) {
        return Refusal{text("T", tv->name(), " is not read at the element that is computed")};
      }
    }
    const IdGraph exact(*fusion_, IdGraph::Mode::Exact);
    if (auto why = refusedLoops(*fusion_, exact, LowerTarget::Cuda)) {
      return Refusal{std::move(*why)};
    }
    return std::nullopt;
  }

  Fusion* fusion_;
  const InnerOuterParams& params_;
  TensorView* reference_ = nullptr;
  std::vector<TensorView*> sums_;  ///< results of the outer reductions
  std::vector<TensorView*> tail_;  ///< them, what is computed from them, and what they read
  std::set<const TensorView*> held_;
  std::vector<TensorView*> weights_;     ///< copies of what all rows read
  std::vector<TensorView*> rows_;        ///< copies of the rows, and of what each has one of
  std::set<const TensorView*> partial_;  ///< sums of a block's rows
  std::set<const TensorView*> stored_;   ///< the same in global memory
  std::vector<TensorView*> read_;        ///< and read from there
  std::vector<std::pair<TensorView*, int64_t>> vectors_;
};

}  // namespace

std::optional<Refusal> schedule(Fusion* fusion, const InnerOuterParams& params) {
  FusionGuard guard(fusion);
  return Scheduler(fusion, params).run();
}

}  // namespace nvfuser::inner_outer
