/// Unswitch: one condition around a loop, in front of a copy of it without conditions.
///
///   for v < 4 { if (i + v < n) … }     →     if (i + 3 < n) { for v < 4 { … } }
///                                            else { for v < 4 { if (i + v < n) … } }
///
/// Where all statements ask for the same, which no loop inside changes, nothing is left to do in
/// the other copy:
///
///   for v < 4 { if (i < n) … }         →     if (i < n) { for v < 4 { … } }
#include <algorithm>
#include <set>

#include <device_lower/kernel_builder.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Whether an index does not get less as a loop's variable grows: a sum where the variable occurs
/// as itself, times extents, or in the dividend of a quotient.
bool growsWith(kir::ScalarPool& pool, Scalar index, Scalar variable, const Symbols& symbols) {
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  pool.decompose(index, &value, &terms);
  return std::all_of(terms.begin(), terms.end(), [&](const auto& part) {
    const auto& [term, coefficient] = part;
    if (!kir::ScalarPool::contains(term, variable)) {
      return true;
    }
    if (coefficient >= 0 && term->op == kir::ScalarOp::Div) {
      return !kir::ScalarPool::contains(term->args[1], variable) &&
             growsWith(pool, term->args[0], variable, symbols);
    }
    if (coefficient < 0 || (term != variable && term->op != kir::ScalarOp::Product)) {
      return false;
    }
    int64_t times = term == variable ? 1 : 0;
    for (Scalar factor : term->args) {
      const std::vector<Scalar> used = kir::ScalarPool::symbolsOf(factor);
      times += factor == variable ? 1 : 0;
      if (factor != variable && !std::all_of(used.begin(), used.end(), [&](Scalar s) {
            return symbols.sources().count(s) != 0;
          })) {
        return false;
      }
    }
    return times == 1;
  });
}

bool growsWithAll(kir::ScalarPool& pool, Scalar index, const std::vector<const LoopClass*>& loops,
                  const Symbols& symbols) {
  return std::all_of(loops.begin(), loops.end(), [&](const LoopClass* loop) {
    return growsWith(pool, index, loop->index, symbols);
  });
}

/// An index in the last iteration of all these loops.
Scalar atLast(kir::ScalarPool& pool, Scalar index, const std::vector<const LoopClass*>& loops) {
  std::unordered_map<Scalar, Scalar> last;
  for (const LoopClass* loop : loops) {
    last[loop->index] = pool.sub(loop->extent, pool.one());
  }
  return pool.substitute(index, last);
}

}  // namespace

/// What the statements inside of an unswitched loop ask for.
struct KernelBuilder::AskedInside {
  /// Their bounds, at the last iteration of all loops inside.
  Scalar fits = nullptr;
  /// Only indices that grow with every loop variable can be judged there; one that does not keeps
  /// the loop as it is.
  bool monotone = true;
  /// What each asks for itself; null among them: its elements have conditions of their own.
  std::set<Scalar> conditions;
};

void KernelBuilder::collectAsked(Leaf& leaf, const std::vector<const LoopClass*>& inside,
                                 AskedInside& asked) {
  const LoopClass* vector = nullptr;
  Replaced replaced;
  bool partial = false;
  if (isVectorized(leaf, &vector)) {
    wholeVectorInside(leaf, vector, &partial);
    replaced[vector] = partial ? pool_.sub(vector->extent, pool_.one()) : pool_.zero();
  }
  Places places = indexer_.around(leaf, replaced);
  // (A sum starts, and is finished, under conditions of its own.)
  const bool by_bounds = takesElements(leaf.role);
  asked.conditions.insert(by_bounds ? predicates_.inBounds(leaf, places) : pool_.one());
  if (partial) {
    asked.conditions.insert(nullptr);
  }
  for (const auto& bound : predicates_.bounds(leaf, places)) {
    asked.monotone &= growsWithAll(pool_, bound.index, inside, symbols_);
    asked.fits =
        pool_.logicalAnd(asked.fits, pool_.less(atLast(pool_, bound.index, inside), bound.extent));
  }
}

void KernelBuilder::collectAsked(LoopNode& node, std::vector<const LoopClass*> inside,
                                 AskedInside& asked) {
  if (node.loop != nullptr && node.loop->index->op == kir::ScalarOp::Symbol &&
      !node.loop->isThread()) {
    inside.push_back(node.loop);
  }
  if (node.leaf) {
    collectAsked(*node.leaf, inside, asked);
  }
  for (LoopNode& child : node.children) {
    collectAsked(child, inside, asked);
  }
}

void KernelBuilder::unrolledLoop(LoopNode& node, bool proven, kir::Block& out) {
  const LoopClass& loop = *node.loop;
  kir::For statement;
  statement.var = loop.index;
  statement.extent = loop.extent;
  statement.descending = loop.descending;
  statement.kind = kir::LoopKind::Unrolled;
  statement.comment = loopComment(loop, exact_);
  statement.body = std::make_shared<kir::Block>();
  kir::Block& block = loop.index->isConstant() ? out : *statement.body;  // once: no loop
  const bool outer = bounds_proven_;
  bounds_proven_ = outer || proven;
  declare(node, block);
  children(node, block);
  bounds_proven_ = outer;
  if (!loop.index->isConstant()) {
    out.push_back({std::move(statement)});
  }
}

void KernelBuilder::unswitch(LoopNode& node, kir::Block& out) {
  AskedInside asked;
  asked.fits = pool_.one();
  collectAsked(node, {}, asked);
  const Scalar fits = asked.fits;
  if (!asked.monotone || exchangesData(node) || fits->isConstant(1) || bounds_proven_) {
    unrolledLoop(node, asked.monotone && fits->isConstant(1), out);
    return;
  }
  if (asked.conditions == std::set<Scalar>{pool_.one()}) {
    unrolledLoop(node, false, out);
    return;
  }
  if (asked.conditions == std::set<Scalar>{fits}) {  // all or nothing
    kir::Block proven;
    unrolledLoop(node, true, proven);
    guarded(fits, std::move(proven), out);
    return;
  }
  kir::If branch;
  branch.condition = fits;
  branch.then_body = std::make_shared<kir::Block>();
  branch.else_body = std::make_shared<kir::Block>();
  unrolledLoop(node, true, *branch.then_body);
  unrolledLoop(node, false, *branch.else_body);
  out.push_back({std::move(branch)});
}

}  // namespace nvfuser
