/// Random fusions under random schedules: whatever is propagated and inlined must obey the rules of
/// `checkSound`.
#include <doctest/doctest.h>

#include <random>

#include <ir/fusion.h>
#include <ops/all_ops.h>
#include <schedule_checks.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

class RandomSchedule {
 public:
  explicit RandomSchedule(uint32_t seed) : random_(seed) {}

  void define() {
    const std::vector<int64_t> sizes{4, 6, 5};
    for (int i = pick(1, 3); i > 0; --i) {
      std::vector<int64_t> shape;
      for (int64_t size : sizes) {
        shape.push_back(pick(0, 3) == 0 ? 1 : size + (pick(0, 5) == 0 ? 1 : 0));
      }
      TensorView* in = makeContigConcreteTensor(shape);
      fusion_.addInput(in);
      tvs_.push_back(in);
    }
    for (int i = pick(3, 10); i > 0; --i) {
      tvs_.push_back(operation());
    }
    // All that nothing reads is an output; some of the rest too.
    for (TensorView* tv : tvs_) {
      if (tv->isFusionInput()) {
        continue;
      }
      if (tv->uses().empty() || pick(0, 7) == 0) {
        fusion_.addOutput(tv);
      }
    }
  }

  void schedule() {
    if (pick(0, 2) == 0) {
      scheduler_utils::cacheInputs(&fusion_, true);
    }
    if (pick(0, 2) == 0) {
      scheduler_utils::cacheAndForkOutputs(&fusion_, true);
    }
    std::vector<TensorView*> all = fusion_.allTvs();
    std::erase_if(all, [](TensorView* tv) { return tv->isFusionInput(); });
    TensorView* reference = all[static_cast<size_t>(pick(0, static_cast<int>(all.size()) - 1))];
    for (int i = pick(0, 5); i > 0; --i) {
      transform(reference);
    }
    if (pick(0, 2) == 0) {
      reference = factor(reference);
    }
    const int64_t pos = pick(0, 2) == 0 ? pick(0, static_cast<int>(reference->nDims())) : -1;
    scheduler_utils::transformPropagateToAllFrom(reference, pos);
    checkSound(fusion_);
    if (pick(0, 3) == 0) {
      TensorView* other = all[static_cast<size_t>(pick(0, static_cast<int>(all.size()) - 1))];
      for (int i = pick(0, 3); i > 0; --i) {
        transform(other);
      }
      scheduler_utils::transformPropagateToAllFrom(other);
    }
    if (pick(0, 1) == 0 && reference->nDims() > 0) {
      reference->axis(0)->parallelize(ParallelType::BIDx);
      scheduler_utils::parallelizeAllLike(reference);
    }
    if (pick(0, 3) == 0) {
      inlineAllAt(reference, pick(0, static_cast<int>(reference->nDims())), true);
      checkSound(fusion_);
    }
    inlineMost();
    checkSound(fusion_);
    // What was reached can be reached again, and is the same.
    const std::string before = fusion_.toString();
    inlineMost();
    CHECK(fusion_.toString() == before);
    const Fusion copy(fusion_);
    checkSound(copy);
  }

  std::string text() const { return fusion_.toString(); }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  TensorView* operand() {
    return tvs_[static_cast<size_t>(pick(0, static_cast<int>(tvs_.size()) - 1))];
  }

  TensorView* operation() {
    TensorView* a = operand();
    switch (pick(0, 5)) {
      case 0: {  // normalised over one axis
        const int64_t axis = pick(0, 2);
        std::vector<bool> is_new(3, false);
        is_new[static_cast<size_t>(axis)] = true;
        TensorView* total = sum(a, {axis});
        return pick(0, 1) == 0 ? broadcast(total, is_new) : sub(a, broadcast(total, is_new));
      }
      case 1: {  // through another rank
        TensorView* total = sum(a, {0, 1});
        return broadcast(exp(total), {true, true, false});
      }
      case 2: {
        std::vector<int64_t> sizes;
        for (IterDomain* id : TensorDomain::noReductions(a->getLogicalDomain())) {
          sizes.push_back(id->extent()->value().as<int64_t>());
        }
        TensorView* flat = neg(reshape(a, sizes, {sizes[0] * sizes[1] * sizes[2]}));
        return reshape(flat, {sizes[0] * sizes[1] * sizes[2]}, sizes);
      }
      case 3:
        return neg(a);
      default: {
        TensorView* b = operand();
        return meets(a, b) ? add(a, b) : exp(a);
      }
    }
  }

  static bool meets(const TensorView* a, const TensorView* b) {
    const auto left = TensorDomain::noReductions(a->getLogicalDomain());
    const auto right = TensorDomain::noReductions(b->getLogicalDomain());
    for (size_t i = 0; i < left.size(); ++i) {
      const bool one = left[i]->isBroadcast() || right[i]->isBroadcast();
      if (!one && !left[i]->extent()->sameAs(right[i]->extent())) {
        return false;
      }
    }
    return true;
  }

  void transform(TensorView* tv) {
    if (tv->nDims() == 0) {
      return;
    }
    const int64_t axis = pick(0, static_cast<int>(tv->nDims()) - 1);
    switch (pick(0, 2)) {
      case 0:
        tv->split(axis, int64_t{pick(1, 5)}, pick(0, 1) == 0);
        break;
      case 1: {
        if (axis + 1 == tv->nDims()) {
          break;
        }
        IterDomain* outer = tv->axis(axis);
        IterDomain* inner = tv->axis(axis + 1);
        const bool fits = outer->isReduction() == inner->isReduction() || outer->isBroadcast() ||
                          inner->isBroadcast();
        if (fits) {
          tv->merge(axis);
        }
        break;
      }
      default:
        tv->reorder({{axis, pick(0, static_cast<int>(tv->nDims()) - 1)}});
    }
  }

  TensorView* factor(TensorView* tv) {
    if (!tv->isDefinitionType<ReductionOp>()) {
      return tv;
    }
    std::vector<int64_t> reductions;
    for (int64_t i = 0; i < tv->nDims(); ++i) {
      if (tv->axis(i)->isReduction()) {
        reductions.push_back(i);
      }
    }
    if (reductions.size() < 2) {
      return tv;
    }
    return tv->rFactor(
        {reductions[static_cast<size_t>(pick(0, static_cast<int>(reductions.size()) - 1))]});
  }

  std::mt19937 random_;
  Fusion fusion_;
  FusionGuard guard_{&fusion_};
  std::vector<TensorView*> tvs_;
};

TEST_CASE("random fusions under random schedules") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomSchedule random(seed);
    random.define();
    try {
      random.schedule();
    } catch (const std::exception& e) {
      FAIL_CHECK(e.what(), "\n", random.text());
    }
  }
}

TEST_CASE("a long chain is scheduled in time that grows with its length") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* y = x;
  for (int i = 0; i < 1000; ++i) {
    y = add(neg(y), x);
  }
  fusion.addOutput(y);
  y->merge(0)->split(0, 128);
  scheduler_utils::transformPropagateToAllFrom(y);
  inlineMost();
  CHECK(y->getMaxProducerPosition() == 2);
}

}  // namespace
}  // namespace nvfuser
