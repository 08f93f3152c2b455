#include <multidevice/axis_flow.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/composite_nodes.h>
#include <ops/axes.h>

namespace nvfuser::multidevice {

namespace {

using ops::axesOf;

size_t placeIn(const std::vector<IterDomain*>& axes, const IterDomain* id) {
  return static_cast<size_t>(std::find(axes.begin(), axes.end(), id) - axes.begin());
}

/// The axis that an operation along one axis works on; all of it is needed.
std::optional<int64_t> workedOn(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::ScanOp:
      return expr->as<ScanOp>()->dim();
    case ExprKind::ArgsortOp:
      return expr->as<ArgsortOp>()->dim();
    case ExprKind::CatOp:
      return expr->as<CatOp>()->concatenatedDim();
    default:
      return std::nullopt;
  }
}

/// How many last axes of an operand of attention are no batches, whose elements need all others.
size_t ownAxes(const Expr* expr, const TensorView* in) {
  const auto place = static_cast<size_t>(
      std::find(expr->inputs().begin(), expr->inputs().end(), in) - expr->inputs().begin());
  return expr->isA<SdpaFwdOp>()   ? expr->as<SdpaFwdOp>()->axesOfInput(place).size()
         : expr->isA<SdpaBwdOp>() ? expr->as<SdpaBwdOp>()->axesOfInput(place).size()
                                  : 0;
}

/// Operations whose results are computed whole, whatever their operands are.
bool isWhole(const Expr* expr) {
  return expr->isOneOf<RNGOp, IotaOp, EyeOp, ScatterOp, ScaledMmaOp, GroupedMmaOp,
                       ViewAsScalar>() ||
         (expr->isA<GatherOp>() && !expr->as<GatherOp>()->exactSizes());
}

}  // namespace

AxisFlow::AxisFlow(const Expr* expr, const Multiples& multiples) {
  if (isWhole(expr)) {
    return;
  }
  if (expr->isA<FullOp>()) {
    made_from_sizes_.push_back(expr->output(0)->as<TensorView>());
  } else if (expr->isA<ReshapeOp>()) {
    readReshape(expr, multiples);
  } else {
    readPairs(expr);
  }
  if (expr->isA<ReductionOp>()) {
    readReduction(expr->as<ReductionOp>());
  } else if (expr->isOneOf<LinearOp, MatmulOp>() && expr->input(0) != expr->input(1)) {
    readProduct(expr);
  }
}

void AxisFlow::readPairs(const Expr* expr) {
  const std::optional<int64_t> whole = workedOn(expr);
  for (const TensorView* in : tensorInputs(expr)) {
    const size_t own = ownAxes(expr, in);
    const std::vector<IterDomain*> from = axesOf(in);
    for (const TensorView* out : tensorOutputs(expr)) {
      const std::vector<IterDomain*> to = axesOf(out);
      for (auto [id_in, id_out] : mapAxes(expr, in, out)) {
        const size_t a = placeIn(from, id_in);
        const size_t b = placeIn(to, id_out);
        // Not an axis of the result as the operation makes it: reduced, or cut by a window.
        const bool is_kept = b < to.size() && a < from.size();
        const bool is_batch = a + own < from.size();
        const bool is_repeated = expr->isA<RepeatOp>() && id_in->isBroadcast();
        if (is_kept && is_batch && !is_repeated && static_cast<int64_t>(b) != whole) {
          pairs_.push_back({in, a, out, b, ops::isUnitAxis(id_in)});
        }
      }
    }
  }
}

