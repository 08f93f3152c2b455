#include <preseg_passes/join_equal.h>

#include <algorithm>
#include <unordered_map>

#include <ir/view_ops.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool canBeEqual(const Expr* expr) {
  const auto& in = expr->inputs();
  const auto& out = expr->outputs();
  return expr->isDeterministic() && !expr->isA<RNGOp>() &&
         std::any_of(in.begin(), in.end(), [](const Val* val) { return val->isA<TensorView>(); }) &&
         !out.empty() && std::all_of(out.begin(), out.end(), [](const Val* val) {
           return val->isA<TensorView>() && !val->as<TensorView>()->hasAllocation();
         });
}

/// Whether elements of its result are read at an index.
bool isReadAtIndex(const Expr* expr) {
  const std::vector<Expr*> uses = expr->fusion()->usesOf(expr->output(0));
  return std::any_of(uses.begin(), uses.end(), [&](const Expr* use) {
    return use->isOneOf<GatherOp, IndexSelectOp>() && use->input(0) == expr->output(0);
  });
}

/// An element of it costs its readers nothing but a register.
bool isFree(const Expr* expr) {
  return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp, LoadStoreOp>() ||
         (expr->isA<BroadcastOp>() && !isReadAtIndex(expr));
}

/// Whether it pads a part of a join: a kernel that has both reads the part, not the pad.
bool padsPart(const Expr* expr) {
  const std::vector<Expr*> uses = expr->fusion()->usesOf(expr->output(0));
  return expr->isA<PadOp>() &&
         std::any_of(uses.begin(), uses.end(), [](const Expr* use) { return use->isA<CatOp>(); });
}

bool isOutput(const Expr* expr) { return expr->output(0)->isFusionOutput(); }

/// Walks both domains from root to logical axes. The axes of a result say what its operands cannot:
/// which of them are reduced, in which order they come, the sizes of a reshape.
bool sameAxes(const TensorView* a, const TensorView* b) {
  const TensorDomain* first = a->domain();
  const TensorDomain* second = b->domain();
  std::unordered_map<const Val*, const Val*> partner;
  auto meet = [&](const Val* x, const Val* y) {
    return partner.emplace(x, y).second && x->sameAs(y);
  };
  auto haveMet = [&](const Val* x, const Val* y) {
    const auto found = partner.find(x);
    return found != partner.end() && found->second == y;
  };
  auto each = [](const auto& xs, const auto& ys, const auto& condition) {
    return std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(), condition);
  };
  return each(first->maybeRoot(), second->maybeRoot(), meet) &&
         each(first->allExprs(), second->allExprs(),
              [&](const Expr* x, const Expr* y) {
                return x->sameOp(y) && each(x->inputs(), y->inputs(), haveMet) &&
                       each(x->outputs(), y->outputs(), meet);
              }) &&
         each(first->logical(), second->logical(), haveMet);
}

bool sameResult(const Val* a, const Val* b) {
  const auto* first = a->as<TensorView>();
  const auto* second = b->as<TensorView>();
  return first->dtype() == second->dtype() && first->isCpuScalar() == second->isCpuScalar() &&
         sameAxes(first, second);
}

/// Finds operations that were met before with operands of the same values.
class Joining {
 public:
  /// An earlier operation that this one is equal to; nothing for the first of its kind.
  Expr* firstOf(Expr* expr) {
    std::vector<Expr*>& alike = seen_[hashOf(expr)];
    const auto first = std::find_if(alike.begin(), alike.end(),
                                    [&](const Expr* other) { return areEqual(other, expr); });
    if (first != alike.end()) {
      return *first;
    }
    alike.push_back(expr);
    return nullptr;
  }

  void noteEqual(const Expr* expr, const Expr* first) {
    for (size_t i = 0; i < expr->outputs().size(); ++i) {
      first_[expr->output(i)] = first->output(i);
    }
  }

 private:
  const Val* valueOf(const Val* val) const {
    const auto found = first_.find(val);
    return found == first_.end() ? val : found->second;
  }

  bool areEqual(const Expr* a, const Expr* b) const {
    auto same = [&](const Val* x, const Val* y) { return valueOf(x)->sameAs(valueOf(y)); };
    const auto& in = a->inputs();
    const auto& out = a->outputs();
    return a->sameOp(b) && std::equal(in.begin(), in.end(), b->inputs().begin(), same) &&
           std::equal(out.begin(), out.end(), b->outputs().begin(), b->outputs().end(), sameResult);
  }

  size_t hashOf(const Expr* expr) const {
    auto hash = static_cast<size_t>(expr->kind());
    for (const Val* in : expr->inputs()) {
      hash = hash * 1099511628211U + valueOf(in)->fingerprint().high;
    }
    return hash;
  }

  std::unordered_map<size_t, std::vector<Expr*>> seen_;
  std::unordered_map<const Val*, const Val*> first_;
};

}  // namespace

void joinEqual(Fusion& fusion) {
  Joining joining;
  for (Expr* expr : fusion.exprs()) {
    Expr* first = canBeEqual(expr) ? joining.firstOf(expr) : nullptr;
    if (first == nullptr) {
      continue;
    }
    joining.noteEqual(expr, first);
    if (isViewOp(expr) && expr->output(0)->isFusionOutput()) {
      continue;  // costs nothing by itself
    }
    if ((isOutput(expr) && padsPart(first)) || (isOutput(first) && padsPart(expr))) {
      continue;  // an output is stored, and who reads it reads what was stored
    }
    for (size_t i = 0; i < expr->outputs().size() && !isFree(expr); ++i) {
      replaceTensor(expr->output(i)->as<TensorView>(), first->output(i)->as<TensorView>());
    }
  }
}

}  // namespace nvfuser::preseg_passes
