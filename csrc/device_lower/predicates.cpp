#include <device_lower/predicates.h>

#include <algorithm>
#include <set>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Index of a broadcast axis of which a part was merged into a reduction, in front of the
/// reduction's loops or behind them: the part is at its first iteration there.
///
///   T1[b0, r1], b0 split into (b2, b3), loops b2 and r1·b3     →     b0 is at b2·|b3|
Scalar indexAtStart(IterDomain* id, const AxisValues& values, Symbols& symbols,
                    const std::set<const Expr*>& transforms) {
  if (Scalar index = values.ofLoops(id)) {
    return index;
  }
  kir::ScalarPool& pool = symbols.pool();
  for (const Expr* expr : transforms) {
    if (expr->isA<Split>() && expr->as<Split>()->in() == id) {
      const auto* split = expr->as<Split>();
      return pool.add(pool.mul(indexAtStart(split->outer(), values, symbols, transforms),
                               symbols.extent(split->inner())),
                      indexAtStart(split->inner(), values, symbols, transforms));
    }
  }
  return pool.zero();
}

/// Whether the loop is over an axis that the leaf's tensor reduces.
bool isReducedIn(const Leaf& leaf, const LoopClass& loop) {
  return std::any_of(loop.members.begin(), loop.members.end(), [&](const auto& member) {
    const auto& [tv, position] = member;
    return tv == leaf.out && tv->getLoopDomain()[static_cast<size_t>(position)]->isReduction();
  });
}

}  // namespace

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

bool Predicates::dependsOn(Scalar index, bool blocks) const {
  return std::any_of(std::begin(kParallelTypeThreads), std::end(kParallelTypeThreads),
                     [&](ParallelType type) {
                       return isParallelTypeBlockDim(type) == blocks && loops_.isUsed(type) &&
                              kir::ScalarPool::contains(index, loops_.parallelIndex(type));
                     });
}

