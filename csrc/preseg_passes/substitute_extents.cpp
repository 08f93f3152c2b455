#include <preseg_passes/substitute_extents.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/builder.h>
#include <preseg_passes/substitute_scalars.h>

namespace nvfuser::preseg_passes {

namespace {

bool isSymbol(const Val* val) { return !val->isConst() && val->definition() == nullptr; }

/// Whether `a` is the better name for an extent.
bool better(const Val* a, const Val* b) {
  if (a->isConst() != b->isConst()) {
    return a->isConst();
  }
  return a->name() < b->name();
}

/// Symbols in operands that no pass can exchange.
std::unordered_set<const Val*> fixedSymbols(const Fusion& fusion) {
  std::unordered_set<const Val*> fixed;
  std::vector<const Val*> open;
  for (const Expr* expr : fusion.exprs()) {
    for (const Val* val : expr->fieldVals()) {
      open.push_back(val);
    }
  }
  while (!open.empty()) {
    const Val* val = open.back();
    open.pop_back();
    if (!val->isScalar() || !fixed.insert(val).second || val->definition() == nullptr) {
      continue;
    }
    const auto& inputs = val->definition()->inputs();
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  return fixed;
}

/// What each symbol is exchanged for.
std::unordered_map<const Val*, Val*> exchangeable(const Fusion& fusion,
                                                  const std::vector<std::pair<Val*, Val*>>& equal) {
  std::unordered_map<const Val*, Val*> new_of;
  const auto fixed = fixedSymbols(fusion);
  for (auto [symbol, other] : equal) {
    if (fixed.count(symbol) == 0) {
      new_of[symbol] = SimplifyingIrBuilder::maybeCastExpr(symbol->dtype(), other);
    }
  }
  return new_of;
}

}  // namespace

std::vector<std::pair<Val*, Val*>> equalExtents(const Fusion& fusion) {
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  std::unordered_map<Val*, Val*> parent;
  auto find = [&](Val* val) {
    for (auto up = parent.find(val); up != parent.end(); up = parent.find(val)) {
      val = up->second;
    }
    return val;
  };
  for (int c = 0; c < exact.numClasses(); ++c) {
    Val* first = nullptr;
    for (const IterDomain* id : exact.members(c)) {
      Val* extent = id->extent();
      if (id->isBroadcast() || (!isSymbol(extent) && !extent->isConst())) {
        continue;
      }
      Val* root = find(extent);
      if (first == nullptr) {
        first = root;
      } else if (root != first && !(root->isConst() && first->isConst())) {
        Val* winner = better(root, first) ? root : first;
        parent[winner == root ? first : root] = winner;
        first = winner;
      }
    }
  }
  std::vector<std::pair<Val*, Val*>> equal;
  for (const auto& [symbol, up] : parent) {
    equal.emplace_back(symbol, find(up));
  }
  std::sort(equal.begin(), equal.end(),
            [](const auto& a, const auto& b) { return a.first->name() < b.first->name(); });
  return equal;
}

void substituteExtents(Fusion& fusion) {
  FusionGuard guard(&fusion);
  auto new_of = exchangeable(fusion, equalExtents(fusion));
  if (!new_of.empty()) {
    ScalarSubstitution(fusion, std::move(new_of)).apply();
  }
}

}  // namespace nvfuser::preseg_passes
