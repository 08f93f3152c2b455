#include <preseg_passes/join_sums.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ir/exact_numerics.h>
#include <ir/internal_nodes.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Extents of all axes.
using Shape = std::vector<const Val*>;

Shape shapeOf(const TensorView* tv) {
  Shape shape;
  for (const IterDomain* axis : ops::axesOf(tv)) {
    shape.push_back(ops::extentOf(axis));
  }
  return shape;
}

bool hasBroadcasts(const TensorView* tv) {
  const auto axes = ops::axesOf(tv);
  return std::any_of(axes.begin(), axes.end(),
                     [](const IterDomain* axis) { return axis->isBroadcast(); });
}

/// Tensors of one shape that element-wise operations connect.
class Regions {
 public:
  explicit Regions(const Fusion& fusion) : exprs_(fusion.exprs()) {
    for (const Expr* expr : exprs_) {
      if (isElementWise(expr)) {
        const auto* out = expr->output(0)->as<TensorView>();
        for (const Val* in : expr->inputs()) {
          const auto* operand = dynamic_cast<const TensorView*>(in);
          if (operand != nullptr && !hasBroadcasts(operand) && shapeOf(operand) == shapeOf(out)) {
            parent_[find(operand)] = find(out);
          }
        }
      }
    }
  }

  const TensorView* find(const TensorView* tv) {
    while (true) {
      const TensorView*& above = parent_.try_emplace(tv, tv).first->second;
      if (above == tv) {
        return tv;
      }
      tv = above = parent_.at(above);
    }
  }

  /// Whether nothing that the region computes comes back to it by a way around.
  bool isConvex(const TensorView* region) {
    const auto [known, is_new] = convex_.try_emplace(region, true);
    if (is_new) {
      std::set<const Val*> outside;  // what is made of the region beside it
      for (const Expr* expr : exprs_) {
        const bool is_inside =
            expr->output(0)->isA<TensorView>() && find(expr->output(0)->as<TensorView>()) == region;
        for (const Val* in : expr->inputs()) {
          const bool comes_from_it = in->isA<TensorView>() && in->definition() != nullptr &&
                                     find(in->as<TensorView>()) == region;
          const bool leaves = outside.count(in) != 0 || (comes_from_it && !isElementWise(expr));
          if (leaves && is_inside) {
            known->second = false;
          } else if (leaves || (comes_from_it && !is_inside)) {
            outside.insert(expr->outputs().begin(), expr->outputs().end());
          }
        }
      }
    }
    return known->second;
  }

 private:
  static bool isElementWise(const Expr* expr) {
    return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>() ? expr->output(0)->isA<TensorView>()
                                                         : isPlainCopy(expr);
  }

  std::vector<Expr*> exprs_;
  std::unordered_map<const TensorView*, const TensorView*> parent_;
  std::map<const TensorView*, bool> convex_;
};

/// Half precision would be rounded at each addition, which its sums are not.
bool isAddedExactlyEnough(DataType dtype) {
  return isFloatingPointType(dtype) && !isReducedPrecisionFloat(dtype);
}

/// What is added up, or subtracted.
struct Term {
  TensorView* tv;
  bool is_negative;
};

/// Sums that are one: over the same axes of tensors of one region, which may be kept.
struct Alike {
  const TensorView* region;
  std::vector<int64_t> reduced;
  std::vector<bool> broadcasts;  ///< of the result, where there are any
  std::vector<Term> operands;
};

class JoiningSums {
 public:
  explicit JoiningSums(Fusion& fusion) : fusion_(fusion), counts_(fusion), regions_(fusion) {}

  void run() {
    std::set<const Expr*> inner;  // parts of a larger total
    std::vector<Expr*> exprs = fusion_.exprs();
    for (auto expr = exprs.rbegin(); expr != exprs.rend(); ++expr) {
      if (isAddition(*expr) && inner.count(*expr) == 0) {
        std::vector<Term> terms;
        collect((*expr)->output(0)->as<TensorView>(), terms, inner);
        join((*expr)->output(0)->as<TensorView>(), terms);
      }
    }
  }

