#include <scheduler/propagate_schedule.h>

#include <ir/axis_map.h>
#include <ir/internal_nodes.h>
#include <scheduler/compute_at.h>
#include <scheduler/parallelize_like.h>
#include <scheduler/schedule_error.h>
#include <scheduler/tools/maxinfo_propagator.h>
#include <scheduler/transform_replay.h>

namespace nvfuser::scheduler_utils {

void transformPropagateToAllFrom(TensorView* from_tv, int64_t pos) {
  TransformPropagator propagator(from_tv, pos);
  MaxLogicalDomainInfoSpanningTree(from_tv).traverse(&propagator);
}

namespace {

void propagateTo(TensorView* from, int64_t pos, std::unordered_set<TensorView*> selected,
                 const BoundedDirectionalTransformPropagator::Options& options) {
  selected.erase(from);
  SetSelector selector(selected);
  TransformPropagator propagator(from, pos);
  MaxLogicalDomainInfoSpanningTree(from, &selector).traverse(&propagator);
  if (options.propagate_parallel_type && !selected.empty()) {
    std::vector<TensorView*> visited;
    for (TensorView* tv : from->fusion()->allTvs()) {
      if (selected.count(tv) != 0) {
        visited.push_back(tv);
      }
    }
    parallelizeAllLike(from, options.parallel_propagation_pos, visited);
  }
}

void addBetween(TensorView* above, TensorView* below, const TensorView* boundary,
                const BoundedDirectionalTransformPropagator::Options& options,
                std::unordered_set<TensorView*>& selected) {
  std::unordered_set<TensorView*> between = tensorsBetween(above, below);
  if (between.empty()) {
    scheduleError("BoundedDirectionalTransformPropagator", below,
                  text("T", below->name(), " does not depend on T", above->name()),
                  "name boundary tensors on the side that the transforms go to");
  }
  for (TensorView* tv : between) {
    if (tv != boundary || options.transform_boundary) {
      selected.insert(tv);
    }
  }
}

}  // namespace

void BoundedDirectionalTransformPropagator::backward(TensorView* from, int64_t pos,
                                                     const std::vector<TensorView*>& to,
                                                     const Options& options) {
  bothWays(from, pos, to, {}, options);
}

void BoundedDirectionalTransformPropagator::forward(TensorView* from, int64_t pos,
                                                    const std::vector<TensorView*>& to,
                                                    const Options& options) {
  bothWays(from, pos, {}, to, options);
}

void BoundedDirectionalTransformPropagator::bothWays(TensorView* from, int64_t pos,
                                                     const std::vector<TensorView*>& backward_to,
                                                     const std::vector<TensorView*>& forward_to,
                                                     const Options& options) {
  std::unordered_set<TensorView*> selected;
  for (TensorView* tv : backward_to) {
    addBetween(tv, from, tv, options, selected);
  }
  for (TensorView* tv : forward_to) {
    addBetween(from, tv, tv, options, selected);
  }
  propagateTo(from, pos, std::move(selected), options);
}

std::vector<TensorView*> getReductionTvs(Fusion* fusion) {
  std::vector<TensorView*> result;
  for (Expr* expr : fusion->exprs()) {
    if (!isReduction(expr)) {
      continue;
    }
    result.push_back(tensorOutputs(expr).front());
  }
  return result;
}

std::vector<TensorView*> getViewTVs(Fusion* fusion) {
  std::vector<TensorView*> result;
  for (Expr* expr : fusion->exprs()) {
    if (expr->isA<ReshapeOp>()) {
      result.push_back(expr->output(0)->as<TensorView>());
    }
  }
  return result;
}

}  // namespace nvfuser::scheduler_utils
