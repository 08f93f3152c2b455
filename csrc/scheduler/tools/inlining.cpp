#include <scheduler/tools/inlining.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

// ---- positions of one tensor

void TensorView::updateMaxProducerPosition() {
  fields_.max_producer_pos = 0;
  for (TensorView* producer : producersOf(this)) {
    if (producer->isFusionInput()) {
      continue;
    }
    fields_.max_producer_pos = std::max(fields_.max_producer_pos, producer->getComputeAtPosition());
  }
}

void TensorView::inlineAt(int64_t pos, bool best_effort, MaxPosCalculator* calc) {
  if (isFusionInput()) {
    if (best_effort) {
      return;
    }
    scheduleError("inlineAt", this,
                  text("T", name(), " is an input of the Fusion and is not computed"),
                  "inline the copy that cacheAfter() makes");
  }
  pos = requirePosition("inlineAt", this, pos);
  std::unique_ptr<MaxPosCalculator> own;
  if (calc == nullptr) {
    own = std::make_unique<MaxPosCalculator>(*fusion());
    calc = own.get();
  }
  const int64_t limit = calc->getMaxPosAll(this);
  if (pos > limit && !best_effort) {
    scheduleError("inlineAt", this,
                  text("T", name(), " cannot be placed inside its consumers at position ", pos,
                       ", at most at ", limit, ": ", calc->whyNotFurther(this)),
                  text("use position ", limit,
                       ", ask for best_effort, or schedule it like its consumers first "
                       "(TransformPropagator); a reduction can be moved out with rFactor"));
  }
  pos = std::min(pos, limit);
  std::vector<TensorView*> placed = siblingsOf(this);
  placed.push_back(this);
  for (TensorView* tv : placed) {
    InlineState::setComputeAt(tv, pos);
    for (Expr* use : tv->uses()) {
      for (TensorView* consumer : tensorOutputs(use)) {
        consumer->updateMaxProducerPosition();
      }
    }
  }
}

// ---- positions of many tensors

namespace {

void inlineThese(const std::vector<TensorView*>& tvs, MaxPosCalculator& calc) {
  for (TensorView* tv : tvs) {
    tv->inlineAt(-1, true, &calc);
  }
}

}  // namespace

std::vector<TensorView*> inOrder(const Fusion& fusion, const std::unordered_set<TensorView*>& tvs) {
  std::vector<TensorView*> ordered;
  for (TensorView* tv : fusion.allTvs()) {
    if (tvs.count(tv) != 0) {
      ordered.push_back(tv);
    }
  }
  return ordered;
}

void inlineTensorsAt(std::string_view primitive, const std::vector<TensorView*>& tvs,
                     TensorView* reference_tv, int64_t reference_pos, bool best_effort,
                     const std::unordered_set<IterDomain*>& uninlinable_ids) {
  const int64_t reference = requirePosition(primitive, reference_tv, reference_pos);
  MaxPosCalculator calc(*reference_tv->fusion(), uninlinable_ids);
  for (TensorView* tv : tvs) {
    if (tv->isFusionInput() || tv->uses().empty()) {
      continue;
    }
    const int64_t pos = calc.getMappedPos(tv, reference_tv, reference);
    const int64_t limit = calc.getMaxPosAll(tv);
    if (pos > limit && !best_effort) {
      scheduleError(primitive, tv,
                    text("T", tv->name(), " cannot be placed at position ", pos,
                         ", inside the first ", reference, " loops of T", reference_tv->name(),
                         ", at most at ", limit, ": ", calc.whyNotFurther(tv)),
                    text("use a smaller position, or best effort; other consumers of T", tv->name(),
                         " must have the same loops (TransformPropagator), a reduction can be "
                         "moved out with rFactor"));
    }
    tv->inlineAt(pos, true, &calc);
  }
}

void inlineMost(const std::unordered_set<IterDomain*>& uninlinable_ids) {
  MaxPosCalculator calc(uninlinable_ids);
  inlineThese(FusionGuard::getCurFusion()->allTvs(), calc);
}

void inlineMost(const std::vector<TensorView*>& tvs,
                const std::unordered_set<IterDomain*>& uninlinable_ids) {
  if (tvs.empty()) {
    return;
  }
  MaxPosCalculator calc(*tvs.front()->fusion(), uninlinable_ids);
  inlineThese(tvs, calc);
}

void inlineMost(const std::unordered_set<TensorView*>& tvs,
                const std::unordered_set<IterDomain*>& uninlinable_ids) {
  if (tvs.empty()) {
    return;
  }
  inlineMost(inOrder(*(*tvs.begin())->fusion(), tvs), uninlinable_ids);
}

void inlineAllAt(TensorView* reference_tv, int64_t reference_pos, bool best_effort,
                 const std::unordered_set<IterDomain*>& uninlinable_ids) {
  inlineTensorsAt("inlineAllAt", reference_tv->fusion()->allTvs(), reference_tv, reference_pos,
                  best_effort, uninlinable_ids);
}

void inlineSelectedAt(const std::unordered_set<TensorView*>& selected, TensorView* reference_tv,
                      int64_t reference_pos, bool best_effort,
                      const std::unordered_set<IterDomain*>& uninlinable_ids) {
  inlineTensorsAt("inlineSelectedAt", inOrder(*reference_tv->fusion(), selected), reference_tv,
                  reference_pos, best_effort, uninlinable_ids);
}

void resetInlining(Fusion* fusion) {
  for (TensorView* tv : fusion->allTvs()) {
    InlineState::setComputeAt(tv, 0);
    InlineState::setMaxProducer(tv, 0);
  }
}

}  // namespace nvfuser