std::vector<Predicates::Bound> Predicates::bounds(const Leaf& leaf, const AxisValues& values,
                                                  bool eliminate) const {
  std::vector<Bound> result;
  std::vector<const IterDomain*> open;
  // What a reduction updates is in registers, wherever its result goes, but for a few. (On the CPU
  // a task has everything to itself but for what is in global memory.)
  const MemoryType placed = leaf.out->getMemoryType();
  const bool in_registers =
      placed == MemoryType::Local || (placed == MemoryType::Shared && loops_.isCpu()) ||
      (leaf.role == LeafRole::Update && summed_in_memory_.count(leaf.out) == 0);
  const MemoryType memory =
      leaf.out->isFusionOutput() ? MemoryType::Global : leaf.out->getMemoryType();
  for (const LoopClass* loop : leaf.path) {
    // An axis of one element has one index: each thread computes the element in registers of its
    // own, each block in shared memory of its own, where all of them may read it.
    const bool own =
        in_registers || (memory == MemoryType::Shared && isParallelTypeBlockDim(loop->parallel));
    const bool one_element = loop->extent->isConstant(1) || loop->promoted->isBroadcast();
    const bool redundant = one_element && own && !isReducedIn(leaf, *loop);
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
  for (IterDomain* id : partial) {
    if (in_registers && id->isBroadcast()) {
      continue;  // one element, which is computed again and again
    }
    // o·f + n < |in| says o < ceilDiv(|in|, f): the outer part of an axis that is checked itself
    // needs no check.
    const Expr* def = id->definition();
    const auto isChecked = [&](IterDomain* in) {
      return values.ofLoops(in) != nullptr &&
             std::find(partial.begin(), partial.end(), in) != partial.end();
    };
    const bool implied = eliminate && def != nullptr && def->isA<Split>() &&
                         def->as<Split>()->outer() == id && isChecked(def->as<Split>()->in());
    if (implied) {
      continue;
    }
    Scalar index = values.ofLoops(id);
    if (index == nullptr && id->isBroadcast()) {
      index = indexAtStart(id, values, symbols_, seen);
    }
    if (index == nullptr) {
      continue;  // made of axes that this statement does not iterate: reduced already, or not yet
    }
    // Of the threads of a block one writes the element, but each block needs it in memory of its
    // own, and it may be there for one iteration of a loop only.
    const bool by_one_thread = dependsOn(index, false) && !dependsOn(index, true);
    if (memory == MemoryType::Shared && id->isBroadcast() && !by_one_thread) {
      continue;
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

Scalar Predicates::startsInside(const Leaf& leaf, const AxisValues& values) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  if (ownLoops(leaf.out, leaf.path, exact_)) {
    return condition;
  }
  std::set<int> own;
  for (const IterDomain* id : leaf.out->domain()->allIDs()) {
    own.insert(exact_.classOf(id));
  }
  std::vector<const IterDomain*> open;
  for (const LoopClass* loop : leaf.path) {
    if (!loop->isThread()) {
      open.push_back(loop->promoted);
    }
  }
  std::set<const Expr*> seen;
  while (!open.empty()) {
    const Expr* def = open.back()->definition();
    open.pop_back();
    if (def == nullptr || !seen.insert(def).second) {
      continue;
    }
    for (const Val* in : def->inputs()) {
      const auto* id = in->as<IterDomain>();
      open.push_back(id);
      Scalar index = values.ofLoops(id);
      if (def->isA<Split>() && !id->isBroadcast() && !divides(def->as<Split>()) &&
          index != nullptr && own.count(exact_.classOf(id)) == 0) {
        condition = pool.logicalAnd(condition, pool.less(index, symbols_.extent(id)));
      }
    }
  }
  return condition;
}

Scalar Predicates::writesOnce(const TensorView* tv, const Leaf& leaf, MemoryType memory,
                              const AxisValues& values, bool whole_block, bool by_last) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  auto matters = [&](ParallelType type) {
    const IterDomain* bound = loops_.boundAxis(tv, type);
    if (by_last && isParallelTypeBlockDim(type) && bound != nullptr && bound->isReduction()) {
      return false;
    }
    // Each block has shared memory of its own.
    return loops_.isUsed(type) && !(whole_block && isParallelTypeThreadDim(type)) &&
           !(memory == MemoryType::Shared && isParallelTypeBlockDim(type));
  };
  for (ParallelType type : kParallelTypeThreads) {
    if (matters(type) && !loops_.isSpread(tv, type)) {
      condition = pool.logicalAnd(condition, pool.equal(loops_.parallelIndex(type), pool.zero()));
    }
  }
  if (ownLoops(tv, leaf.path, exact_)) {
    return condition;
  }
  const bool reductions = leaf.role == LeafRole::Update;
  for (const LoopCover::Axis& axis : coverOf(tv, leaf.path, reductions, exact_).besides) {
    const bool shared_loop =
        std::any_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
          return loop->isThread() && matters(loop->parallel) && loops_.isSpread(tv, loop->parallel);
        });
    if (!axis.id->isBroadcast() && shared_loop) {
      condition = pool.logicalAnd(condition, pool.equal(values.of(axis.id), pool.zero()));
    }
  }
  return condition;
}

Scalar Predicates::takesOnce(const Leaf& leaf, const Indexer& indexer,
                             const std::vector<const LoopClass*>& separate) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  const auto& axes = leaf.out->getLoopDomain();
  const bool has_broadcast =
      std::any_of(axes.begin(), axes.end(), [](const IterDomain* id) { return id->isBroadcast(); });
  const auto& logical = leaf.out->getLogicalDomain();
  const bool has_broadcasts = std::any_of(logical.begin(), logical.end(),
                                          [](const IterDomain* id) { return id->isBroadcast(); });
  if (!has_broadcast && !has_broadcasts && ownLoops(leaf.out, leaf.path, exact_)) {
    return condition;
  }
  // Loops whose iterations add to one state; in the others index 0 stands for all.
  std::unordered_map<const LoopClass*, Scalar> outside;
  bool behind = false;
  for (const LoopClass* loop : leaf.path) {
    const bool reduced = isReducedIn(leaf, *loop);
    behind |= reduced;
    const bool has_state = !behind || loop->isThread() ||
                           std::find(separate.begin(), separate.end(), loop) != separate.end();
    if (!reduced && has_state) {
      outside[loop] = pool.zero();
    }
  }
  const AxisValues values = indexer.around(leaf, outside);
  for (const LoopCover::Axis& axis : coverOf(leaf.out, leaf.path, true, exact_).besides) {
    if (Scalar index = values.of(axis.id)) {
      const bool repeats =
          std::any_of(axis.loops.begin(), axis.loops.end(),
                      [&](const LoopClass* loop) { return outside.count(loop) == 0; });
      condition = repeats ? pool.logicalAnd(condition, pool.equal(index, pool.zero())) : condition;
    }
  }
  return condition;
}

}  // namespace nvfuser
