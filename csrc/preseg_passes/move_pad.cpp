#include <preseg_passes/move_pad.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool isPlusZero(const Val* value) {
  if (!value->isConst()) {
    return false;
  }
  if (value->value().is<double>()) {
    return value->value().as<double>() == 0 && !std::signbit(value->value().as<double>());
  }
  return !isComplexType(value->dtype()) && value->isZero();
}

bool isPositiveNumber(const Val* value) {
  if (!value->isConst() || isComplexType(value->dtype())) {
    return false;
  }
  const double number = value->value().is<double>()
                            ? value->value().as<double>()
                            : static_cast<double>(value->value().as<int64_t>());
  return std::isfinite(number) && number > 0;
}

bool givesZero(UnaryOpType type) {
  using enum UnaryOpType;
  switch (type) {
    case Cast:
    case Abs:
    case Asin:
    case Asinh:
    case Atan:
    case Atanh:
    case Ceil:
    case Erf:
    case Expm1:
    case Floor:
    case Log1p:
    case Relu:
    case Round:
    case Sin:
    case Sinh:
    case Sqrt:
    case Tan:
    case Tanh:
    case Trunc:
      return true;
    default:
      return false;
  }
}

/// Whether `expr` gives +0 where all its tensor operands are +0.
bool givesZero(const Expr* expr) {
  for (const Val* in : expr->inputs()) {
    if (in->isA<TensorView>() && isComplexType(in->dtype())) {
      return false;
    }
  }
  if (expr->isA<UnaryOp>()) {
    return givesZero(expr->as<UnaryOp>()->getUnaryOpType());
  }
  if (!expr->isA<BinaryOp>()) {
    return false;
  }
  using enum BinaryOpType;
  const BinaryOpType type = expr->as<BinaryOp>()->getBinaryOpType();
  const Val* lhs = expr->input(0);
  const Val* rhs = expr->input(1);
  if (lhs->isA<TensorView>() && rhs->isA<TensorView>()) {
    return type == Add || type == Sub || type == Mul || type == Max || type == Min;
  }
  const Val* scalar = lhs->isA<TensorView>() ? rhs : lhs;
  return isPositiveNumber(scalar) && (type == Mul || (type == Div && scalar == rhs));
}

bool isIteratedWherePadded(const PadOp* pad, const TensorView* operand) {
  const std::vector<IterDomain*> axes = ops::axesOf(operand);
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool padded = !pad->leftWidth(i)->isZero() || !pad->rightWidth(i)->isZero();
    if (padded && axes[i]->isBroadcast()) {
      return false;
    }
  }
  return true;
}

TensorView* paddedLike(const PadOp* pad, TensorView* x) {
  const std::vector<IterDomain*> root = ops::freshAxes(x);
  const std::vector<IterDomain*> shape = ops::axesOf(pad->out()->as<TensorView>());
  std::vector<IterDomain*> logical;
  std::vector<Val*> widths;
  for (size_t i = 0; i < root.size(); ++i) {
    Val* left = pad->leftWidth(i);
    Val* right = pad->rightWidth(i);
    widths.insert(widths.end(), {left, right});
    const bool padded = !left->isZero() || !right->isZero();
    logical.push_back(padded ? ops::resizeAxis(root[i], left, right, ops::extentOf(shape[i]))
                             : root[i]);
  }
  TensorView* out = ops::newTensor(root, std::move(logical), x->dtype());
  IrBuilder::create<PadOp>(out, x, x->fusion()->zeroVal(x->dtype()), widths);
  return out;
}

}  // namespace

void movePad(Fusion& fusion) {
  FusionGuard guard(&fusion);
  const std::vector<Expr*> exprs = fusion.exprs();
  std::unordered_set<const Val*> joined;
  for (const Expr* expr : exprs) {
    if (expr->isA<CatOp>()) {
      joined.insert(expr->inputs().begin(), expr->inputs().end());
    }
  }
  const ReaderCounts readers(fusion);
  std::vector<const PadOp*> open;
  for (const Expr* expr : exprs) {
    if (expr->isA<PadOp>() && joined.count(expr->output(0)) == 0) {
      open.push_back(expr->as<PadOp>());
    }
  }
  while (!open.empty()) {
    const PadOp* pad = open.back();
    open.pop_back();
    const auto* computed = pad->in()->as<TensorView>();
    const Expr* def = computed->definition();
    if (def == nullptr || readers.of(computed) != 1 || !isPlusZero(pad->value()) ||
        !givesZero(def)) {
      continue;
    }
    const std::vector<TensorView*> tensors = tensorInputs(def);
    const bool fits = std::all_of(tensors.begin(), tensors.end(), [&](const TensorView* tv) {
      return isIteratedWherePadded(pad, tv);
    });
    if (!fits) {
      continue;
    }
    std::vector<Val*> operands = def->inputs();
    std::vector<const PadOp*> moved;
    for (Val*& operand : operands) {
      if (operand->isA<TensorView>()) {
        operand = paddedLike(pad, operand->as<TensorView>());
        moved.push_back(operand->definition()->as<PadOp>());
      }
    }
    TensorView* result = applyTo(def, operands);
    auto* old = pad->out()->as<TensorView>();
    if (sameForm(old, result)) {
      replaceTensor(old, result);
      open.insert(open.end(), moved.begin(), moved.end());
    }
  }
}

}  // namespace nvfuser::preseg_passes