 private:
  static bool isAddition(const Expr* expr) {
    const auto* op = dynamic_cast<const BinaryOp*>(expr);
    return op != nullptr && op->out()->isA<TensorView>() &&
           isAddedExactlyEnough(op->out()->dtype()) &&
           (op->getBinaryOpType() == BinaryOpType::Add ||
            op->getBinaryOpType() == BinaryOpType::Sub) &&
           op->lhs()->isA<TensorView>() && op->rhs()->isA<TensorView>() &&
           sameForm(op->lhs()->as<TensorView>(), op->out()->as<TensorView>()) &&
           sameForm(op->rhs()->as<TensorView>(), op->out()->as<TensorView>());
  }

  static bool isNegation(const Expr* expr) {
    const auto* op = dynamic_cast<const UnaryOp*>(expr);
    return op != nullptr && op->getUnaryOpType() == UnaryOpType::Neg &&
           isAddedExactlyEnough(op->out()->dtype());
  }

  /// The terms of `total`, from left to right; on a stack, since a recurrence has thousands.
  void collect(TensorView* total, std::vector<Term>& terms, std::set<const Expr*>& inner) const {
    std::vector<Term> open{{total, false}};
    while (!open.empty()) {
      const Term term = open.back();
      open.pop_back();
      const Expr* def = term.tv->definition();
      const bool is_read_here = term.tv == total || counts_.of(term.tv) == 1;
      if (def != nullptr && is_read_here && isAddition(def)) {
        inner.insert(def);
        const auto* op = def->as<BinaryOp>();
        const bool subtracts = op->getBinaryOpType() == BinaryOpType::Sub;
        open.push_back({op->rhs()->as<TensorView>(), term.is_negative != subtracts});
        open.push_back({op->lhs()->as<TensorView>(), term.is_negative});
      } else if (def != nullptr && is_read_here && isNegation(def)) {
        open.push_back({def->input(0)->as<TensorView>(), !term.is_negative});
      } else {
        terms.push_back(term);
      }
    }
  }

  void join(TensorView* total, const std::vector<Term>& terms) {
    std::vector<Alike> sums;
    std::vector<Term> others;
    for (const Term& term : terms) {
      std::optional<Alike> one = sumOf(term);
      if (!one) {
        others.push_back(term);
        continue;
      }
      const auto found = std::find_if(sums.begin(), sums.end(), [&](const Alike& each) {
        return each.region == one->region && each.reduced == one->reduced &&
               each.broadcasts == one->broadcasts;
      });
      if (found == sums.end()) {
        sums.push_back(std::move(*one));
      } else {
        found->operands.push_back(one->operands[0]);
      }
    }
    if (sums.size() + others.size() < terms.size()) {
      for (const Alike& alike : sums) {
        TensorView* one = sum(added(alike.operands), alike.reduced);
        others.push_back(
            {alike.broadcasts.empty() ? one : broadcast(one, alike.broadcasts), false});
      }
      replaceTensor(total, added(others));
    }
  }

  /// The sum that a term is, of one operand, if it may be one with others.
  std::optional<Alike> sumOf(const Term& term) {
    const TensorView* result = term.tv;
    Alike one;
    if (const auto* kept = dynamic_cast<const BroadcastOp*>(result->definition());
        kept != nullptr && counts_.of(result) == 1) {
      one.broadcasts = kept->flags();
      result = kept->in()->as<TensorView>();
    }
    const auto* sum = dynamic_cast<const ReductionOp*>(result->definition());
    if (sum == nullptr || counts_.of(result) != 1 ||
        sum->getReductionOpType() != BinaryOpType::Add || !sum->init()->isZero()) {
      return std::nullopt;
    }
    auto* operand = sum->in()->as<TensorView>();
    one.region = regions_.find(operand);
    one.reduced = ops::reducedAxes(result);
    one.operands = {{operand, term.is_negative}};
    return regions_.isConvex(one.region) ? std::optional(std::move(one)) : std::nullopt;
  }

  static TensorView* added(const std::vector<Term>& terms) {
    TensorView* all = terms[0].is_negative ? neg(terms[0].tv) : terms[0].tv;
    for (size_t i = 1; i < terms.size(); ++i) {
      all = terms[i].is_negative ? sub(all, terms[i].tv) : add(all, terms[i].tv);
    }
    return all;
  }

  Fusion& fusion_;
  ReaderCounts counts_;
  Regions regions_;
};

}  // namespace

void joinSums(Fusion& fusion) {
  if (reducesInOrder(fusion)) {
    return;
  }
  FusionGuard guard(&fusion);
  JoiningSums(fusion).run();
}

}  // namespace nvfuser::preseg_passes
