#include <device_lower/predicates.h>

#include <algorithm>
#include <set>

#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Transforms that the axes of loops were made by, back to axes of these classes.
std::vector<const Expr*> transformsOf(std::vector<const IterDomain*> axes,
                                      const std::set<int>& until, const IdGraph& exact) {
  std::vector<const Expr*> result;
  std::set<const Expr*> seen;
  while (!axes.empty()) {
    const IterDomain* id = axes.back();
    const Expr* def = until.count(exact.classOf(id)) == 0 ? id->definition() : nullptr;
    axes.pop_back();
    if (def == nullptr || !seen.insert(def).second) {
      continue;
    }
    result.push_back(def);
    for (const Val* in : def->inputs()) {
      axes.push_back(in->as<IterDomain>());
    }
  }
  return result;
}

std::set<int> logicalClasses(const TensorView* tv, const IdGraph& exact) {
  std::set<int> classes;
  for (const IterDomain* id : tv->getLogicalDomain()) {
    classes.insert(exact.classOf(id));
  }
  return classes;
}

/// Whether an axis of the loops is a broadcast axis for a tensor within: one element, whatever it
/// is in others. Where the tensor has nothing of the axis, that of any other decides: what it is
/// computed from, and what is computed of it, have it for all iterations then, too.
bool isBroadcastIn(const IterDomain* id, const TensorView* tv, const IdGraph& exact) {
  for (const IterDomain* own : tv->domain()->allIDs()) {
    if (exact.mapped(own, id)) {
      return own->isBroadcast();
    }
  }
  const auto& alike = exact.members(exact.classOf(id));
  return std::any_of(alike.begin(), alike.end(),
                     [](const IterDomain* other) { return other->isBroadcast(); });
}

/// Index of an axis in the first of the iterations that a statement stands in front of or behind.
struct IndexAtStart {
  Scalar index;
  /// Whether no later iteration has a smaller one, as the inner part of a merged axis may have:
  /// behind its end it begins anew.
  bool is_least = true;
};

IndexAtStart indexAtStart(const IterDomain* id, const Places& places, Symbols& symbols,
                          const std::vector<const Expr*>& transforms) {
  kir::ScalarPool& pool = symbols.pool();
  if (Scalar index = places.indexInLoops(id)) {
    return {index};
  }
  for (const Expr* expr : transforms) {
    if (expr->isA<Split>() && expr->as<Split>()->in() == id) {
      const auto* split = expr->as<Split>();
      const IndexAtStart outer = indexAtStart(split->outer(), places, symbols, transforms);
      const IndexAtStart inner = indexAtStart(split->inner(), places, symbols, transforms);
      return {pool.add(pool.mul(outer.index, symbols.extent(split->inner())), inner.index),
              outer.is_least && inner.is_least};
    }
    if (expr->isA<Merge>() &&
        (expr->as<Merge>()->outer() == id || expr->as<Merge>()->inner() == id)) {
      const auto* merge = expr->as<Merge>();
      const IndexAtStart out = indexAtStart(merge->out(), places, symbols, transforms);
      Scalar inner = symbols.extent(merge->inner());
      if (symbols.extent(merge->outer()) == pool.one()) {
        return merge->inner() == id ? out : IndexAtStart{pool.zero()};
      }
      if (merge->outer() == id) {
        return {pool.div(out.index, inner), out.is_least};
      }
      const bool is_known = places.indexInLoops(merge->out()) != nullptr;
      return {pool.mod(out.index, inner), is_known || out.index == pool.zero()};
    }
  }
  return {pool.zero()};
}

/// Index that must be inside the input of a split of which a statement has only some of the loops:
/// the others are a reduction's, or those of a tensor that it shares the rest with.
///
///   T1[b0, r1], b0 split into (b2, b3), loops b2 and r1·b3: T1 is started where b2·|b3| < |b0|
///
/// Null where nothing is asked: none of the loops leads there, or o < ceilDiv(|in|, f) says it; or
/// a later iteration may be inside where the first one is not.
Scalar partialIndex(const Split* split, const Places& places, Symbols& symbols,
                    const std::vector<const Expr*>& transforms) {
  const Scalar zero = symbols.pool().zero();
  if (split->innerSplit() &&
      indexAtStart(split->inner(), places, symbols, transforms).index == zero) {
    return nullptr;
  }
  const IndexAtStart start = indexAtStart(split->in(), places, symbols, transforms);
  return start.index == zero || !start.is_least ? nullptr : start.index;
}

/// Whether a statement reads what is there where elements exist: memory that others wrote, or what
/// was computed in the same loops, within their bounds. (On the CPU a task has shared memory to
/// itself.)
bool readsWithinBounds(const Leaf& leaf, bool on_cpu) {
  const std::vector<TensorView*> operands = tensorInputs(leaf.expr);
  return std::any_of(operands.begin(), operands.end(), [&](const TensorView* tv) {
    const MemoryType memory = tv->getMemoryType();
    return tv->definition() != nullptr &&
           (tv->getComputeAtPosition() > 0 || memory == MemoryType::Global ||
            (memory == MemoryType::Shared && !on_cpu));
  });
}

