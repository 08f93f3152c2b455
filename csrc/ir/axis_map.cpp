#include <ir/axis_map.h>

#include <algorithm>

namespace nvfuser {

size_t rankOf(const Val* tensor) {
  return TensorDomain::noReductions(tensor->as<TensorView>()->getLogicalDomain()).size();
}

namespace {

/// The logical axis that a resize makes of a root axis; itself where none does.
IterDomain* windowOf(IterDomain* id, const TensorView* tv) {
  for (IterDomain* logical : tv->getLogicalDomain()) {
    const Expr* def = logical->definition();
    if (def != nullptr && def->isA<Resize>() && def->input(0) == id) {
      return logical;
    }
  }
  return id;
}

size_t placeOf(const std::vector<Val*>& vals, const Val* val) {
  return static_cast<size_t>(std::find(vals.begin(), vals.end(), val) - vals.begin());
}

}  // namespace

namespace {

/// The pairs of one operation, for one of its operands and one of its results.
class AxisPairs {
 public:
  AxisPairs(const Expr* expr, const TensorView* producer, const TensorView* consumer)
      : expr_(expr),
        producer_(producer),
        consumer_(consumer),
        from_(TensorDomain::noReductions(producer->getLogicalDomain())),
        to_(consumer->getMaybeRootDomain()) {}

  std::vector<std::pair<IterDomain*, IterDomain*>> find() {
    switch (expr_->kind()) {
      case ExprKind::BroadcastOp:
        zip(none, [&](size_t t) { return expr_->as<BroadcastOp>()->isBroadcastDim(t); });
        break;
      case ExprKind::SqueezeOp:
        zip([&](size_t f) { return expr_->as<SqueezeOp>()->isSqueezeDim(f); }, none);
        break;
      case ExprKind::ViewAsScalar:
        zip(none, [&](size_t t) { return to_[t]->isVectorComponent(); });
        break;
      case ExprKind::SelectOp: {
        const auto dim = static_cast<size_t>(expr_->as<SelectOp>()->dim());
        zip([&](size_t f) { return f == dim; }, none);
        break;
      }
      case ExprKind::IndexSelectOp:
        indexSelect(static_cast<size_t>(expr_->as<IndexSelectOp>()->dim()));
        break;
      case ExprKind::GatherOp:
        gather(*expr_->as<GatherOp>());
        break;
      case ExprKind::ScatterOp:  // only `self` has the output's shape
      case ExprKind::WrittenOp:
        if (isFirst()) {
          zip(none, none);
        }
        break;
      case ExprKind::WriteAtOp:
        // The target is met along all axes but the one that the index counts.
        zipWithout(isFirst() ? expr_->as<WriteAtOp>()->dim() : -1);
        break;
      case ExprKind::MatmulOp:
        matmul();
        break;
      case ExprKind::LinearOp:
        linear();
        break;
      case ExprKind::SdpaFwdOp:
        named(*expr_->as<SdpaFwdOp>());
        break;
      case ExprKind::SdpaBwdOp:
        named(*expr_->as<SdpaBwdOp>());
        break;
      case ExprKind::ScaledMmaOp:
        named(*expr_->as<ScaledMmaOp>());
        break;
      case ExprKind::GroupedMmaOp:
        named(*expr_->as<GroupedMmaOp>());
        break;
      case ExprKind::CommunicationOp:
        communication(expr_->as<CommunicationOp>()->type());
        break;
      case ExprKind::TopKOp:
        zipWithout(expr_->as<TopKOp>()->dim());
        break;
      default:
        zip(none, none);
    }
    return std::move(pairs_);
  }

 private:
  static bool none(size_t) { return false; }
  bool isFirst() const { return producer_ == expr_->input(0); }
  void join(IterDomain* from, IterDomain* to) { pairs_.emplace_back(from, to); }

  /// Joins the axes in order, leaving out those that `skip_from` / `skip_to` name.
  template <typename SkipFrom, typename SkipTo>
  void zip(const SkipFrom& skip_from, const SkipTo& skip_to) {
    size_t f = 0;
    size_t t = 0;
    while (true) {
      while (f < from_.size() && skip_from(f)) {
        ++f;
      }
      while (t < to_.size() && skip_to(t)) {
        ++t;
      }
      if (f >= from_.size() || t >= to_.size()) {
        break;
      }
      join(from_[f++], to_[t++]);
    }
    check(f >= from_.size() && t >= to_.size(), "an operation's axes do not match its operand's");
  }

  /// Joins all but one axis of each, which is at the same place in both; −1: none.
  void zipWithout(int64_t dim) {
    const auto is_dim = [dim](size_t axis) { return static_cast<int64_t>(axis) == dim; };
    zip(is_dim, is_dim);
  }

  void indexSelect(size_t dim) {
    if (isFirst()) {
      zipWithout(static_cast<int64_t>(dim));
    } else if (!from_.empty()) {  // the index: one axis, or 0-dim
      join(from_[0], to_[dim]);
    }
  }

