#include <fuzz/library/random_schedule.h>

#include <algorithm>

#include <ir/internal_nodes.h>
#include <scheduler/utils.h>

namespace nvfuser::fuzz {

namespace {

class Scheduler {
 public:
  Scheduler(Fusion& fusion, uint64_t seed) : fusion_(fusion), guard_(&fusion), draw_(seed) {}

  std::string run(int64_t steps) {
    if (draw_.chance(0.5)) {
      step("cache inputs", [&] { caches_ = scheduler_utils::cacheInputs(&fusion_, true); });
    }
    if (draw_.chance(0.4)) {
      step("cache outputs", [&] { scheduler_utils::cacheAndForkOutputs(&fusion_, true); });
    }
    if (inner().empty()) {
      return log_;
    }
    if (draw_.chance(0.25)) {
      inBetween();
    }
    TensorView* reference = chooseReference();
    if (draw_.chance(0.3)) {
      flattenAll(reference);
    }
    for (int64_t i = 0; i < steps; ++i) {
      transform(reference);
    }
    const bool factored = draw_.chance(0.5) && factor(reference);
    const int64_t pos = draw_.chance(0.2) ? draw_.number(0, reference->nDims()) : -1;
    step(text("propagate from ", name(reference), " at ", pos),
         [&] { scheduler_utils::transformPropagateToAllFrom(reference, pos); });
    bind(reference);
    if (factored) {
      step("bind like it", [&] { scheduler_utils::parallelizeAllLike(reference); });
    }
    memoryTypes();
    inlineSome(reference);
    vectorize();
    if (draw_.chance(0.08)) {
      circularBuffer();
    }
    return log_;
  }

 private:
  static std::string name(const TensorView* tv) { return tv->toInlineString(); }

  template <typename Act>
  bool step(const std::string& what, const Act& act) {
    try {
      act();
      append(log_, what + "\n");
      return true;
    } catch (const UserError&) {
      append(log_, what + " (refused)\n");
      return false;
    }
  }

  /// All tensors that are computed.
  std::vector<TensorView*> inner() const {
    std::vector<TensorView*> all = fusion_.allTvs();
    std::erase_if(all, [](TensorView* tv) { return tv->isFusionInput(); });
    return all;
  }

  TensorView* chooseReference() {
    std::vector<TensorView*> all = inner();
    TensorView* best = draw_.oneOf(all);
    if (draw_.chance(0.6)) {  // the one with the most axes that run
      for (TensorView* tv : all) {
        if (tv->nDims() > best->nDims()) {
          best = tv;
        }
      }
    }
    return best;
  }

  void flattenAll(TensorView* tv) {
    while (tv->nDims() > 1 && step(text("merge ", name(tv), " 0"), [&] { tv->merge(0); })) {
    }
  }

  void transform(TensorView* tv) {
    const int64_t n = tv->nDims();
    if (n == 0) {
      return;
    }
    const int64_t axis = draw_.number(0, n - 1);
    static const std::vector<int64_t> kFactors = {1, 2, 3, 4, 4, 5, 7, 8, 16, 32, 32, 64, 128};
    switch (draw_.weighted({50, 25, 25})) {
      case 0: {
        if (n >= 8) {
          return;
        }
        const int64_t by = draw_.oneOf(kFactors);
        const bool is_inner = draw_.chance(0.75);
        step(text("split ", name(tv), " ", axis, " by ", by, is_inner ? "" : " outer"),
             [&] { tv->split(axis, by, is_inner); });
        return;
      }
      case 1:
        if (axis + 1 < n) {
          step(text("merge ", name(tv), " ", axis), [&] { tv->merge(axis); });
        }
        return;
      default: {
        const int64_t to = draw_.number(0, n - 1);
        step(text("reorder ", name(tv), " ", axis, " to ", to), [&] { tv->reorder({{axis, to}}); });
      }
    }
  }

  bool factor(TensorView*& tv) {
    if (!tv->isDefinitionType<ReductionOp>()) {
      return false;
    }
    std::vector<int64_t> reductions;
    for (int64_t i = 0; i < tv->nDims(); ++i) {
      if (tv->axis(i)->isReduction()) {
        reductions.push_back(i);
      }
    }
    if (reductions.size() < 2) {
      return false;
    }
    const int64_t axis = draw_.oneOf(reductions);
    TensorView* made = nullptr;
    if (!step(text("rFactor ", name(tv), " ", axis), [&] { made = tv->rFactor({axis}); })) {
      return false;
    }
    if (draw_.chance(0.7)) {
      tv = made;
    }
    return true;
  }

