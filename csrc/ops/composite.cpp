#include <ops/composite.h>

#include <numbers>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>

namespace nvfuser {

namespace {

constexpr double kSqrtHalf = 0.5 * std::numbers::sqrt2;
constexpr double kSqrtTwoOverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kCubic = 0.044715;

Val* constant(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

}  // namespace

ForwardDropoutResult dropout(TensorView* x, Val* prob) {
  ops::requireScalar(prob, "prob", "dropout");
  Val* kept = sub(constant(1.0), prob);
  // With prob 1 nothing is kept, and the scale must not be infinite (0·inf is NaN).
  Val* divisor = where(eq(kept, constant(0.0)), constant(1.0), kept);
  return dropout(x, kept, div(constant(1.0), divisor));
}

ForwardDropoutResult dropout(TensorView* x, Val* prob, Val* scale) {
  ops::requireTensor(x, "dropout");
  ops::requireScalar(prob, "prob", "dropout");
  ops::requireScalar(scale, "scale", "dropout");
  if (!isFloatingPointType(x->dtype())) {
    userError("dropout: ", x, " has dtype ", x->dtype(), "; a floating-point tensor is needed");
  }
  if (prob->isConst()) {
    const auto p = prob->value().as<double>();
    if (!(p >= 0.0 && p <= 1.0)) {
      userError("dropout: prob must be between 0 and 1, got ", p);
    }
  }
  // Drawn in full precision: a Half cannot tell small probabilities from zero.
  TensorView* drawn = rand(shape(x), fullPrecisionType(x->dtype()));
  TensorView* mask = lt(drawn, prob);
  return {mul(mul(x, mask), scale), mask};
}

TensorView* dropout_backward(TensorView* dy, TensorView* mask, Val* scale) {
  ops::requireTensor(dy, "dropout_backward");
  ops::requireTensor(mask, "dropout_backward");
  ops::requireScalar(scale, "scale", "dropout_backward");
  return mul(mul(dy, mask), scale);
}

TensorView* triu(TensorView* tv, Val* offset) {
  ops::requireTensor(tv, "triu");
  const std::vector<IterDomain*> axes = ops::axesOf(tv);
  if (axes.size() < 2) {
    userError("triu: input tensor for triu must have 2 or more dims, but got ", axes.size(),
              " dims");
  }
  if (offset == nullptr || !offset->isIntegralScalar()) {
    userError("triu: the offset must be an integer scalar, got ", offset);
  }
  // Kept where row <= column - offset.
  const std::vector<Val*> sizes = ops::sizesOf(tv);
  Val* one = tv->fusion()->oneVal(DataType::Index);
  Val* zero = tv->fusion()->zeroVal(DataType::Index);
  Val* first =
      SimplifyingIrBuilder::negExpr(SimplifyingIrBuilder::maybeCastExpr(DataType::Index, offset));
  TensorView* rows = iota(sizes[axes.size() - 2], zero, one, DataType::Index);
  TensorView* columns = iota(sizes.back(), first, one, DataType::Index);
  TensorView* below = broadcast(rows, {false, true});
  TensorView* mask = le(below, broadcast(columns, {true, false}));
  return where(mask, tv, tv->fusion()->zeroVal(tv->dtype()));
}

TensorView* leaky_relu(TensorView* x, Val* negative_slope) {
  ops::requireTensor(x, "leaky_relu");
  ops::requireScalar(negative_slope, "negative_slope", "leaky_relu");
  return where(gt(x, x->fusion()->zeroVal(x->dtype())), x, mul(x, negative_slope));
}

TensorView* softplus(TensorView* x, Val* beta, Val* threshold) {
  ops::requireTensor(x, "softplus");
  ops::requireScalar(beta, "beta", "softplus");
  ops::requireScalar(threshold, "threshold", "softplus");
  TensorView* scaled = mul(x, beta);
  TensorView* smooth = div(log1p(exp(scaled)), beta);
  return where(gt(scaled, threshold), x, smooth);
}

TensorView* gelu(TensorView* x) {
  ops::requireTensor(x, "gelu");
  TensorView* cdf = mul(add(erf(mul(x, constant(kSqrtHalf))), constant(1.0)), constant(0.5));
  return mul(x, cdf);
}

TensorView* gelu_backward(TensorView* dy, TensorView* x) {
  ops::requireTensor(dy, "gelu_backward");
  ops::requireTensor(x, "gelu_backward");
  constexpr double kDensity = kSqrtHalf * std::numbers::inv_sqrtpi;  // 1/sqrt(2·pi)
  TensorView* cdf = mul(add(erf(mul(x, constant(kSqrtHalf))), constant(1.0)), constant(0.5));
  TensorView* pdf = mul(exp(mul(mul(x, x), constant(-0.5))), constant(kDensity));
  return mul(dy, add(cdf, mul(x, pdf)));
}

namespace {

/// √(2/π)·(x + 0.044715·x³).
TensorView* tanhGeluArgument(TensorView* x) {
  TensorView* cube = mul(mul(x, x), x);
  return mul(add(x, mul(cube, constant(kCubic))), constant(kSqrtTwoOverPi));
}

}  // namespace

TensorView* tanh_gelu(TensorView* x) {
  ops::requireTensor(x, "tanh_gelu");
  // (1 + tanh(u)) / 2 is sigmoid(2 u): one exponential, and no difference of nearly equal numbers.
  return mul(x, sigmoid(mul(tanhGeluArgument(x), constant(2.0))));
}

TensorView* tanh_gelu_backward(TensorView* dy, TensorView* x) {
  ops::requireTensor(dy, "tanh_gelu_backward");
  ops::requireTensor(x, "tanh_gelu_backward");
  TensorView* t = tanh(tanhGeluArgument(x));
  TensorView* left = mul(x, constant(0.5));
  TensorView* right = add(t, constant(1.0));
  TensorView* slope = sub(constant(1.0), mul(t, t));
  TensorView* inner =
      mul(add(mul(mul(x, x), constant(3.0 * kCubic)), constant(1.0)), constant(kSqrtTwoOverPi));
  TensorView* derivative = add(mul(right, constant(0.5)), mul(mul(left, slope), inner));
  return mul(dy, derivative);
}

TensorView* tanh_backward(TensorView* dy, TensorView* tanh_x) {
  ops::requireTensor(dy, "tanh_backward");
  ops::requireTensor(tanh_x, "tanh_backward");
  return mul(dy, sub(constant(1.0), mul(tanh_x, tanh_x)));
}

LstmResult lstm(TensorView* prev_cell, TensorView* in_x, TensorView* forget_x, TensorView* cell_x,
                TensorView* out_x) {
  for (TensorView* tv : {prev_cell, in_x, forget_x, cell_x, out_x}) {
    ops::requireTensor(tv, "lstm");
  }
  TensorView* kept = mul(sigmoid(forget_x), prev_cell);
  TensorView* cell = add(kept, mul(sigmoid(in_x), tanh(cell_x)));
  return {cell, mul(sigmoid(out_x), tanh(cell))};
}

TensorView* view_as_real(TensorView* x) {
  ops::requireTensor(x, "view_as_real");
  if (!isComplexType(x->dtype())) {
    userError("view_as_real: Operand of view_as_real must have complex dtype; ", x, " has ",
              x->dtype());
  }
  return viewAsScalar(x);
}

}  // namespace nvfuser
