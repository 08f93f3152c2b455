#include <preseg_passes/short_axes.h>

#include <algorithm>

#include <ir/exact_numerics.h>
#include <ir/internal_nodes.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/parts_along_axis.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int64_t kMostJoined = 8;  ///< elements of an axis along which tensors are joined
constexpr int64_t kMostParts = 8;   ///< of a tensor

/// Whether an operand of the operation that computes `tv` is joined along its axis.
bool isOfJoined(const TensorView* tv, size_t axis) {
  const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
  if (def == nullptr || !isPointwise(def)) {
    return false;
  }
  return std::any_of(def->inputs().begin(), def->inputs().end(), [&](const Val* operand) {
    const auto* cat = dynamic_cast<const CatOp*>(operand->definition());
    return cat != nullptr && static_cast<size_t>(cat->concatenatedDim()) == axis;
  });
}

bool isPlain(DataType dtype) {
  return dtype == DataType::Float || dtype == DataType::Double || isIntegralType(dtype) ||
         isBooleanType(dtype);
}

/// A scan along a short axis, or its elements in another order, as the parts joined; null: it
/// stays.
TensorView* joinOfParts(const Expr* expr, size_t axis) {
  auto* in = expr->input(0)->as<TensorView>();
  auto* out = expr->output(0)->as<TensorView>();
  const auto extent = shortExtent(ops::axesOf(out)[axis]);
  if (!extent || in->isFusionInput() || (expr->isA<ScanOp>() && !isPlain(in->dtype()))) {
    return nullptr;
  }
  PartsAlongAxis of_axis;
  std::vector<TensorView*> parts;
  for (int64_t k = 0; k < *extent; ++k) {
    parts.push_back(of_axis.of(out, axis, k));
    if (parts.back() == nullptr) {
      return nullptr;
    }
  }
  return joinedAlong(std::move(parts), axis);
}

class TakingApart {
 public:
  /// `alone`: the fusion has no other reduction. `of_planes`: of inputs, too.
  TakingApart(const ReductionOp* op, bool alone, bool of_planes)
      : op_(op),
        in_(op->in()->as<TensorView>()),
        out_(op->out()->as<TensorView>()),
        alone_(alone),
        of_planes_(of_planes) {}

