#include <device_lower/predicates.h>

#include <algorithm>
#include <set>

namespace nvfuser {

using kir::Scalar;

bool Predicates::divides(const Split* split) const {
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

std::vector<Predicates::Bound> Predicates::bounds(const Leaf& leaf, const AxisValues& values,
                                                  bool eliminate) const {
  std::vector<Bound> result;
  std::vector<const IterDomain*> open;
  for (const LoopClass* loop : leaf.path) {
    // An axis of extent 1 has one index: each thread computes the element in registers of its own,
    // each block in shared memory of its own, where all of them may read it.
    const MemoryType memory = leaf.out->getMemoryType();
    const bool own = memory == MemoryType::Local ||
                     (memory == MemoryType::Shared && isParallelTypeBlockDim(loop->parallel));
    const bool redundant = leaf.role == LeafRole::Whole && loop->extent->isConstant(1) && own;
    if (loop->isThread() && !redundant &&
        (!eliminate || loops_.dimension(loop->parallel) != loop->extent)) {
      result.push_back({loops_.parallelIndex(loop->parallel), loop->extent});
    }
    open.push_back(loop->promoted);
  }
  // Inputs of splits that may be partial.
  std::vector<IterDomain*> partial;
  std::set<const Expr*> seen;
  while (!open.empty()) {
    const Expr* def = open.back()->definition();
    open.pop_back();
    if (def == nullptr || !seen.insert(def).second) {
      continue;
    }
    if (def->isA<Split>() && (!eliminate || !divides(def->as<Split>()))) {
      partial.push_back(def->as<Split>()->in());
    }
    for (const Val* in : def->inputs()) {
      open.push_back(in->as<IterDomain>());
    }
  }
  const bool own = leaf.role == LeafRole::Whole && leaf.out->getMemoryType() == MemoryType::Local;
  for (IterDomain* id : partial) {
    if (own && id->isBroadcast()) {
      continue;  // one element, which each thread computes in registers of its own
    }
    // o·f + n < |in| says o < ceilDiv(|in|, f): the outer part of an axis that is checked itself
    // needs no check.
    const Expr* def = id->definition();
    const auto isChecked = [&](IterDomain* in) {
      return values.of(in) != nullptr &&
             std::find(partial.begin(), partial.end(), in) != partial.end();
    };
    const bool implied = eliminate && def != nullptr && def->isA<Split>() &&
                         def->as<Split>()->outer() == id && isChecked(def->as<Split>()->in());
    if (implied) {
      continue;
    }
    Scalar index = values.of(id);
    if (index == nullptr) {
      continue;  // made of axes that this statement does not iterate: reduced already, or not yet
    }
    result.push_back({index, symbols_.extent(id)});
  }
  return result;
}

Scalar Predicates::inBounds(const Leaf& leaf, const AxisValues& values) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  for (const Bound& bound : bounds(leaf, values, eliminate_)) {
    condition = pool.logicalAnd(condition, pool.less(bound.index, bound.extent));
  }
  return condition;
}

Scalar Predicates::writesOnce(const TensorView* tv, const Leaf& leaf, MemoryType memory,
                              bool whole_block) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  for (ParallelType type : kParallelTypeThreads) {
    if (!loops_.isUsed(type) || (whole_block && isParallelTypeThreadDim(type))) {
      continue;
    }
    // Each block has shared memory of its own.
    if (memory == MemoryType::Shared && isParallelTypeBlockDim(type)) {
      continue;
    }
    bool spread = false;
    for (const LoopClass* loop : leaf.path) {
      if (loop->parallel != type) {
        continue;
      }
      for (auto [member, position] : loop->members) {
        const IterDomain* id = member->getLoopDomain()[static_cast<size_t>(position)];
        spread |= member == tv && !id->isBroadcast() && !id->isReduction();
      }
    }
    if (!spread) {
      condition = pool.logicalAnd(condition, pool.equal(loops_.parallelIndex(type), pool.zero()));
    }
  }
  return condition;
}

}  // namespace nvfuser
