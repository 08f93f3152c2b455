/// Walks over the graph of a Fusion: what its outputs need, in an order that can be computed.
#include <algorithm>
#include <unordered_set>

#include <ir/fusion.h>

namespace nvfuser {

namespace {

/// A set of the expressions of a Fusion: these have numbers.
class Marks {
 public:
  bool insert(const Expr* expr) {
    const auto place = static_cast<size_t>(expr->name());
    if (place >= marked_.size()) {
      marked_.resize(std::max(place + 1, 2 * marked_.size()), false);
    }
    const bool is_new = !marked_[place];
    marked_[place] = true;
    return is_new;
  }
  bool has(const Expr* expr) const {
    const auto place = static_cast<size_t>(expr->name());
    return place < marked_.size() && marked_[place];
  }

 private:
  std::vector<bool> marked_;
};

/// Values that an expression depends on: operands, and the extents of tensors made from nothing are
/// not operands.
std::vector<Expr*> expressionsLeadingTo(const std::vector<Val*>& targets,
                                        const std::vector<std::unique_ptr<Expr>>& all) {
  Marks needed;
  std::vector<const Val*> open(targets.begin(), targets.end());
  while (!open.empty()) {
    const Val* val = open.back();
    open.pop_back();
    const Expr* def = val->definition();
    if (def == nullptr || !needed.insert(def)) {
      continue;
    }
    open.insert(open.end(), def->inputs().begin(), def->inputs().end());
    open.insert(open.end(), def->outputs().begin(), def->outputs().end());
  }
  // Definition order is topological unless scheduling inserted expressions (caches, rFactor) later
  // on.
  std::vector<Expr*> sorted;
  Marks done;
  std::vector<std::pair<Expr*, size_t>> stack;
  for (const auto& root : all) {
    if (!needed.has(root.get()) || done.has(root.get())) {
      continue;
    }
    stack.emplace_back(root.get(), 0);
    while (!stack.empty()) {
      auto& [expr, next] = stack.back();
      if (next == expr->inputs().size()) {
        if (done.insert(expr)) {
          sorted.push_back(expr);
        }
        stack.pop_back();
        continue;
      }
      Expr* def = expr->inputs()[next++]->definition();
      if (def != nullptr && !done.has(def)) {
        stack.emplace_back(def, 0);
      }
    }
  }
  return sorted;
}

}  // namespace

std::vector<Expr*> Fusion::exprs() const { return expressionsLeadingTo(outputs_, exprs_); }

std::vector<Val*> Fusion::usedMathVals() const {
  std::vector<Val*> result(inputs_.begin(), inputs_.end());
  std::unordered_set<const Val*> seen(inputs_.begin(), inputs_.end());
  for (Expr* expr : exprs()) {
    for (const auto* list : {&expr->inputs(), &expr->outputs()}) {
      for (Val* val : *list) {
        if (seen.insert(val).second) {
          result.push_back(val);
        }
      }
    }
  }
  for (Val* val : outputs_) {
    if (seen.insert(val).second) {
      result.push_back(val);
    }
  }
  return result;
}

std::vector<TensorView*> Fusion::allTvs() const {
  std::vector<TensorView*> result;
  for (Val* val : usedMathVals()) {
    if (val->isA<TensorView>()) {
      result.push_back(val->as<TensorView>());
    }
  }
  return result;
}

std::vector<Expr*> Fusion::usesOf(const Val* val) const {
  // An expression is alive if it leads to an output: walk forward from its results.
  std::vector<Expr*> alive;
  for (Expr* use : val->uses()) {
    std::vector<const Expr*> open{use};
    Marks seen;
    bool found = false;
    while (!open.empty() && !found) {
      const Expr* expr = open.back();
      open.pop_back();
      if (!seen.insert(expr)) {
        continue;
      }
      for (const Val* out : expr->outputs()) {
        if (out->isFusionOutput()) {
          found = true;
        }
        for (const Expr* next : out->uses()) {
          open.push_back(next);
        }
      }
    }
    if (found) {
      alive.push_back(use);
    }
  }
  return alive;
}

bool Fusion::isNoOp() const { return exprs().empty(); }

}  // namespace nvfuser
