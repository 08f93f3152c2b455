#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/normalization.h>
#include <ops/reduced_axes.h>

namespace nvfuser {

using ops::ReducedAxes;

namespace {

/// The one axis that a softmax runs over. A 0-dim tensor counts as one of extent 1 and has dims 0
/// and −1.
ReducedAxes softmaxAxis(const TensorView* x, int64_t dim, std::string_view op) {
  ops::requireReal(x, op);
  if (!ops::axesOf(x).empty()) {
    return ReducedAxes(x, {dim}, op);
  }
  wrapDim(dim, 1, op);
  return ReducedAxes::allBut(x, {}, op);
}

void checkSameRank(const TensorView* dy, const TensorView* y, std::string_view op) {
  ops::requireReal(dy, op);
  ops::requireReal(y, op);
  if (ops::axesOf(dy).size() != ops::axesOf(y).size()) {
    userError(op, ": the gradient ", dy, " has ", ops::axesOf(dy).size(), " axes, the result ", y,
              " has ", ops::axesOf(y).size(), "; they must have one shape");
  }
}

/// x − max(x), which makes exp safe and its sum at least 1.
TensorView* shifted(TensorView* x, const ReducedAxes& axis) {
  TensorView* largest = axis.positions().empty() ? x : max(x, axis.positions());
  return sub(x, axis.keep(largest));
}

}  // namespace

TensorView* softmax(TensorView* x, int64_t dim) {
  const ReducedAxes axis = softmaxAxis(x, dim, "softmax");
  TensorView* numerator = exp(shifted(ops::inComputeType(x), axis));
  // One reciprocal a row instead of a division an element.
  return mul(numerator, axis.keep(reciprocal(axis.sumOf(numerator))));
}

TensorView* log_softmax(TensorView* x, int64_t dim) {
  const ReducedAxes axis = softmaxAxis(x, dim, "log_softmax");
  TensorView* shift = shifted(ops::inComputeType(x), axis);
  return sub(shift, axis.keep(log(axis.sumOf(exp(shift)))));
}

TensorView* softmax_backward(TensorView* dy, TensorView* y, int64_t dim) {
  checkSameRank(dy, y, "softmax_backward");
  const ReducedAxes axis = softmaxAxis(y, dim, "softmax_backward");
  TensorView* grad = mul(ops::inComputeType(dy), ops::inComputeType(y));
  return sub(grad, mul(y, axis.keptSumOf(grad)));
}

TensorView* log_softmax_backward(TensorView* dy, TensorView* y, int64_t dim) {
  checkSameRank(dy, y, "log_softmax_backward");
  const ReducedAxes axis = softmaxAxis(y, dim, "log_softmax_backward");
  TensorView* grad = ops::inComputeType(dy);
  return sub(grad, mul(exp(y), axis.keptSumOf(grad)));
}

}  // namespace nvfuser