  void gather(const GatherOp& op) {
    if (isFirst()) {
      // Without exact sizes the other axes may be longer in the input: same index, other extent.
      if (op.exactSizes()) {
        zipWithout(op.dim());
      }
      return;
    }
    zip(none, none);
    // One index for all of an axis is one for all of what a window makes of it.
    for (auto& [p, c] : pairs_) {
      c = p->isBroadcast() ? windowOf(c, consumer_) : c;
    }
  }

  /// Batches from the last one on; rows and columns. (One tensor as both operands: its axes are
  /// matched as the first one's.)
  void matmul() {
    const size_t rows = rankOf(expr_->input(0)) == 1 ? 0 : 1;
    const size_t columns = rankOf(expr_->input(1)) == 1 ? 0 : 1;
    const size_t batches = to_.size() - rows - columns;
    const size_t own = from_.size() < 2 ? 0 : from_.size() - 2;
    for (size_t i = 0; i < own; ++i) {
      join(from_[i], to_[batches - own + i]);
    }
    if (from_.size() > 1) {
      const size_t row = isFirst() ? own : own + 1;
      join(from_[row], isFirst() ? to_[batches] : to_.back());
    }
  }

  void linear() {
    if (isFirst()) {
      for (size_t i = 0; i + 1 < from_.size(); ++i) {
        join(from_[i], to_[i]);
      }
    } else if (producer_ == expr_->input(1) ? from_.size() > 1 : !from_.empty()) {
      join(from_[0], to_.back());
    }
  }

  /// Joins last axes of one name, and batches from the last one on.
  template <typename Op>
  void named(const Op& op) {
    const std::string_view names = op.axesOfInput(placeOf(op.inputs(), producer_));
    const std::string_view of_to = op.axesOfOutput(placeOf(op.outputs(), consumer_));
    if (names == "-" || of_to == "-") {
      return;
    }
    const size_t own = from_.size() - std::min(names.size(), from_.size());
    const size_t batches = to_.size() - of_to.size();
    for (size_t i = 0; i < own; ++i) {
      join(from_[i], to_[batches - own + i]);
    }
    for (size_t i = own; i < from_.size(); ++i) {
      const size_t place = of_to.find(names[i + names.size() - from_.size()]);
      if (place != std::string_view::npos) {
        join(from_[i], to_[batches + place]);
      }
    }
  }

  void communication(CommunicationType type) {
    if (producer_ != expr_->input(placeOf(expr_->outputs(), consumer_))) {
      return;  // another one's operand, or what it waits for
    }
    // The axis of the team's devices, in front.
    zip([&](size_t f) { return f == 0 && type == CommunicationType::ReduceScatter; },
        [&](size_t t) { return t == 0 && type == CommunicationType::Allgather; });
  }

  const Expr* expr_;
  const TensorView* producer_;
  const TensorView* consumer_;
  std::vector<IterDomain*> from_;
  const std::vector<IterDomain*>& to_;
  std::vector<std::pair<IterDomain*, IterDomain*>> pairs_;
};

}  // namespace

bool sameMemoryOrder(const TensorView* a, const TensorView* b) {
  if (!a->hasAllocation() && !b->hasAllocation()) {
    return true;
  }
  const auto order = [](const TensorView* tv) {
    const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
    std::vector<std::ptrdiff_t> places;
    for (const IterDomain* id : TensorDomain::noReductions(tv->getMaybeAllocationDomain())) {
      places.push_back(std::find(axes.begin(), axes.end(), id) - axes.begin());
    }
    return places;
  };
  return order(a) == order(b);
}

std::vector<std::pair<IterDomain*, IterDomain*>> mapAxes(const Expr* expr,
                                                         const TensorView* producer,
                                                         const TensorView* consumer) {
  return AxisPairs(expr, producer, consumer).find();
}

namespace {

std::vector<TensorView*> tensorsOf(const std::vector<Val*>& vals) {
  std::vector<TensorView*> result;
  for (Val* val : vals) {
    if (!val->isA<TensorView>()) {
      continue;
    }
    auto* tv = val->as<TensorView>();
    if (std::find(result.begin(), result.end(), tv) == result.end()) {
      result.push_back(tv);
    }
  }
  return result;
}

}  // namespace

std::vector<TensorView*> tensorInputs(const Expr* expr) { return tensorsOf(expr->inputs()); }

std::vector<TensorView*> tensorOutputs(const Expr* expr) { return tensorsOf(expr->outputs()); }

std::vector<TensorView*> producersOf(const TensorView* tv) {
  return tv->definition() ? tensorInputs(tv->definition()) : std::vector<TensorView*>{};
}

std::vector<TensorView*> consumersOf(const TensorView* tv) {
  std::vector<TensorView*> result;
  for (Expr* use : tv->fusion()->usesOf(tv)) {
    for (TensorView* out : tensorOutputs(use)) {
      if (std::find(result.begin(), result.end(), out) == result.end()) {
        result.push_back(out);
      }
    }
  }
  return result;
}

std::vector<TensorView*> siblingsOf(const TensorView* tv) {
  std::vector<TensorView*> result;
  if (!tv->definition()) {
    return result;
  }
  for (TensorView* out : tensorOutputs(tv->definition())) {
    if (out != tv) {
      result.push_back(out);
    }
  }
  return result;
}

}  // namespace nvfuser
