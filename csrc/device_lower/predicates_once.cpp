// Redundant threads and iterations (predicates.h): which of those that come to an element writes
// it, and in which iteration a reduction takes it.
#include <algorithm>
#include <unordered_map>

#include <device_lower/predicates.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Whether an index has a remainder of an expression with `symbol` in it: it does not only grow.
bool hasRemainderOf(Scalar symbol, Scalar index) {
  if (index->op == kir::ScalarOp::Mod && kir::ScalarPool::contains(index, symbol)) {
    return true;
  }
  const auto& terms = index->terms;
  return std::any_of(index->args.begin(), index->args.end(),
                     [&](Scalar arg) { return hasRemainderOf(symbol, arg); }) ||
         std::any_of(terms.begin(), terms.end(),
                     [&](const auto& term) { return hasRemainderOf(symbol, term.first); });
}

}  // namespace

void Predicates::requireFirstInside(const TensorView* tv, const Leaf& leaf, ParallelType type,
                                    const Places& places) const {
  kir::ScalarPool& pool = symbols_.pool();
  const Scalar thread = loops_.parallelIndex(type);
  for (const Bound& bound : bounds(leaf, places, eliminate_)) {
    const Scalar first = pool.substitute(bound.index, {{thread, pool.zero()}});
    if (hasRemainderOf(thread, bound.index) && first != pool.zero() &&
        !pool.provesLess(bound.index, bound.extent)) {
      userError("lower: ", tv, " is written to shared memory by the first thread of ",
                parallelTypeName(type),
                " alone, which may be outside of the loops that it shares (",
                bound.index->toString(), " < ", bound.extent->toString(),
                ") where others are inside\n  help: inline it in front of these loops, or set its "
                "memory type to Local");
    }
  }
}

void Predicates::requireOneWriter(const TensorView* tv, Scalar index) const {
  for (ParallelType type : kParallelTypeTIDs) {
    if (loops_.isUsed(type) && loops_.isSpread(tv, type) && dependsOn(index, true) &&
        kir::ScalarPool::contains(index, loops_.parallelIndex(type))) {
      userError(
          "lower: ", tv, " is kept in shared memory, but several threads of ",
          parallelTypeName(type), " come to the same element, in some blocks at ",
          index->toString(),
          " of a broadcast axis, which is merged into the loops that it shares"
          "\n  help: bind an axis without the broadcast one, or set its memory type to Local");
    }
  }
}

Scalar Predicates::writesOnce(const TensorView* tv, const Leaf& leaf, MemoryType memory,
                              const Places& places, bool whole_block,
                              const TensorView* by_last) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  auto matters = [&](ParallelType type) {
    const IterDomain* over = by_last != nullptr ? loops_.boundAxis(by_last, type) : nullptr;
    if (over != nullptr && isParallelTypeBlockDim(type) && over->isReduction()) {
      return false;
    }
    // Each block has shared memory of its own.
    return loops_.isUsed(type) && !(whole_block && isParallelTypeThreadDim(type)) &&
           !(memory == MemoryType::Shared && isParallelTypeBlockDim(type));
  };
  for (ParallelType type : kParallelTypeThreads) {
    if (matters(type) && !loops_.isSpread(tv, type)) {
      if (memory == MemoryType::Shared) {
        requireFirstInside(tv, leaf, type, places);
      }
      condition = pool.logicalAnd(condition, pool.equal(loops_.parallelIndex(type), pool.zero()));
    }
  }
  if (areOwn(tv, leaf.path, exact_)) {
    return condition;
  }
  const bool reductions = leaf.role == LeafRole::Update;
  for (const LoopAxis& axis : places.foreign(tv, reductions)) {
    const bool shared_loop =
        std::any_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
          return loop->isThread() && matters(loop->parallel) && loops_.isSpread(tv, loop->parallel);
        });
    if (!axis.id->isBroadcast() && shared_loop) {
      condition = pool.logicalAnd(condition, pool.equal(axis.index, pool.zero()));
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
  if (!has_broadcast && !has_broadcasts && areOwn(leaf.out, leaf.path, exact_)) {
    return condition;
  }
  // Loops whose iterations add to one state; in the others index 0 stands for all.
  std::unordered_map<const LoopClass*, Scalar> outside;
  bool behind = false;
  for (const LoopClass* loop : leaf.path) {
    const bool reduced = isFoldedIn(leaf, *loop);
    behind |= reduced;
    const bool has_state = !behind || loop->isThread() ||
                           std::find(separate.begin(), separate.end(), loop) != separate.end();
    if (!reduced && has_state) {
      outside[loop] = pool.zero();
    }
  }
  for (const LoopAxis& axis : indexer.around(leaf, outside).foreign(leaf.out, true)) {
    const bool repeats =
        std::any_of(axis.loops.begin(), axis.loops.end(),
                    [&](const LoopClass* loop) { return outside.count(loop) == 0; });
    if (repeats) {
      condition = pool.logicalAnd(condition, pool.equal(axis.index, pool.zero()));
    }
  }
  return condition;
}

}  // namespace nvfuser
