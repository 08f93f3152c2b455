/// Loops of a GPU's kernel: those of scatter.h over blocks and threads, with vectors.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/cache_borders.h>
#include <scheduler/scatter/nests.h>
#include <scheduler/scatter/schedule.h>
#include <scheduler/utils.h>

namespace nvfuser::scatters {

namespace {

using Tensors = std::unordered_set<TensorView*>;

/// The addition of an input to sums that start with zeros, if no other operation reads the sums:
/// these can start with the input. Null for none.
BinaryOp* additionBehind(const ScatterOp* op, const Fusion& fusion) {
  auto* result = op->output(0)->as<TensorView>();
  const Expr* start = op->input(0)->definition();
  const std::vector<Expr*> readers = fusion.usesOf(result);
  if (op->accumulateOp() != BinaryOpType::Add || start == nullptr || !start->isA<FullOp>() ||
      !start->input(0)->isZero() || result->isFusionOutput() || readers.size() != 1 ||
      !readers[0]->isA<BinaryOp>()) {
    return nullptr;
  }
  auto* addition = readers[0]->as<BinaryOp>();
  const Val* other = addition->lhs() == result ? addition->rhs() : addition->lhs();
  const bool may = addition->getBinaryOpType() == BinaryOpType::Add && other->isA<TensorView>() &&
                   other->isFusionInput() && other->dtype() == result->dtype() &&
                   addition->output(0)->dtype() == result->dtype();
  if (!may) {
    return nullptr;
  }
  const auto axesOf = [](const Val* val) {
    return TensorDomain::noReductions(val->as<TensorView>()->getLogicalDomain());
  };
  const std::vector<IterDomain*> of_other = axesOf(other);
  const std::vector<IterDomain*> of_result = axesOf(result);
  const bool same =
      std::equal(of_other.begin(), of_other.end(), of_result.begin(), of_result.end(),
                 [](const IterDomain* a, const IterDomain* b) {
                   return a->isBroadcast() == b->isBroadcast() && !a->hasExpandedExtent();
                 });
  return same ? addition : nullptr;
}

/// Whether it reads rows of an input, each at one index: columns are the axes behind `dim`.
bool readsRows(const Expr* expr, int64_t dim) {
  if (!expr->isOneOf<IndexSelectOp, GatherOp>() || !expr->input(0)->isFusionInput() ||
      expr->output(0)->as<TensorView>()->hasRoot() || indexedAxis(expr) > dim) {
    return false;
  }
  if (expr->isA<IndexSelectOp>()) {
    return true;
  }
  const std::vector<IterDomain*> axes =
      TensorDomain::noReductions(expr->input(1)->as<TensorView>()->getLogicalDomain());
  return expr->as<GatherOp>()->exactSizes() &&
         std::all_of(axes.begin() + dim + 1, axes.end(),
                     [](const IterDomain* id) { return id->isBroadcast(); });
}

/// T3 = scatter(0, …, add), T4 = T3 + T0   →   T4 = scatter(T0, …, add)
void startWithAddend(Fusion* fusion) {
  for (Expr* expr : fusion->exprs()) {
    BinaryOp* addition =
        expr->isA<ScatterOp>() ? additionBehind(expr->as<ScatterOp>(), *fusion) : nullptr;
    if (addition == nullptr) {
      continue;
    }
    auto* op = expr->as<ScatterOp>();
    Val* start = addition->lhs() == op->output(0) ? addition->rhs() : addition->lhs();
    Val* sum = addition->output(0);
    Val* index = op->input(1);
    Val* source = op->input(2);
    const int64_t dim = op->dim();
    fusion->removeExpr(addition);
    fusion->removeExpr(op);
    IrBuilder::createInContainer<ScatterOp>(fusion, sum, start, dim, index, source,
                                            BinaryOpType::Add);
    return;
  }
}

class Threads {
 public:
  Threads(Fusion* fusion, const ScatterParams& params) : fusion_(fusion), params_(params) {}

  void run() {
    scheduler_utils::clearMemorySpace(fusion_);
    startWithAddend(fusion_);
    nests_ = separate(fusion_);
    copyAtBorders();
    for (TensorView* reference : nests_.references()) {
      makeLoops(reference);
      const Tensors own = nestOf(reference, nests_);
      TransformPropagator propagator(reference);
      SetSelector selector(own);
      MaxLogicalDomainInfoSpanningTree(reference, &selector).traverse(&propagator);
      bindLoops(reference);
      scheduler_utils::parallelizeAllLike(reference, -1, {own.begin(), own.end()});
      vectorize(reference, own);
    }
    if (params_.adds_vectors) {
      nests_.write->axis(-1)->parallelize(ParallelType::Vectorize);
    }
    fusion_->kernelHints().adds_by_blocks = params_.sums_by;
    fusion_->kernelHints().least_blocks =
        params_.blocks * params_.blocks_y > 1 ? params_.resident_blocks : 0;
    MaxPosCalculator most(*fusion_, {{nests_.target, 0}, {nests_.write, 0}, {nests_.result, 0}});
    const std::vector<TensorView*> of_entries = inOrder(*fusion_, nestOf(nests_.write, nests_));
    const OwnLoops loops(*fusion_, nests_.write, of_entries);
    std::unordered_map<const TensorView*, int64_t> ahead;
    for (const TensorView* tv : of_entries) {
      if (const int64_t turn = behindThreads(tv); readsMemory(tv) && loops.mayHave(tv, turn)) {
        ahead[tv] = turn;
      }
    }
    for (TensorView* tv : fusion_->allTvs()) {
      const auto found = ahead.find(tv);
      tv->inlineAt(found != ahead.end() ? found->second : -1, true, &most);
    }
  }

