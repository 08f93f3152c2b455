#include <preseg_passes/substitute_extents.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/builder.h>

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
    for (const Attribute& attribute : expr->attributes()) {
      if (const auto* val = std::get_if<Val*>(&attribute); val != nullptr && *val != nullptr) {
        open.push_back(*val);
      }
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

class Substitution {
 public:
  Substitution(Fusion& fusion, const std::vector<std::pair<Val*, Val*>>& equal) : fusion_(fusion) {
    const auto fixed = fixedSymbols(fusion);
    for (auto [symbol, other] : equal) {
      if (fixed.count(symbol) == 0) {
        new_of_[symbol] = SimplifyingIrBuilder::maybeCastExpr(symbol->dtype(), other);
      }
    }
  }

  bool empty() const { return new_of_.empty(); }

  void operands(Expr* expr) {
    const std::vector<Val*> inputs = expr->inputs();
    for (Val* in : inputs) {
      if (in->isScalar() && of(in) != in && contains(expr->inputs(), in)) {
        fusion_.replaceInput(expr, in, of(in));
      }
    }
  }

  void axes(TensorView* tv) {
    const TensorDomain* domain = tv->domain();
    const std::vector<IterDomain*> ids = domain->allIDs();
    const std::vector<Expr*> transforms = domain->allExprs();
    const bool changes = std::any_of(ids.begin(), ids.end(), [&](IterDomain* id) {
      return of(id->start()) != id->start() || of(id->extent()) != id->extent() ||
             of(id->expandedExtent()) != id->expandedExtent();
    });
    const bool known = std::all_of(transforms.begin(), transforms.end(), [](const Expr* expr) {
      return expr->isOneOf<Split, Merge, Resize>();
    });
    if (!changes || !known) {
      return;
    }
    std::unordered_map<const Val*, IterDomain*> fresh;
    for (IterDomain* id : ids) {
      fresh[id] = IterDomainBuilder(id)
                      .start(of(id->start()))
                      .extent(of(id->extent()))
                      .expanded_extent(of(id->expandedExtent()))
                      .stop_offset(of(id->stopOffset()))
                      .build();
    }
    for (const Expr* expr : transforms) {
      transform(expr, fresh);
    }
    auto mapped = [&](const std::vector<IterDomain*>& list) {
      std::vector<IterDomain*> result;
      for (const IterDomain* id : list) {
        result.push_back(fresh.at(id));
      }
      return result;
    };
    auto* replacement = IrBuilder::createInContainer<TensorDomain>(
        &fusion_, mapped(domain->root()), mapped(domain->logical()), mapped(domain->allocation()),
        mapped(domain->loop()), domain->contiguity(), mapped(domain->additionalIDs()));
    ReplaceDomain::set(tv, replacement);
  }

 private:
  static bool contains(const std::vector<Val*>& list, const Val* val) {
    return std::find(list.begin(), list.end(), val) != list.end();
  }

  void transform(const Expr* expr, const std::unordered_map<const Val*, IterDomain*>& fresh) {
    if (expr->isA<Split>()) {
      const auto* split = expr->as<Split>();
      IrBuilder::createInContainer<Split>(&fusion_, fresh.at(split->outer()),
                                          fresh.at(split->inner()), fresh.at(split->in()),
                                          of(split->factor()), split->innerSplit());
    } else if (expr->isA<Merge>()) {
      const auto* merge = expr->as<Merge>();
      IrBuilder::createInContainer<Merge>(&fusion_, fresh.at(merge->out()),
                                          fresh.at(merge->outer()), fresh.at(merge->inner()));
    } else {
      const auto* resize = expr->as<Resize>();
      IrBuilder::createInContainer<Resize>(&fusion_, fresh.at(resize->out()),
                                           fresh.at(resize->in()), of(resize->leftExpand()),
                                           of(resize->rightExpand()));
    }
  }

  /// The scalar with its symbols exchanged; itself if it has none of them.
  Val* of(Val* val) {
    if (val == nullptr || val->isConst()) {
      return val;
    }
    const auto found = new_of_.find(val);
    if (found != new_of_.end()) {
      return found->second;
    }
    const Expr* def = val->definition();
    Val* result = def == nullptr ? val : computed(val, def);
    new_of_[val] = result;
    return result;
  }

  Val* computed(Val* val, const Expr* def) {
    std::vector<Val*> operands;
    bool changed = false;
    for (Val* in : def->inputs()) {
      operands.push_back(in->isScalar() ? of(in) : in);
      changed |= operands.back() != in;
    }
    if (!changed) {
      return val;
    }
    Val* result = nullptr;
    if (def->isA<BinaryOp>()) {
      result = SimplifyingIrBuilder::binaryExpr(def->as<BinaryOp>()->getBinaryOpType(), operands[0],
                                                operands[1]);
    } else if (def->isA<UnaryOp>() && def->as<UnaryOp>()->getUnaryOpType() != UnaryOpType::Cast) {
      result = IrBuilder::unaryExpr(def->as<UnaryOp>()->getUnaryOpType(), operands[0]);
    } else if (def->isOneOf<UnaryOp, LoadStoreOp>()) {
      result = operands[0];
    } else if (def->isA<TernaryOp>() &&
               def->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Where) {
      result = SimplifyingIrBuilder::whereExpr(operands[0], operands[1], operands[2]);
    } else {
      result = IrBuilder::createInContainer<Val>(&fusion_, val->dtype());
      IrBuilder::createInContainer<TernaryOp>(&fusion_, def->as<TernaryOp>()->getTernaryOpType(),
                                              result, operands[0], operands[1], operands[2]);
    }
    return SimplifyingIrBuilder::maybeCastExpr(val->dtype(), result);
  }

  Fusion& fusion_;
  std::unordered_map<const Val*, Val*> new_of_;
};

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
  Substitution substitution(fusion, equalExtents(fusion));
  if (substitution.empty()) {
    return;
  }
  for (Expr* expr : fusion.exprs()) {
    if (!tensorOutputs(expr).empty()) {
      substitution.operands(expr);
    }
  }
  for (TensorView* tv : fusion.allTvs()) {
    substitution.axes(tv);
  }
}

}  // namespace nvfuser::preseg_passes
