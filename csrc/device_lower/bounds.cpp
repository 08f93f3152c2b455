#include <device_lower/bounds.h>

#include <algorithm>

#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

namespace {

bool contains(const std::vector<AxisBound>& bounds, const AxisBound& bound) {
  return std::any_of(bounds.begin(), bounds.end(), [&](const AxisBound& other) {
    return other.index == bound.index && other.extent == bound.extent;
  });
}

/// The statement that reads what an expression reads.
Leaf readerOf(Expr* expr, const LoopModel& loops) {
  TensorView* out = tensorOutputs(expr).front();
  const LeafRole role = isReduction(expr)     ? LeafRole::Update
                        : expr->isA<ScanOp>() ? LeafRole::Step
                                              : LeafRole::Whole;
  return {expr, role, out, loops.path(out), 0};
}

MemoryType memoryOfReader(const Leaf& leaf) {
  if (leaf.role == LeafRole::Update) {
    return MemoryType::Local;
  }
  return leaf.out->isFusionOutput() ? MemoryType::Global : leaf.out->getMemoryType();
}

/// Position of the innermost loop that an index is made of; −1 for none.
int innermostLoop(const AxisBound& bound, const Leaf& leaf) {
  for (size_t i = leaf.path.size(); i-- > 0;) {
    const LoopClass& loop = *leaf.path[i];
    const Scalar variable = loop.isThread() ? loop.thread : loop.index;
    if (kir::ScalarPool::contains(bound.index, variable)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Statements in the same loops have one order, so that equal conditions are one.
void order(const Leaf& leaf, std::vector<AxisBound>& bounds) {
  std::vector<std::tuple<bool, int, int, AxisBound>> keyed;
  for (const AxisBound& bound : bounds) {
    const int loop = innermostLoop(bound, leaf);
    const bool is_split = bound.split != nullptr;
    keyed.emplace_back(is_split, is_split ? -loop : loop, bound.index->id, bound);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
  });
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = std::get<3>(keyed[i]);
  }
}

}  // namespace

Bounds::Bounds(const Fusion& fusion, const IdGraph& exact, LoopModel& loops, Symbols& symbols)
    : exact_(exact), loops_(loops), symbols_(symbols), held_by_few_(heldByFew(fusion, loops)) {
  // Readers first: what they ask for is known then.
  const std::vector<Expr*> exprs = fusion.exprs();
  for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
    if (tensorOutputs(*it).empty()) {
      continue;
    }
    const Leaf reader = readerOf(*it, loops_);
    if (mayHaveForeign(reader)) {
      of(reader, memoryOfReader(reader));
    }
  }
}

bool Bounds::mayHaveForeign(const Leaf& leaf) const {
  const auto& logical = leaf.out->getLogicalDomain();
  return !areOwn(leaf.out, leaf.path, exact_) ||
         std::any_of(logical.begin(), logical.end(), [](const IterDomain* id) {
           return id->isBroadcast() || id->extent()->isOneInt();
         });
}

const std::vector<AxisBound>& Bounds::of(const Leaf& leaf, MemoryType memory) {
  const auto [found, is_new] = found_.try_emplace({leaf.expr, leaf.role, leaf.out});
  if (is_new) {
    found->second = find(leaf, memory);
  }
  return found->second;
}

std::vector<AxisBound> Bounds::find(const Leaf& leaf, MemoryType memory) {
  std::vector<LoopAt> around;
  for (const LoopClass* loop : leaf.path) {
    around.push_back({loop, loop->promoted, loop->index});
  }
  const std::vector<TensorView*> outputs = tensorOutputs(leaf.expr);
  const Places places({outputs.begin(), outputs.end()}, around, exact_, symbols_);
  const bool reductions = takesElements(leaf.role);
  std::vector<AxisBound> bounds = places.bounds(leaf.out, reductions);
  std::vector<AxisBound> foreign;
  for (const LoopAxis& axis : places.foreign(leaf.out, reductions)) {
    for (const AxisBound& bound : axis.bounds) {
      (isNeeded(leaf, axis, bound, memory) ? bounds : foreign).push_back(bound);
    }
  }
  if (leaf.role == LeafRole::Whole && mayHaveForeign(leaf)) {
    addOfReaders(leaf, foreign, bounds);
  }
  order(leaf, bounds);
  return bounds;
}

