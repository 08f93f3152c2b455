#include <device_lower/predicates.h>

#include <algorithm>

#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

bool Predicates::divides(const Split* split) const {
  const std::array<int, 4> classes{exact_.classOf(split->in()), exact_.classOf(split->outer()),
                                   exact_.classOf(split->inner()), split->innerSplit() ? 1 : 0};
  if (*std::min_element(classes.begin(), classes.begin() + 3) < 0) {
    return provesDivisible(split);
  }
  const auto [answer, is_new] = divides_.try_emplace(classes, false);
  if (is_new) {
    answer->second = provesDivisible(split);
  }
  return answer->second;
}

bool Predicates::provesDivisible(const Split* split) const {
  // A reshape's splits divide: its input and output have the same number of elements. So does the
  // same split of the axes of another tensor, which follows the reshape's.
  for (const Expr* same : exact_.uses(exact_.classOf(split->in()))) {
    if (!same->isA<Split>() || !same->as<Split>()->outer()->isRFactorProduct()) {
      continue;
    }
    const TensorView* tv = exact_.tensorOf(same->as<Split>()->in());
    if (tv != nullptr && tv->definition() != nullptr && tv->definition()->isA<ReshapeOp>() &&
        exact_.mapped(same->as<Split>()->outer(), split->outer()) &&
        exact_.mapped(same->as<Split>()->inner(), split->inner())) {
      return true;
    }
  }
  Scalar factor = symbols_.extent(split->innerSplit() ? split->inner() : split->outer());
  return symbols_.pool().provesDivisible(symbols_.extent(split->in()), factor);
}

bool Predicates::dependsOnBlocks(Scalar index) const {
  return std::any_of(
      std::begin(kParallelTypeBIDs), std::end(kParallelTypeBIDs), [&](ParallelType type) {
        return loops_.isUsed(type) && kir::ScalarPool::contains(index, loops_.parallelIndex(type));
      });
}

MemoryType Predicates::memoryOf(const Leaf& leaf) const {
  if (leaf.role == LeafRole::Update && summed_in_memory_.count(leaf.out) == 0) {
    return MemoryType::Local;
  }
  return leaf.out->isFusionOutput() ? MemoryType::Global : leaf.out->getMemoryType();
}

bool Predicates::isImplied(const AxisBound& bound, const std::vector<AxisBound>& all) const {
  if (bound.loop != nullptr) {
    return loops_.dimension(bound.loop->parallel) == bound.extent;
  }
  if (divides(bound.split)) {
    return true;
  }
  return bound.implied_by != nullptr && !divides(bound.implied_by) &&
         std::any_of(all.begin(), all.end(),
                     [&](const AxisBound& other) { return other.split == bound.implied_by; });
}

std::vector<Predicates::Bound> Predicates::bounds(const Leaf& leaf, const Places& places,
                                                  bool eliminate) const {
  const std::vector<AxisBound>& asked = bounds_.of(leaf, memoryOf(leaf));
  std::vector<Bound> result;
  for (const AxisBound& bound : asked) {
    if (!eliminate || !isImplied(bound, asked)) {
      result.push_back({places.here(bound.index), bound.extent});
    }
  }
  return result;
}

Scalar Predicates::inBounds(const Leaf& leaf, const Places& places) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  for (const Bound& bound : bounds(leaf, places, eliminate_)) {
    condition = pool.logicalAnd(condition, pool.less(bound.index, bound.extent));
  }
  return condition;
}

}  // namespace nvfuser