 private:
  /// Each nest has copies of the inputs that it reads; each output but the result itself has one in
  /// front of it.
  void copyAtBorders() {
    std::map<const Val*, int64_t> width_of;
    std::map<const Val*, int64_t> of_rows;
    for (size_t i = 0; i < fusion_->inputs().size(); ++i) {
      width_of[fusion_->inputs()[i]] = params_.inputs.empty() ? 0 : params_.inputs[i];
      of_rows[fusion_->inputs()[i]] = params_.reads.empty() ? 0 : params_.reads[i];
    }
    std::unordered_map<const TensorView*, int64_t> nest_of;
    int64_t number = 0;
    for (TensorView* reference : nests_.references()) {
      for (const TensorView* tv : nestOf(reference, nests_)) {
        nest_of[tv] = number;
      }
      ++number;
    }
    const auto byNest = [&](const TensorView*, const Expr* use) {
      return nest_of[use->output(0)->as<TensorView>()];
    };
    for (TensorView* copy : scheduler_utils::cacheInputs(fusion_, true, byNest)) {
      widths_[copy] = width_of[copy->definition()->input(0)];
    }
    for (const Expr* expr : fusion_->exprs()) {
      if (readsRows(expr, nests_.dim)) {
        widths_[expr->output(0)->as<TensorView>()] = of_rows[expr->input(0)];
      }
    }
    const std::vector<Val*> outputs = fusion_->outputs();  // forking changes the list
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto* output = outputs[i]->as<TensorView>();
      const int64_t width = params_.outputs.empty() ? 0 : params_.outputs[i];
      if (output == nests_.result || output->isFusionInput() || widths_.count(output) != 0) {
        continue;
      }
      if (!fusion_->usesOf(output).empty()) {
        output = output->cacheFork();
      }
      output->cacheBefore();
      widths_[output] = width;
    }
    widths_[nests_.target] = params_.of_target;
  }

  /// Whether it is a copy of an input, or what is read of one at an index.
  bool readsMemory(const TensorView* tv) const {
    return widths_.count(tv) != 0 || tv->definition()->isOneOf<IndexSelectOp, GatherOp>();
  }

  /// The position of U, or of V.
  static int64_t behindThreads(const TensorView* tv) {
    const auto& loops = tv->getLoopDomain();
    const auto last = std::find_if(loops.rbegin(), loops.rend(),
                                   [](const IterDomain* id) { return id->isThread(); });
    return loops.rend() - last;
  }

  /// Of [A…, D, B…] to those of scatter.h. Rows and columns stay apart, so that what is computed of
  /// rows alone, as an index, has their loops.
  void makeLoops(TensorView* tv) const {
    mergeAround(tv, nests_.dim);
    if (nests_.dim > 0) {
      tv->merge(0);  // [A·D, B?]
    }
    tv->split(-1, params_.vectorization);
    tv->split(-2, params_.threads_x);
    if (!params_.rows) {
      tv->split(0, params_.blocks);
      return;
    }
    if (params_.blocks_y > 1) {
      tv->split(1, params_.blocks_y);
    }
    tv->split(0, params_.threads_y);
    tv->split(0, params_.blocks);
    if (tv == nests_.write && params_.unroll > 1) {
      tv->split(0, params_.unroll);
      tv->axis(1)->parallelize(ParallelType::Unroll);
      tv->reorder({{1, -2}});
    }
  }

  void bindLoops(TensorView* tv) const {
    int64_t position = 1;
    if (params_.blocks > 1) {
      tv->axis(position)->parallelize(ParallelType::BIDx);
    }
    ++position;
    if (params_.rows) {
      tv->axis(position)->parallelize(ParallelType::TIDy);
      position += 2;  // over turns along columns
      if (params_.blocks_y > 1) {
        tv->axis(position++)->parallelize(ParallelType::BIDy);
      }
    }
    tv->axis(position)->parallelize(ParallelType::TIDx);
  }

  void vectorize(TensorView* reference, const Tensors& own) {
    if (params_.vectorization == 1) {
      return;
    }
    const std::vector<TensorView*> ordered = inOrder(*fusion_, own);
    const OwnLoops loops(*fusion_, reference, ordered);
    for (TensorView* tv : ordered) {
      const auto width = widths_.find(tv);
      if (width != widths_.end() && loops.mayHaveInnermost(tv)) {
        vectorizeInnermost(tv, width->second, params_.vectorization);
      }
    }
  }

  Fusion* fusion_;
  const ScatterParams& params_;
  Nests nests_;
  std::unordered_map<const TensorView*, int64_t> widths_;  ///< of copies to and from memory
};

}  // namespace

void scheduleThreads(Fusion* fusion, const ScatterParams& params) { Threads(fusion, params).run(); }

}  // namespace nvfuser::scatters
