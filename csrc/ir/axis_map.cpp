#include <ir/axis_map.h>

#include <algorithm>

namespace nvfuser {

namespace {

size_t rankOf(const Val* tensor) {
  return TensorDomain::noReductions(tensor->as<TensorView>()->getLogicalDomain()).size();
}

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

std::vector<std::pair<IterDomain*, IterDomain*>> mapAxes(const Expr* expr,
                                                         const TensorView* producer,
                                                         const TensorView* consumer) {
  const std::vector<IterDomain*> from = TensorDomain::noReductions(producer->getLogicalDomain());
  const std::vector<IterDomain*>& to = consumer->getMaybeRootDomain();
  std::vector<std::pair<IterDomain*, IterDomain*>> pairs;

  /// Joins the axes in order, leaving out those that `skip_from` / `skip_to` name.
  auto zip = [&](auto skip_from, auto skip_to) {
    size_t f = 0;
    size_t t = 0;
    while (true) {
      while (f < from.size() && skip_from(f)) {
        ++f;
      }
      while (t < to.size() && skip_to(t)) {
        ++t;
      }
      if (f >= from.size() || t >= to.size()) {
        break;
      }
      pairs.emplace_back(from[f++], to[t++]);
    }
    check(f >= from.size() && t >= to.size(), "an operation's axes do not match its operand's");
  };
  auto none = [](size_t) { return false; };
  /// Joins last axes of one name, and batches from the last one on.
  auto mapNamedAxes = [&](const auto& op) {
    const std::string_view names = op.axesOfInput(placeOf(op.inputs(), producer));
    const std::string_view of_to = op.axesOfOutput(placeOf(op.outputs(), consumer));
    if (names == "-" || of_to == "-") {
      return;
    }
    const size_t own = from.size() - std::min(names.size(), from.size());
    const size_t batches = to.size() - of_to.size();
    for (size_t i = 0; i < own; ++i) {
      pairs.emplace_back(from[i], to[batches - own + i]);
    }
    for (size_t i = own; i < from.size(); ++i) {
      const size_t place = of_to.find(names[i + names.size() - from.size()]);
      if (place != std::string_view::npos) {
        pairs.emplace_back(from[i], to[batches + place]);
      }
    }
  };

  switch (expr->kind()) {
    case ExprKind::BroadcastOp: {
      auto* op = expr->as<BroadcastOp>();
      zip(none, [&](size_t t) { return op->isBroadcastDim(t); });
      break;
    }
    case ExprKind::SqueezeOp: {
      auto* op = expr->as<SqueezeOp>();
      zip([&](size_t f) { return op->isSqueezeDim(f); }, none);
      break;
    }
    case ExprKind::ViewAsScalar:
      zip(none, [&](size_t t) { return to[t]->isVectorComponent(); });
      break;
    case ExprKind::SelectOp: {
      auto dim = static_cast<size_t>(expr->as<SelectOp>()->dim());
      zip([&](size_t f) { return f == dim; }, none);
      break;
    }
    case ExprKind::IndexSelectOp: {
      auto dim = static_cast<size_t>(expr->as<IndexSelectOp>()->dim());
      if (producer == expr->input(0)) {
        zip([&](size_t f) { return f == dim; }, [&](size_t t) { return t == dim; });
      } else if (!from.empty()) {  // the index: one axis, or 0-dim
        pairs.emplace_back(from[0], to[dim]);
      }
      break;
    }
    case ExprKind::GatherOp: {
      auto* op = expr->as<GatherOp>();
      if (producer == expr->input(0)) {
        auto dim = static_cast<size_t>(op->dim());
        // Without exact sizes the other axes may be longer in the input: same index, other extent.
        if (op->exactSizes()) {
          zip([&](size_t f) { return f == dim; }, [&](size_t t) { return t == dim; });
        }
      } else {
        zip(none, none);
        // One index for all of an axis is one for all of what a window makes of it.
        for (auto& [p, c] : pairs) {
          c = p->isBroadcast() ? windowOf(c, consumer) : c;
        }
      }
      break;
    }
    case ExprKind::ScatterOp:
      // Only `self` has the output's shape; index and source run over their own.
      if (producer == expr->input(0)) {
        zip(none, none);
      }
      break;
    case ExprKind::WriteAtOp: {
      // The target is met along all axes but the one that the index counts.
      const auto dim = static_cast<size_t>(expr->as<WriteAtOp>()->dim());
      const auto at_dim = [&](size_t axis) { return producer == expr->input(0) && axis == dim; };
      zip(at_dim, at_dim);
      break;
    }
    case ExprKind::WrittenOp:
      if (producer == expr->input(0)) {
        zip(none, none);
      }
      break;
    case ExprKind::MatmulOp: {
      const bool is_a = producer == expr->input(0);
      const size_t vectors = rankOf(expr->input(0)) == 1 ? 1 : 0;
      const size_t columns = rankOf(expr->input(1)) == 1 ? 0 : 1;
      const size_t rows = 1 - vectors;
      const size_t batches = to.size() - rows - columns;
      const size_t own = from.size() < 2 ? 0 : from.size() - 2;
      for (size_t i = 0; i < own; ++i) {
        pairs.emplace_back(from[i], to[batches - own + i]);
      }
      if (is_a && from.size() > 1) {
        pairs.emplace_back(from[own], to[batches]);
      } else if (!is_a && from.size() > 1) {
        pairs.emplace_back(from.back(), to.back());
      }
      // One tensor as both operands: its axes are matched as the first one's.
      break;
    }
    case ExprKind::LinearOp:
      if (producer == expr->input(0)) {
        for (size_t i = 0; i + 1 < from.size(); ++i) {
          pairs.emplace_back(from[i], to[i]);
        }
      } else if (producer == expr->input(1) ? from.size() > 1 : !from.empty()) {
        pairs.emplace_back(from[0], to.back());
      }
      break;
    case ExprKind::SdpaFwdOp:
      mapNamedAxes(*expr->as<SdpaFwdOp>());
      break;
    case ExprKind::SdpaBwdOp:
      mapNamedAxes(*expr->as<SdpaBwdOp>());
      break;
    case ExprKind::ScaledMmaOp:
      mapNamedAxes(*expr->as<ScaledMmaOp>());
      break;
    case ExprKind::GroupedMmaOp:
      mapNamedAxes(*expr->as<GroupedMmaOp>());
      break;
    case ExprKind::CommunicationOp: {
      if (producer != expr->input(placeOf(expr->outputs(), consumer))) {
        break;  // another one's operand, or what it waits for
      }
      // The axis of the team's devices, in front.
      const CommunicationType type = expr->as<CommunicationOp>()->type();
      zip([&](size_t f) { return f == 0 && type == CommunicationType::ReduceScatter; },
          [&](size_t t) { return t == 0 && type == CommunicationType::Allgather; });
      break;
    }
    case ExprKind::TopKOp: {
      const auto dim = static_cast<size_t>(expr->as<TopKOp>()->dim());
      zip([&](size_t f) { return f == dim; }, [&](size_t t) { return t == dim; });
      break;
    }
    default:
      zip(none, none);
  }
  return pairs;
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
