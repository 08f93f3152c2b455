#include <preseg_passes/merge_reductions.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <ir/exact_numerics.h>
#include <ir/internal_nodes.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Whether so many axes, of which `reduced` go, keep none between two that go.
bool keepsOneSide(const std::vector<int64_t>& reduced, size_t axes) {
  const bool are_together =
      reduced.back() - reduced.front() + 1 == static_cast<int64_t>(reduced.size());
  return are_together && (reduced.front() == 0 || reduced.back() + 1 == static_cast<int64_t>(axes));
}

/// A sum over an axis of c·x is c times the sum.
bool scales(const Expr* expr) {
  const auto* op = dynamic_cast<const BinaryOp*>(expr);
  if (op == nullptr || !isFloatingPointType(op->out()->dtype())) {
    return false;
  }
  const bool by_right = op->lhs()->isA<TensorView>() && op->rhs()->isScalar();
  return by_right ? op->getBinaryOpType() == BinaryOpType::Mul ||
                        op->getBinaryOpType() == BinaryOpType::Div
                  : op->lhs()->isScalar() && op->getBinaryOpType() == BinaryOpType::Mul;
}

/// What computes `tv` element by element is made of these: inputs and results of other operations.
std::set<const TensorView*> sourcesOf(const TensorView* tv) {
  std::set<const TensorView*> sources;
  std::set<const TensorView*> seen{tv};
  std::vector<const TensorView*> open{tv};
  while (!open.empty()) {
    const TensorView* next = open.back();
    open.pop_back();
    const Expr* def = next->definition();
    if (def == nullptr || !def->isOneOf<UnaryOp, BinaryOp, TernaryOp, BroadcastOp, SqueezeOp,
                                        ExpandOp, LoadStoreOp>()) {
      sources.insert(next);
      continue;
    }
    for (const Val* in : def->inputs()) {
      const auto* operand = dynamic_cast<const TensorView*>(in);
      if (operand != nullptr && seen.insert(operand).second) {
        open.push_back(operand);
      }
    }
  }
  return sources;
}

struct Nested {
  ReductionOp* outer;
  ReductionOp* inner;
  std::vector<const Expr*> between;  ///< the inner one's reader first
};

class Merging {
 public:
  explicit Merging(Fusion& fusion) : counts_(fusion) {
    for (Expr* expr : fusion.exprs()) {
      if (isReduction(expr)) {
        reductions_.push_back(expr);
      }
    }
  }

  /// Whether any was merged.
  bool run() {
    std::vector<Nested> found;
    std::set<const Expr*> nested;
    for (Expr* expr : reductions_) {
      auto* op = dynamic_cast<ReductionOp*>(expr);
      if (std::optional<Nested> pair = op != nullptr ? nestedIn(op) : std::nullopt) {
        nested.insert({pair->outer, pair->inner});
        found.push_back(std::move(*pair));
      }
    }
    bool merged = false;
    std::set<const Expr*> done;
    for (const Nested& pair : found) {
      // Of three, two now, and the rest when the pass comes again.
      if (done.count(pair.inner) == 0 && isOnItsOwn(pair, nested)) {
        merged |= merge(pair);
        done.insert(pair.outer);
      }
    }
    return merged;
  }

 private:
  std::optional<Nested> nestedIn(ReductionOp* outer) const {
    Nested pair{outer, nullptr, {}};
    const Val* operand = outer->in();
    const bool is_sum = outer->getReductionOpType() == BinaryOpType::Add;
    while (counts_.of(operand) == 1 && operand->definition() != nullptr) {
      Expr* def = operand->definition();
      if (auto* inner = dynamic_cast<ReductionOp*>(def)) {
        pair.inner = inner;
        break;
      }
      if (!isPlainCopy(def) && !(is_sum && scales(def))) {
        return std::nullopt;
      }
      if (!isPlainCopy(def)) {
        pair.between.insert(pair.between.begin(), def);
      }
      operand = def->input(def->input(0)->isA<TensorView>() ? 0 : 1);
    }
    return pair.inner != nullptr && areAlike(*outer, *pair.inner) &&
                   keepsOneSide(axesOfBoth(pair), axesOf(pair.inner))
               ? std::optional(std::move(pair))
               : std::nullopt;
  }

  static bool areAlike(const ReductionOp& outer, const ReductionOp& inner) {
    const BinaryOpType type = outer.getReductionOpType();
    const bool is_known =
        type == BinaryOpType::Add || type == BinaryOpType::Max || type == BinaryOpType::Min;
    return is_known && inner.getReductionOpType() == type &&
           outer.in()->dtype() == inner.in()->dtype() && outer.init()->sameAs(inner.init()) &&
           (type != BinaryOpType::Add || outer.init()->isZero());
  }

  static size_t axesOf(const ReductionOp* op) {
    return ops::axesOf(op->in()->as<TensorView>()).size();
  }

  static std::vector<int64_t> axesOfBoth(const Nested& pair) {
    std::vector<int64_t> reduced = ops::reducedAxes(pair.inner->out()->as<TensorView>());
    std::vector<int64_t> kept;
    for (int64_t axis = 0; axis < static_cast<int64_t>(axesOf(pair.inner)); ++axis) {
      if (std::find(reduced.begin(), reduced.end(), axis) == reduced.end()) {
        kept.push_back(axis);
      }
    }
    for (int64_t axis : ops::reducedAxes(pair.outer->out()->as<TensorView>())) {
      reduced.push_back(kept[static_cast<size_t>(axis)]);
    }
    std::sort(reduced.begin(), reduced.end());
    return reduced;
  }

  /// Whether no reduction that stays as it is reads what the inner one is made of, and that is made
  /// of none.
  bool isOnItsOwn(const Nested& pair, const std::set<const Expr*>& nested) const {
    const std::set<const TensorView*> sources = sourcesOf(pair.inner->in()->as<TensorView>());
    const auto isReduced = [](const TensorView* tv) {
      return tv->definition() != nullptr &&
             (isReduction(tv->definition()) || tv->definition()->isA<ScanOp>());
    };
    if (std::any_of(sources.begin(), sources.end(), isReduced)) {
      return false;
    }
    return std::none_of(reductions_.begin(), reductions_.end(), [&](const Expr* other) {
      if (nested.count(other) != 0) {
        return false;
      }
      const std::set<const TensorView*> its = sourcesOf(other->input(0)->as<TensorView>());
      return std::any_of(its.begin(), its.end(),
                         [&](const TensorView* tv) { return sources.count(tv) != 0; });
    });
  }

  static bool merge(const Nested& pair) {
    auto* old = pair.outer->out()->as<TensorView>();
    TensorView* result = reductionOp(pair.outer->getReductionOpType(), axesOfBoth(pair),
                                     pair.outer->init(), pair.inner->in()->as<TensorView>());
    for (const Expr* expr : pair.between) {
      std::vector<Val*> operands = expr->inputs();
      operands[operands[0]->isA<TensorView>() ? 0 : 1] = result;
      result = applyTo(expr, operands);
    }
    const bool fits = sameForm(old, result);
    if (fits) {
      replaceTensor(old, result);
    }
    return fits;
  }

  ReaderCounts counts_;
  std::vector<Expr*> reductions_;
};

}  // namespace

void mergeReductions(Fusion& fusion) {
  if (reducesInOrder(fusion)) {
    return;
  }
  FusionGuard guard(&fusion);
  // As often as reductions are nested: each time sees the ones before as one.
  while (Merging(fusion).run()) {
  }
}

}  // namespace nvfuser::preseg_passes
