#include <scheduler/analysis/view_layout.h>

#include <algorithm>
#include <unordered_map>

#include <ir/view_ops.h>

namespace nvfuser {

namespace {

struct Axis {
  int64_t size;
  int64_t stride;
};

class Replay {
 public:
  Replay(const Expr* expr, const ViewLayout& source, ExpressionEvaluator& evaluator)
      : expr_(expr),
        out_(expr->output(0)->as<TensorView>()),
        evaluator_(evaluator),
        offset_(source.offset) {
    for (size_t i = 0; i < source.sizes.size(); ++i) {
      axes_.push_back({source.sizes[i], source.strides[i]});
    }
  }

  std::optional<ViewLayout> run() {
    switch (expr_->kind()) {
      case ExprKind::LoadStoreOp:
      case ExprKind::ReshapeOp:
        if (!transform()) {
          return std::nullopt;
        }
        break;
      case ExprKind::BroadcastOp:
        add(expr_->as<BroadcastOp>()->flags());
        break;
      case ExprKind::SqueezeOp:
        if (!drop(expr_->as<SqueezeOp>()->flags())) {
          return std::nullopt;
        }
        break;
      case ExprKind::ExpandOp:
        expand();
        break;
      case ExprKind::SliceOp:
        if (!slice()) {
          return std::nullopt;
        }
        break;
      case ExprKind::SelectOp:
        if (!select()) {
          return std::nullopt;
        }
        break;
      default:
        return std::nullopt;
    }
    return finished();
  }

 private:
  int64_t value(const Val* val) { return evaluator_.evaluateInt(val, "a bound of a view"); }

  void add(const std::vector<bool>& is_new) {
    std::vector<Axis> result;
    size_t next = 0;
    for (const bool flag : is_new) {
      result.push_back(flag ? Axis{1, 1} : axes_[next++]);
    }
    axes_ = std::move(result);
  }

  /// Memory has no element to show of an axis that is expanded to nothing.
  bool drop(const std::vector<bool>& goes) {
    std::vector<Axis> result;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (!goes[i]) {
        result.push_back(axes_[i]);
      } else if (axes_[i].size == 0) {
        return false;
      }
    }
    axes_ = std::move(result);
    return true;
  }

  void expand() {
    const std::vector<IterDomain*> after = TensorDomain::noReductions(out_->getLogicalDomain());
    for (size_t i = 0; i < axes_.size(); ++i) {
      const int64_t size = value(after[i]->getMaybeExpandedExtent());
      if (size != axes_[i].size) {
        axes_[i] = {size, 0};
      }
    }
  }

  bool slice() {
    const auto* op = expr_->as<SliceOp>();
    for (size_t i = 0; i < axes_.size(); ++i) {
      const int64_t start = value(op->start(i));
      const int64_t step = value(op->step(i));
      const int64_t size = (value(op->stop(i)) - start) / step;
      // Memory is never read backwards by its strides: tensors of users have none that are
      // negative.
      if (start < 0 || step < 0 || size < 0 || start + (size - 1) * step >= axes_[i].size) {
        return false;
      }
      offset_ += start * axes_[i].stride;
      axes_[i].size = size;
      axes_[i].stride *= step;
    }
    return true;
  }

  bool select() {
    const auto dim = static_cast<size_t>(expr_->as<SelectOp>()->dim());
    const int64_t index = value(expr_->input(1));
    if (index < 0 || index >= axes_[dim].size || out_->hasRoot()) {
      return false;  // (the rest through windows, scheduler/resize_to_inputs.h)
    }
    offset_ += index * axes_[dim].stride;
    axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(dim));
    return true;
  }

  /// By the splits and merges between the output's root and logical axes.
  bool transform() {
    std::unordered_map<const Val*, Axis> known;
    const std::vector<IterDomain*>& root = out_->getMaybeRootDomain();
    for (size_t i = 0; i < root.size(); ++i) {
      known[root[i]] = axes_[i];
    }
    for (const Expr* expr : out_->domain()->allExprs()) {
      if (expr->isA<Merge>()) {
        const auto* merge = expr->as<Merge>();
        const Axis outer = known.at(merge->outer());
        const Axis inner = known.at(merge->inner());
        if (outer.size != 1 && inner.size != 1 && outer.size * inner.size != 0 &&
            outer.stride != inner.stride * inner.size) {
          return false;
        }
        known[merge->out()] = {outer.size * inner.size,
                               inner.size == 1 ? outer.stride : inner.stride};
      } else if (expr->isA<Split>()) {
        const auto* split = expr->as<Split>();
        const Axis in = known.at(split->in());
        const int64_t factor = value(split->factor());
        if (factor <= 0 || in.size % factor != 0) {
          return false;
        }
        const int64_t rest = in.size / factor;  // also of an axis without elements
        const int64_t inner = split->innerSplit() ? factor : rest;
        known[split->outer()] = {split->innerSplit() ? rest : factor, in.stride * inner};
        known[split->inner()] = {inner, in.stride};
      } else {
        return false;
      }
    }
    axes_.clear();
    for (const IterDomain* id : TensorDomain::noReductions(out_->getLogicalDomain())) {
      const auto found = known.find(id);
      if (found == known.end()) {
        return false;
      }
      axes_.push_back(found->second);
    }
    return true;
  }

  ViewLayout finished() const {
    ViewLayout layout;
    layout.offset = offset_;
    layout.sizes.resize(axes_.size());
    layout.strides.resize(axes_.size());
    int64_t dense = 1;
    for (size_t i = axes_.size(); i-- > 0;) {
      layout.sizes[i] = axes_[i].size;
      layout.strides[i] = axes_[i].size == 1 ? dense : axes_[i].stride;
      dense = std::max<int64_t>(dense, layout.strides[i] * std::max<int64_t>(axes_[i].size, 1));
    }
    return layout;
  }

  const Expr* expr_;
  const TensorView* out_;
  ExpressionEvaluator& evaluator_;
  int64_t offset_;
  std::vector<Axis> axes_;
};

}  // namespace

std::optional<ViewLayout> viewLayout(const Expr* expr, const ViewLayout& source,
                                     ExpressionEvaluator& evaluator) {
  return Replay(expr, source, evaluator).run();
}

std::optional<ViewLayout> denseLayout(const TensorView* tv, ExpressionEvaluator& evaluator) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  ViewLayout layout;
  for (const IterDomain* id : logical) {
    layout.sizes.push_back(
        evaluator.evaluateInt(id->getMaybeExpandedExtent(), "the size of a result"));
  }
  layout.strides.assign(logical.size(), 0);
  int64_t stride = 1;
  const std::vector<IterDomain*> memory =
      TensorDomain::noReductions(tv->getMaybeAllocationDomain());
  for (auto it = memory.rbegin(); it != memory.rend(); ++it) {
    const auto place = std::find(logical.begin(), logical.end(), *it);
    if (place == logical.end()) {
      return std::nullopt;
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    if ((*it)->isBroadcast()) {
      layout.strides[axis] = (*it)->hasExpandedExtent() ? 0 : stride;
      continue;
    }
    layout.strides[axis] = stride;
    stride *= std::max<int64_t>(layout.sizes[axis], 1);
  }
  return layout;
}

}  // namespace nvfuser