/// Splits of axes that are not those of the leaf's tensor, and that only loops lead to in each
/// iteration of which the tensor is computed anew: in registers, from what is there in all of them.
std::set<const Expr*> splitsForAnew(const Leaf& leaf, const std::vector<const Expr*>& schedule,
                                    const IdGraph& exact, bool on_cpu) {
  std::set<const Expr*> result;
  if (leaf.role == LeafRole::Whole || readsWithinBounds(leaf, on_cpu)) {
    return result;
  }
  std::set<int> own;
  for (const IterDomain* id : leaf.out->domain()->allIDs()) {
    own.insert(exact.classOf(id));
  }
  std::vector<const IterDomain*> inside;
  for (size_t i = static_cast<size_t>(leaf.out->getComputeAtPosition()); i < leaf.path.size();
       ++i) {
    inside.push_back(leaf.path[i]->promoted);
  }
  const std::vector<const Expr*> inner =
      transformsOf(std::move(inside), logicalClasses(leaf.out, exact), exact);
  for (const Expr* expr : schedule) {
    if (expr->isA<Split>() && own.count(exact.classOf(expr->as<Split>()->in())) == 0 &&
        std::find(inner.begin(), inner.end(), expr) == inner.end()) {
      result.insert(expr);
    }
  }
  return result;
}

}  // namespace

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

bool Predicates::dependsOn(Scalar index, bool blocks) const {
  return std::any_of(std::begin(kParallelTypeThreads), std::end(kParallelTypeThreads),
                     [&](ParallelType type) {
                       return isParallelTypeBlockDim(type) == blocks && loops_.isUsed(type) &&
                              kir::ScalarPool::contains(index, loops_.parallelIndex(type));
                     });
}

bool Predicates::isForOthers(const Bound& bound, const IterDomain* id, const Leaf& leaf) const {
  const auto found = read_beyond_.find(leaf.out);
  if (found == read_beyond_.end()) {
    return false;
  }
  const std::vector<IterDomain*> own = leaf.out->domain()->allIDs();
  const bool is_own = std::any_of(own.begin(), own.end(), [&](const IterDomain* other) {
    return !other->isBroadcast() && exact_.mapped(other, id);
  });
  const auto& types = found->second;
  const bool depends = std::any_of(types.begin(), types.end(), [&](ParallelType type) {
    return kir::ScalarPool::contains(bound.index, loops_.parallelIndex(type));
  });
  if (is_own || !depends) {
    return false;
  }
  if (leaf.role != LeafRole::Whole) {
    userError("lower: ", leaf.out, " is reduced or scanned in a loop that it shares, where ",
              bound.index->toString(), " < ", bound.extent->toString(),
              ", but a consumer outside of that loop reads it in other threads or blocks, too"
              "\n  help: inline it into that consumer, or inline what it reads no further than in "
              "front of that loop");
  }
  return true;
}

bool Predicates::isReadAgain(const Leaf& leaf, Scalar index) const {
  const bool whole = leaf.role == LeafRole::Whole || leaf.role == LeafRole::Step;
  const std::vector<TensorView*> results = tensorOutputs(leaf.expr);
  const bool is_read = std::any_of(results.begin(), results.end(),
                                   [](const TensorView* tv) { return !consumersOf(tv).empty(); });
  if (!is_read || (!whole && leaf.role != LeafRole::Finish) ||
      summed_in_memory_.count(leaf.out) != 0) {
    return false;
  }
  bool inside = false;
  bool outside = false;
  for (size_t i = 0; i < leaf.path.size(); ++i) {
    const LoopClass& loop = *leaf.path[i];
    if (kir::ScalarPool::contains(index, loop.index)) {
      if (loop.isThread()) {
        // (Where all threads have all elements, the first one writes: `writesOnce`.)
        if (loops_.isSpread(leaf.out, loop.parallel)) {
          return false;
        }
        continue;
      }
      const bool shared = i < static_cast<size_t>(leaf.out->getComputeAtPosition());
      (shared ? inside : outside) = true;
    }
  }
  return inside && (whole || !outside);
}