  void bind(TensorView* reference) {
    std::vector<ParallelType> types = {ParallelType::BIDx, ParallelType::TIDx};
    if (draw_.chance(0.4)) {
      types.push_back(draw_.chance(0.5) ? ParallelType::BIDy : ParallelType::TIDy);
    }
    if (draw_.chance(0.15)) {
      types.push_back(draw_.chance(0.5) ? ParallelType::TIDz : ParallelType::BIDz);
    }
    if (draw_.chance(0.3)) {
      types.push_back(draw_.chance(0.7) ? ParallelType::Unroll : ParallelType::Unswitch);
    }
    int64_t bound = 0;
    for (ParallelType type : types) {
      if (reference->nDims() == 0 || draw_.chance(0.2)) {
        continue;
      }
      const int64_t axis = draw_.number(0, reference->nDims() - 1);
      if (reference->axis(axis)->getParallelType() != ParallelType::Serial) {
        continue;
      }
      bound += step(text("bind ", name(reference), " ", axis, " to ", parallelTypeName(type)),
                    [&] { reference->axis(axis)->parallelize(type); })
                   ? 1
                   : 0;
    }
    if (bound > 0) {
      step(text("bind all like ", name(reference)),
           [&] { scheduler_utils::parallelizeAllLike(reference); });
    }
  }

  void memoryTypes() {
    const double probability = draw_.chance(0.5) ? 0.15 : 0;
    for (TensorView* tv : inner()) {
      if (!tv->isFusionOutput() && draw_.chance(probability)) {
        const MemoryType type = draw_.chance(0.7) ? MemoryType::Shared : MemoryType::Global;
        step(text("place ", name(tv), " in ", memoryTypeName(type)),
             [&] { tv->setMemoryType(type); });
      }
    }
  }

  void inlineSome(TensorView* reference) {
    switch (draw_.weighted({15, 55, 15, 15})) {
      case 0:
        return;
      case 1:
        step("inlineMost", [] { inlineMost(); });
        return;
      case 2: {
        const int64_t pos = draw_.number(0, reference->nDims());
        const bool best = draw_.chance(0.7);
        step(text("inlineAllAt ", name(reference), " ", pos, best ? " best" : ""),
             [&] { inlineAllAt(reference, pos, best); });
        return;
      }
      default: {
        TensorView* consumer = draw_.oneOf(inner());
        TensorView* producer = draw_.oneOf(inner());
        if (producer == consumer || consumer->nDims() == 0) {
          return;
        }
        const int64_t pos = draw_.number(1, consumer->nDims());
        step(text("computeAt ", name(producer), " ", name(consumer), " ", pos), [&] {
          producer->computeAt(
              consumer, pos,
              draw_.chance(0.5) ? ComputeAtMode::BestEffort : ComputeAtMode::MostInlined);
        });
      }
    }
  }

  void vectorize() {
    for (TensorView* tv : inner()) {
      const bool loads = std::find(caches_.begin(), caches_.end(), tv) != caches_.end();
      if (!(loads || tv->isFusionOutput()) || tv->nDims() == 0 || draw_.chance(0.6)) {
        continue;
      }
      IterDomain* last = tv->axis(-1);
      if (last->getParallelType() == ParallelType::Serial && last->extent()->isConst() &&
          tv->isDefinitionType<LoadStoreOp>()) {
        step(text("bind ", name(tv), " -1 to Vectorize"),
             [&] { last->parallelize(ParallelType::Vectorize); });
      }
    }
  }

  void circularBuffer() {
    for (TensorView* tv : caches_) {
      if (draw_.chance(0.5)) {
        step(text("circularBuffer ", name(tv)), [&] { tv->circularBuffer(draw_.number(2, 3)); });
      }
    }
  }

  /// One more copy on some way.
  void inBetween() {
    TensorView* tv = draw_.oneOf(inner());
    if (tv->isFusionOutput()) {
      return;
    }
    if (draw_.chance(0.5)) {
      step(text("cacheBefore ", name(tv)), [&] { tv->cacheBefore(); });
    } else {
      step(text("cacheAfter ", name(tv)), [&] { tv->cacheAfter(); });
    }
  }

  Fusion& fusion_;
  FusionGuard guard_;
  Draw draw_;
  std::vector<TensorView*> caches_;
  std::string log_;
};

}  // namespace

std::string scheduleRandomly(Fusion& fusion, uint64_t seed, int64_t steps) {
  return Scheduler(fusion, seed).run(steps);
}

}  // namespace nvfuser::fuzz