bool Bounds::isSharedAlong(const TensorView* tv, const LoopAxis& axis, MemoryType memory) const {
  return memory != MemoryType::Local &&
         std::any_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
           const bool own_memory =  // each block has shared memory of its own
               memory == MemoryType::Shared && isParallelTypeBlockDim(loop->parallel);
           return loop->isThread() && loops_.isUsed(loop->parallel) && !own_memory &&
                  loops_.isSpread(tv, loop->parallel);
         });
}

bool Bounds::isNeeded(const Leaf& leaf, const LoopAxis& axis, const AxisBound& bound,
                      MemoryType memory) const {
  if (leaf.expr->isA<WriteAtOp>() || isSharedAlong(leaf.out, axis, memory)) {
    return true;
  }
  if (leaf.role != LeafRole::Whole) {
    // An axis of one element that is reduced has no index, but a bound: one thread takes it.
    return std::any_of(axis.loops.begin(), axis.loops.end(),
                       [&](const LoopClass* loop) { return isFoldedIn(leaf, *loop); });
  }
  if (bound.loop != nullptr && bound.extent->isConstant(1) && !bound.id->isBroadcast() &&
      isHeldByFew(leaf.out, bound.loop->parallel, held_by_few_)) {
    return true;
  }
  // What is in global memory is there when its loops are over: writing it once will do.
  const auto shared = leaf.path.begin() + leaf.out->getComputeAtPosition();
  return memory == MemoryType::Global &&
         std::all_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
           return loop->isThread() || std::find(leaf.path.begin(), shared, loop) == shared;
         });
}

void Bounds::addOfReaders(const Leaf& leaf, const std::vector<AxisBound>& foreign,
                          std::vector<AxisBound>& bounds) {
  std::vector<const std::vector<AxisBound>*> asked;
  for (const TensorView* out : tensorOutputs(leaf.expr)) {
    for (const TensorView* consumer : consumersOf(out)) {
      const Leaf reader = readerOf(consumer->definition(), loops_);
      asked.push_back(&of(reader, memoryOfReader(reader)));
    }
  }
  if (asked.empty()) {
    bounds.insert(bounds.end(), foreign.begin(), foreign.end());
    return;
  }
  const MemoryType memory = memoryOfReader(leaf);
  for (const AxisBound& bound : *asked.front()) {
    const bool is_common = std::all_of(asked.begin(), asked.end(),
                                       [&](const auto* of) { return contains(*of, bound); });
    const auto is_around = [&](const LoopClass* loop) {
      return std::find(leaf.path.begin(), leaf.path.end(), loop) != leaf.path.end();
    };
    const bool is_of_loops =
        contains(foreign, bound) ||
        (!bound.loops.empty() && std::all_of(bound.loops.begin(), bound.loops.end(), is_around));
    if (is_common && is_of_loops && isInTurn(leaf, bound, memory) && !contains(bounds, bound)) {
      bounds.push_back(bound);
    }
  }
}

bool Bounds::isInTurn(const Leaf& leaf, const AxisBound& bound, MemoryType memory) const {
  std::vector<Scalar> known;
  for (size_t i = 0; i < leaf.path.size(); ++i) {
    const LoopClass& loop = *leaf.path[i];
    const bool has_own = memory == MemoryType::Local ||
                         (memory == MemoryType::Shared && isParallelTypeBlockDim(loop.parallel));
    const bool is_shared = i < static_cast<size_t>(leaf.out->getComputeAtPosition());
    if (loop.isThread() ? has_own : is_shared) {
      known.push_back(loop.isThread() ? loop.thread : loop.index);
    }
  }
  const std::vector<Scalar> used = kir::ScalarPool::symbolsOf(bound.index);
  return std::all_of(used.begin(), used.end(), [&](Scalar symbol) {
    return symbols_.sources().count(symbol) != 0 ||
           std::find(known.begin(), known.end(), symbol) != known.end();
  });
}

}  // namespace nvfuser