std::vector<Predicates::Bound> Predicates::bounds(const Leaf& leaf, const Places& places,
                                                  bool eliminate) const {
  std::vector<Bound> result;
  std::vector<const IterDomain*> axes;
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
    // (None may look at what another one writes where it does not need it: what is not broadcast,
    // no other one needs.)
    const bool looks =
        !loop->promoted->isBroadcast() && looksAtOthers(leaf.expr, loop->parallel, loops_);
    const bool redundant = one_element && own && !looks && !isFoldedIn(leaf, *loop);
    if (loop->isThread() && !redundant &&
        (!eliminate || loops_.dimension(loop->parallel) != loop->extent)) {
      const Bound bound{loops_.parallelIndex(loop->parallel), loop->extent};
      if (!isForOthers(bound, loop->promoted, leaf)) {
        result.push_back(bound);
      }
    }
    axes.push_back(loop->promoted);
  }
  const std::vector<const Expr*> schedule =
      transformsOf(axes, logicalClasses(leaf.out, exact_), exact_);
  const std::vector<const Expr*> transforms = transformsOf(std::move(axes), {}, exact_);
  // Splits that may be partial.
  std::vector<const Split*> partial;
  for (const Expr* expr : transforms) {
    if (expr->isA<Split>() && (!eliminate || !divides(expr->as<Split>()))) {
      partial.push_back(expr->as<Split>());
    }
  }
  const std::set<const Expr*> anew = in_registers
                                         ? splitsForAnew(leaf, schedule, exact_, loops_.isCpu())
                                         : std::set<const Expr*>();
  for (const Split* split : partial) {
    const IterDomain* id = split->in();
    // (In memory it has the bound of who has an axis there: so may have what it is computed from.)
    if (in_registers && isBroadcastIn(id, leaf.out, exact_)) {
      continue;  // one element, which is computed again and again
    }
    // o·f + n < |in| says o < ceilDiv(|in|, f): the outer part of an axis that is checked itself
    // needs no check.
    const Expr* def = id->definition();
    const auto isChecked = [&](const IterDomain* in) {
      return places.indexInLoops(in) != nullptr &&
             std::any_of(partial.begin(), partial.end(),
                         [&](const Split* other) { return other->in() == in; });
    };
    const bool implied = eliminate && def != nullptr && def->isA<Split>() &&
                         def->as<Split>()->outer() == id && isChecked(def->as<Split>()->in());
    if (implied) {
      continue;
    }
    Scalar index = places.indexInLoops(id);
    // Not of its own logical axes: what they were split from is reduced already, or not yet.
    // Registers may be computed once more where no element is, if what they are computed from is.
    const bool anywhere = anew.count(split) != 0 || (in_registers && leaf.role == LeafRole::Whole &&
                                                     !readsWithinBounds(leaf, loops_.isCpu()));
    if (index == nullptr && !anywhere &&
        std::find(schedule.begin(), schedule.end(), split) != schedule.end()) {
      index = partialIndex(split, places, symbols_, schedule);
    }
    if (index == nullptr) {
      continue;
    }
    // Of the threads of a block one writes the element, but each block needs it in memory of its
    // own, and it may be there for one iteration of a loop only.
    const bool by_one_thread = dependsOn(index, false) && !dependsOn(index, true);
    if (memory == MemoryType::Shared && id->isBroadcast() && !by_one_thread) {
      if (!in_registers) {
        requireOneWriter(leaf.out, index);
      }
      continue;
    }
    if (id->isBroadcast() && isReadAgain(leaf, index)) {
      continue;
    }
    const Bound bound{index, symbols_.extent(id)};
    if (!isForOthers(bound, id, leaf)) {
      result.push_back(bound);
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

Scalar Predicates::startsInside(const Leaf& leaf, const Places& places) const {
  kir::ScalarPool& pool = symbols_.pool();
  Scalar condition = pool.one();
  if (areOwn(leaf.out, leaf.path, exact_)) {
    return condition;
  }
  std::set<int> own;
  for (const IterDomain* id : leaf.out->domain()->allIDs()) {
    own.insert(exact_.classOf(id));
  }
  std::vector<const IterDomain*> axes;
  for (const LoopClass* loop : leaf.path) {
    if (!loop->isThread()) {
      axes.push_back(loop->promoted);
    }
  }
  const std::vector<const Expr*> schedule =
      transformsOf(std::move(axes), logicalClasses(leaf.out, exact_), exact_);
  // (Registers alone keep a sum from one iteration to the next.)
  const bool in_registers = leaf.out->getMemoryType() == MemoryType::Local;
  const std::set<const Expr*> anew = in_registers
                                         ? splitsForAnew(leaf, schedule, exact_, loops_.isCpu())
                                         : std::set<const Expr*>();
  for (const Expr* expr : schedule) {
    const auto* split = expr->isA<Split>() ? expr->as<Split>() : nullptr;
    if (split == nullptr || isBroadcastIn(split->in(), leaf.out, exact_) || divides(split) ||
        own.count(exact_.classOf(split->in())) != 0 || anew.count(expr) != 0) {
      continue;
    }
    Scalar index = places.indexInLoops(split->in());
    index = index != nullptr ? index : partialIndex(split, places, symbols_, schedule);
    if (index != nullptr) {
      condition = pool.logicalAnd(condition, pool.less(index, symbols_.extent(split->in())));
    }
  }
  return condition;
}

}  // namespace nvfuser