/// The outer part of an axis stays the outer part of what it becomes: merged with inner ones, or
/// split. Where the axis itself has another size then, both have to be multiples of the devices.
void AxisFlow::readReshape(const Expr* expr, const Multiples& multiples) {
  const auto* in = expr->input(0)->as<TensorView>();
  const auto* out = expr->output(0)->as<TensorView>();
  const std::vector<IterDomain*> to = axesOf(out);
  const std::vector<IterDomain*> from = axesOf(in);
  for (auto [id_in, id_out] : mapAxes(expr, in, out)) {
    const IterDomain* id = id_out;
    while (id != nullptr && placeIn(to, id) == to.size()) {
      const IterDomain* next = nullptr;
      for (const Expr* use : id->uses()) {
        if (use->isA<Merge>() && use->as<Merge>()->outer() == id) {
          next = use->as<Merge>()->out();
        } else if (use->isA<Split>()) {
          next = use->as<Split>()->outer();
        }
      }
      id = next;
    }
    if (id == nullptr) {
      continue;
    }
    Pair pair{in, placeIn(from, id_in), out, placeIn(to, id), ops::isUnitAxis(id_in)};
    for (const ParallelType mesh_axis : kMeshAxes) {
      pair.can_cut[placeOf(mesh_axis)] =
          id == id_out ||
          (multiples.holds(id_in->extent(), mesh_axis) && multiples.holds(id->extent(), mesh_axis));
    }
    pairs_.push_back(pair);
  }
}

/// Parts of a reduction are combined by its own operation. Each part begins with `init`, which must
/// not count twice.
void AxisFlow::readReduction(const ReductionOp* op) {
  using enum BinaryOpType;
  const BinaryOpType by = op->getReductionOpType();
  const bool is_order = by == Max || by == Min;
  if (!is_order && !(by == Add && op->init()->isZero()) && !(by == Mul && op->init()->isOne())) {
    return;
  }
  const auto* in = op->in()->as<TensorView>();
  const std::vector<IterDomain*> from = axesOf(in);
  for (auto [id_in, id_out] : mapAxes(op, in, op->out()->as<TensorView>())) {
    if (id_out->isReduction()) {
      combined_.push_back({in, placeIn(from, id_in), by});
    }
  }
}

void AxisFlow::readProduct(const Expr* expr) {
  const auto* a = expr->input(0)->as<TensorView>();
  const auto* b = expr->input(1)->as<TensorView>();
  const size_t last_of_b = axesOf(b).size() - 1;
  const bool by_columns = expr->isA<LinearOp>() || last_of_b == 0;
  combined_.push_back({a, axesOf(a).size() - 1, BinaryOpType::Add});
  combined_.push_back({b, by_columns ? last_of_b : last_of_b - 1, BinaryOpType::Add});
}

bool AxisFlow::canCut(const TensorView* out, size_t axis, ParallelType mesh_axis) const {
  const IterDomain* id = axesOf(out)[axis];
  if (id->isBroadcast() && !id->hasExpandedExtent()) {
    return false;
  }
  const bool is_made =
      std::find(made_from_sizes_.begin(), made_from_sizes_.end(), out) != made_from_sizes_.end();
  return is_made || std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
           return pair.out == out && pair.to == axis && pair.can_cut[placeOf(mesh_axis)];
         });
}

std::optional<size_t> AxisFlow::operandAxis(const TensorView* in, const TensorView* out,
                                            size_t axis) const {
  for (const Pair& pair : pairs_) {
    if (pair.in == in && pair.out == out && pair.to == axis) {
      return pair.is_broadcast ? std::nullopt : std::optional(pair.from);
    }
  }
  return std::nullopt;
}

std::optional<size_t> AxisFlow::resultAxis(const TensorView* in, size_t axis,
                                           const TensorView* out) const {
  for (const Pair& pair : pairs_) {
    if (pair.in == in && pair.from == axis && pair.out == out) {
      return pair.to;
    }
  }
  return std::nullopt;
}

std::optional<BinaryOpType> AxisFlow::combines(const TensorView* in, size_t axis) const {
  for (const Combined& one : combined_) {
    if (one.in == in && one.axis == axis) {
      return one.by;
    }
  }
  return std::nullopt;
}

std::optional<size_t> AxisFlow::combinedAxis(const TensorView* in) const {
  for (const Combined& one : combined_) {
    if (one.in == in) {
      return one.axis;
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser::multidevice
