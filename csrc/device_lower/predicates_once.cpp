// Redundant threads and iterations (predicates.h): which of those that come to an element writes
// it, and in which iteration a reduction takes it.
#include <algorithm>
#include <unordered_map>

#include <device_lower/predicates.h>

namespace nvfuser {

using kir::Scalar;

void Predicates::requireOneWriter(const TensorView* tv, const LoopAxis& axis,
                                  MemoryType memory) const {
  if (memory != MemoryType::Shared || !axis.id->isBroadcast() || !dependsOnBlocks(axis.index)) {
    return;
  }
  for (ParallelType type : kParallelTypeTIDs) {
    if (loops_.isUsed(type) && loops_.isSpread(tv, type) &&
        kir::ScalarPool::contains(axis.index, loops_.parallelIndex(type))) {
      userError(
          "lower: ", tv, " is kept in shared memory, but several threads of ",
          parallelTypeName(type), " come to the same element, in some blocks at ",
          axis.index->toString(),
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
      condition = pool.logicalAnd(condition, pool.equal(loops_.parallelIndex(type), pool.zero()));
    }
  }
  for (const LoopAxis& axis : places.foreign(tv, leaf.role == LeafRole::Update)) {
    const bool shared_loop =
        std::any_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
          return loop->isThread() && matters(loop->parallel) && loops_.isSpread(tv, loop->parallel);
        });
    requireOneWriter(tv, axis, memory);
    // A broadcast axis that blocks go through has its one element in the shared memory of each.
    const bool in_each_block =
        memory == MemoryType::Shared && axis.id->isBroadcast() && dependsOnBlocks(axis.index);
    if (!in_each_block && shared_loop) {
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
  const Places places = indexer.around(leaf, outside);
  for (const LoopAxis& axis : places.foreign(leaf.out, true)) {
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
