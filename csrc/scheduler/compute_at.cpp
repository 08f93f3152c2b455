#include <scheduler/compute_at.h>

#include <ir/axis_map.h>
#include <ir/fusion.h>
#include <scheduler/schedule_error.h>
#include <scheduler/tools/inlining.h>
#include <scheduler/tools/maxinfo_propagator.h>
#include <scheduler/transform_replay.h>

namespace nvfuser {

std::unordered_set<TensorView*> tensorsBetween(TensorView* from, TensorView* to) {
  // In topological order: what depends on `from`, then of that what leads to `to`.
  std::vector<Expr*> exprs = from->fusion()->exprs();
  std::unordered_set<const Val*> below{from};
  for (const Expr* expr : exprs) {
    for (const Val* in : expr->inputs()) {
      if (below.count(in) != 0) {
        below.insert(expr->outputs().begin(), expr->outputs().end());
      }
    }
  }
  std::unordered_set<TensorView*> between;
  if (below.count(to) == 0) {
    return between;
  }
  between.insert(to);
  for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
    bool leads_on = false;
    for (TensorView* out : tensorOutputs(*expr)) {
      leads_on |= between.count(out) != 0;
    }
    if (!leads_on) {
      continue;
    }
    for (TensorView* in : tensorInputs(*expr)) {
      if (below.count(in) != 0) {
        between.insert(in);
      }
    }
  }
  return between;
}

void ComputeAt::runAt(TensorView* producer, TensorView* consumer, int64_t consumer_position,
                      ComputeAtMode mode) {
  if (consumer == nullptr || producer->fusion() != consumer->fusion()) {
    scheduleError("computeAt", producer,
                  text("the consumer of T", producer->name(), " is ",
                       consumer ? "of another Fusion" : "null"),
                  "name a tensor of the same Fusion");
  }
  consumer_position = requirePosition("computeAt", consumer, consumer_position);
  if (producer == consumer) {
    scheduleError("computeAt", producer,
                  text("T", producer->name(), " cannot be computed inside itself"),
                  "name a tensor that depends on it");
  }
  std::unordered_set<TensorView*> between = tensorsBetween(producer, consumer);
  if (between.empty()) {
    scheduleError("computeAt", producer,
                  text("T", consumer->name(), " does not depend on T", producer->name()),
                  text("name a consumer of T", producer->name(),
                       ", and see that it leads to an output of the Fusion"));
  }
  for (TensorView* tv : std::vector<TensorView*>(between.begin(), between.end())) {
    for (TensorView* sibling : siblingsOf(tv)) {
      between.insert(sibling);
    }
  }

  SetSelector selector(between);
  MaxLogicalDomainInfoSpanningTree tree(consumer, consumer_position, &selector);
  if (mode == ComputeAtMode::MostInlined) {
    MostInlinedTransformPropagator propagator;
    tree.traverse(&propagator);
  } else {
    TransformPropagator propagator(consumer, consumer_position);
    tree.traverse(&propagator);
  }

  between.erase(consumer);
  for (TensorView* sibling : siblingsOf(consumer)) {
    between.erase(sibling);
  }
  if (mode == ComputeAtMode::MostInlined) {
    inlineMost(between);
    return;
  }
  std::vector<TensorView*> ordered;
  for (TensorView* tv : consumer->fusion()->allTvs()) {
    if (between.count(tv) != 0) {
      ordered.push_back(tv);
    }
  }
  inlineTensorsAt("computeAt", ordered, consumer, consumer_position,
                  mode == ComputeAtMode::BestEffort, {});
}

TensorView* TensorView::computeAt(TensorView* consumer, int64_t position, ComputeAtMode mode) {
  ComputeAt::runAt(this, consumer, position, mode);
  return this;
}

}  // namespace nvfuser