  /// What the reduction gives, from parts; null: it stays.
  TensorView* run() {
    const DataType dtype = in_->dtype();
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    const Expr* def = in_->isFusionInput() ? nullptr : in_->definition();
    const bool is_apart =
        in_->isFusionInput() ? of_planes_ && readsPlanes() : def != nullptr && isPointwise(def);
    if (!isPlain(dtype) || out_->dtype() != dtype || op_->isAllreduce() || !is_apart) {
      return nullptr;
    }
    if (axes.size() != ops::axesOf(in_).size() || followsSuch(in_)) {
      return nullptr;
    }
    const auto extentIfReduced = [&](size_t i) {
      const IterDomain* axis = ops::axesOf(in_)[i];
      return !axes[i]->isReduction() ? std::nullopt
             : isOfJoined(in_, i)    ? shortExtent(axis, kMostJoined)
                                     : shortExtent(axis);
    };
    bool all_short = true;
    for (size_t i = 0; i < axes.size(); ++i) {
      all_short = all_short && (!axes[i]->isReduction() || extentIfReduced(i));
    }
    std::vector<size_t> apart;  // inner axes first, so that the others keep their places
    int64_t count = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const auto extent = extentIfReduced(i);
      // A few rows that are summed with all in them, or beside sums of each row, are rows like
      // others.
      const bool is_rows =
          i + 1 < axes.size() && !isOfJoined(in_, i) && (!all_short || (i == 0 && !alone_));
      if (extent && !is_rows && count * *extent <= kMostParts) {
        count *= *extent;
        apart.push_back(i);
      }
    }
    if (apart.empty()) {
      return in_->isFusionInput() ? nullptr : keptApart();
    }
    return summed(apart);
  }

 private:
  /// Whether `tv` is made of a reduction over the same axes that stays: a kernel of both has rows.
  bool followsSuch(const TensorView* tv) {
    const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
    if (def == nullptr || !seen_.insert(tv).second) {
      return false;
    }
    if (isReduction(def)) {
      return def->output(0)->as<TensorView>()->getMaybeRootDomain().size() ==
                 out_->getMaybeRootDomain().size() &&
             ops::reducedAxes(def->output(0)->as<TensorView>()) == ops::reducedAxes(out_);
    }
    return std::any_of(def->inputs().begin(), def->inputs().end(), [&](const Val* in) {
      return in->isA<TensorView>() && followsSuch(in->as<TensorView>());
    });
  }

  /// Whether an input's elements along its axes that are reduced lie far from each other: each part
  /// is a run of memory.
  bool readsPlanes() const {
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    const std::vector<IterDomain*>& memory = in_->getMaybeAllocationDomain();
    const std::vector<IterDomain*> own = ops::axesOf(in_);
    if (memory.empty() || axes.size() != own.size()) {
      return false;
    }
    const auto innermost = std::find(own.begin(), own.end(), memory.back());
    return innermost != own.end() && !memory.back()->isBroadcast() &&
           !axes[static_cast<size_t>(innermost - own.begin())]->isReduction();
  }

  /// The reduction over the short axes as a chain, then over what is left.
  TensorView* summed(const std::vector<size_t>& apart) {
    std::vector<TensorView*> parts{in_};
    for (const size_t axis : apart) {
      std::vector<TensorView*> next;
      for (TensorView* part : parts) {
        const int64_t extent = *shortExtent(ops::axesOf(part)[axis], kMostJoined);
        for (int64_t k = 0; k < extent; ++k) {
          next.push_back(parts_.of(part, axis, k));
          if (next.back() == nullptr) {
            return nullptr;
          }
        }
      }
      parts = std::move(next);
    }
    TensorView* result = nullptr;
    for (TensorView* part : parts) {
      // (0 + -0 is 0.)
      result = result != nullptr ? combined(result, part)
               : op_->getReductionOpType() == BinaryOpType::Add
                   ? binaryOp(BinaryOpType::Add, op_->init(), part)
                   : part;
    }
    return reduced(result, [&](size_t axis) {
      return std::find(apart.begin(), apart.end(), axis) != apart.end();
    });
  }

  TensorView* combined(TensorView* a, TensorView* b) {
    return binaryOp(op_->getReductionOpType(), a, b);
  }

  /// `part`, which lacks axes of the reduction's operand, reduced over those of the others.
  template <typename Lacks>
  TensorView* reduced(TensorView* part, const Lacks& lacks) {
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    std::vector<int64_t> left;
    int64_t place = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (lacks(i)) {
        continue;
      }
      if (axes[i]->isReduction()) {
        left.push_back(place);
      }
      ++place;
    }
    return left.empty() ? part : reductionOp(op_->getReductionOpType(), left, op_->init(), part);
  }

  /// Reductions of the parts along a short innermost axis that stays, side by side.
  TensorView* keptApart() {
    const std::vector<IterDomain*>& axes = out_->getLogicalDomain();
    const size_t last = axes.size() - 1;
    const auto extent = axes[last]->isReduction() ? std::nullopt : shortExtent(axes[last]);
    if (!extent) {
      return nullptr;
    }
    std::vector<TensorView*> parts;
    for (int64_t k = 0; k < *extent; ++k) {
      parts.push_back(parts_.of(in_, last, k));
      if (parts.back() == nullptr || parts_.readsWhole(in_)) {
        return nullptr;
      }
    }
    for (TensorView*& part : parts) {
      part = reduced(part, [&](size_t axis) { return axis == last; });
    }
    const size_t innermost = ops::axesOf(parts[0]).size();
    return joinedAlong(std::move(parts), innermost);
  }

  const ReductionOp* op_;
  TensorView* in_;
  TensorView* out_;
  bool alone_;
  bool of_planes_;
  PartsAlongAxis parts_;
  std::set<const TensorView*> seen_;
};

void takeApart(Fusion& fusion, bool of_planes) {
  if (reducesInOrder(fusion)) {
    return;
  }
  FusionGuard guard(&fusion);
  const std::vector<Expr*> exprs = fusion.exprs();
  const auto reductions =
      std::count_if(exprs.begin(), exprs.end(), [](const Expr* expr) { return isReduction(expr); });
  for (const Expr* expr : exprs) {
    auto* old = dynamic_cast<TensorView*>(expr->output(0));
    TensorView* result = nullptr;
    if (expr->isA<ReductionOp>()) {
      result = TakingApart(expr->as<ReductionOp>(), reductions == 1, of_planes).run();
    } else if (expr->isA<ScanOp>() && !of_planes) {
      result = joinOfParts(expr, static_cast<size_t>(expr->as<ScanOp>()->dim()));
    } else if (expr->isA<GatherOp>() && !of_planes) {
      result = joinOfParts(expr, static_cast<size_t>(expr->as<GatherOp>()->dim()));
    }
    if (result != nullptr && sameForm(old, result)) {
      replaceTensor(old, result);
    }
  }
}

}  // namespace

void takeShortAxesApart(Fusion& fusion) { takeApart(fusion, false); }
void takeShortPlanesApart(Fusion& fusion) { takeApart(fusion, true); }

}  // namespace nvfuser::preseg_passes
