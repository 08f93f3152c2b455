#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/normalization.h>
#include <ops/reduced_axes.h>

namespace nvfuser {

using ops::axesOf;
using ops::ReducedAxes;

namespace {

/// The innermost axes, which are normalised, and those before them.
struct NormAxes {
  ReducedAxes inner;
  ReducedAxes outer;
};

NormAxes normAxes(const TensorView* x, int64_t num_inner, std::string_view op) {
  ops::requireReal(x, op);
  const auto rank = static_cast<int64_t>(axesOf(x).size());
  if (num_inner < 1 || num_inner > rank) {
    userError(op, ": the last ", num_inner, " axes of ", x, " cannot be normalised: it has ", rank,
              ", and at least one is needed");
  }
  std::vector<int64_t> inner;
  std::vector<int64_t> outer;
  for (int64_t i = 0; i < rank; ++i) {
    (i < rank - num_inner ? outer : inner).push_back(i);
  }
  return {ReducedAxes::allBut(x, outer, op), ReducedAxes::allBut(x, inner, op)};
}

int64_t checkedNormShape(const TensorView* x, const std::vector<int64_t>& norm_shape,
                         std::string_view op) {
  ops::requireTensor(x, op);
  const std::vector<IterDomain*> axes = axesOf(x);
  const auto num_inner = static_cast<int64_t>(norm_shape.size());
  for (size_t i = 0; i < norm_shape.size() && norm_shape.size() <= axes.size(); ++i) {
    IterDomain* axis = axes[axes.size() - norm_shape.size() + i];
    const auto extent = ops::constantOf(ops::extentOf(axis));
    if (norm_shape[i] != -1 && extent && *extent != norm_shape[i]) {
      userError(op, ": the shape to normalise over has ", norm_shape[i], " where axis ",
                axes.size() - norm_shape.size() + i, " of ", x, " has extent ", *extent);
    }
  }
  return num_inner;
}

/// `weight` and `bias` have the normalised axes; a null one is left out.
void checkAffine(const TensorView* tv, size_t num_inner, std::string_view name,
                 std::string_view op) {
  if (tv == nullptr || axesOf(tv).size() == num_inner) {
    return;
  }
  userError(op, ": ", name, " ", tv, " has ", axesOf(tv).size(), " axes; it must have the ",
            num_inner, " normalised ones");
}

void requireEps(const Val* eps, std::string_view op) {
  if (eps == nullptr || !eps->isScalar()) {
    userError(op, ": eps is null or no scalar");
  }
}

/// A statistic with the normalised axes, which a caller may have dropped.
TensorView* withInnerAxes(TensorView* statistic, const NormAxes& axes, const TensorView* x,
                          std::string_view op) {
  ops::requireTensor(statistic, op);
  const size_t rank = axesOf(x).size();
  const size_t own = axesOf(statistic).size();
  if (own != rank && own + axes.inner.positions().size() == rank) {
    return axes.inner.keep(statistic);
  }
  if (own != rank) {
    userError(op, ": the statistic ", statistic, " has ", own, " axes; it must have the ", rank,
              " of ", x, ", the normalised ones with extent 1");
  }
  return statistic;
}

void checkMask(const std::vector<bool>& mask, size_t size, std::string_view op) {
  if (mask.size() != size) {
    userError(op, ": output_mask has ", mask.size(), " entries; it needs ", size);
  }
}

/// dL/dx of y = x̂·weight, x̂ = (x − mean)·rstd (or x·rstd): rstd · (g − mean(g) − x̂·mean(g·x̂)) with
/// g = dL/dx̂. Without `centred` mean(g) falls away.
TensorView* normInputGradient(TensorView* grad_hat, TensorView* x_hat, TensorView* rstd,
                              const ReducedAxes& inner, bool centred) {
  TensorView* along = mul(x_hat, inner.keptMeanOf(mul(grad_hat, x_hat)));
  TensorView* base = centred ? sub(grad_hat, inner.keptMeanOf(grad_hat)) : grad_hat;
  return mul(rstd, sub(base, along));
}

}  // namespace

ForwardNormResult layer_norm(TensorView* x, const std::vector<int64_t>& norm_shape,
                             TensorView* weight, TensorView* bias, Val* eps) {
  return layer_norm(x, checkedNormShape(x, norm_shape, "layer_norm"), weight, bias, eps);
}

ForwardNormResult layer_norm(TensorView* x, int64_t kNormShapeNumDims, TensorView* weight,
                             TensorView* bias, Val* eps) {
  const NormAxes axes = normAxes(x, kNormShapeNumDims, "layer_norm");
  requireEps(eps, "layer_norm");
  checkAffine(weight, axes.inner.positions().size(), "weight", "layer_norm");
  checkAffine(bias, axes.inner.positions().size(), "bias", "layer_norm");
  x = ops::inComputeType(x);
  TensorView* mean = axes.inner.keptMeanOf(x);
  TensorView* deviation = sub(x, mean);
  TensorView* var = axes.inner.keptMeanOf(mul(deviation, deviation));
  TensorView* invstd = rsqrt(add(var, eps));
  TensorView* y = mul(deviation, invstd);
  if (weight) {
    y = mul(y, weight);
  }
  if (bias) {
    y = add(y, bias);
  }
  return {y, mean, invstd};
}

ForwardRMSNormResult rms_norm(TensorView* x, const std::vector<int64_t>& norm_shape,
                              TensorView* weight, Val* eps) {
  return rms_norm(x, checkedNormShape(x, norm_shape, "rms_norm"), weight, eps);
}

ForwardRMSNormResult rms_norm(TensorView* x, int64_t kNormShapeNumDims, TensorView* weight,
                              Val* eps) {
  const NormAxes axes = normAxes(x, kNormShapeNumDims, "rms_norm");
  requireEps(eps, "rms_norm");
  checkAffine(weight, axes.inner.positions().size(), "weight", "rms_norm");
  x = ops::inComputeType(x);
  TensorView* invstd = rsqrt(add(axes.inner.keptMeanOf(mul(x, x)), eps));
  TensorView* y = mul(x, invstd);
  if (weight) {
    y = mul(y, weight);
  }
  return {y, invstd};
}

BackwardNormResult layer_norm_backward(TensorView* dy, TensorView* x,
                                       const std::vector<int64_t>& norm_shape, TensorView* mean,
                                       TensorView* rstd, TensorView* weight, TensorView* bias,
                                       const std::vector<bool>& output_mask) {
  constexpr std::string_view kOp = "layer_norm_backward";
  const NormAxes axes = normAxes(x, checkedNormShape(x, norm_shape, kOp), kOp);
  ops::requireReal(dy, kOp);
  checkMask(output_mask, 3, kOp);
  checkAffine(weight, axes.inner.positions().size(), "weight", kOp);
  checkAffine(bias, axes.inner.positions().size(), "bias", kOp);
  dy = ops::inComputeType(dy);
  rstd = withInnerAxes(rstd, axes, x, kOp);
  TensorView* centred = sub(ops::inComputeType(x), withInnerAxes(mean, axes, x, kOp));
  TensorView* x_hat = mul(centred, rstd);
  BackwardNormResult result;
  if (output_mask[0]) {
    TensorView* grad_hat = weight ? mul(dy, weight) : dy;
    result.grad_input = normInputGradient(grad_hat, x_hat, rstd, axes.inner, true);
  }
  if (output_mask[1] && weight) {
    result.grad_weight = axes.outer.sumOf(mul(dy, x_hat));
  }
  if (output_mask[2] && bias) {
    result.grad_bias = axes.outer.positions().empty() ? set(dy) : axes.outer.sumOf(dy);
  }
  return result;
}

namespace {

BackwardRMSNormResult rmsNormBackward(TensorView* dy, TensorView* x, const NormAxes& axes,
                                      TensorView* rstd, TensorView* weight,
                                      const std::vector<bool>& output_mask, std::string_view op) {
  ops::requireReal(dy, op);
  checkMask(output_mask, 2, op);
  checkAffine(weight, axes.inner.positions().size(), "weight", op);
  dy = ops::inComputeType(dy);
  TensorView* x_hat = mul(ops::inComputeType(x), rstd);
  BackwardRMSNormResult result;
  if (output_mask[0]) {
    TensorView* grad_hat = weight ? mul(dy, weight) : dy;
    result.grad_input = normInputGradient(grad_hat, x_hat, rstd, axes.inner, false);
  }
  if (output_mask[1] && weight) {
    result.grad_weight = axes.outer.sumOf(mul(dy, x_hat));
  }
  return result;
}

}  // namespace

BackwardRMSNormResult rms_norm_backward(TensorView* dy, TensorView* x,
                                        const std::vector<int64_t>& norm_shape, TensorView* rstd,
                                        TensorView* weight, const std::vector<bool>& output_mask) {
  constexpr std::string_view kOp = "rms_norm_backward";
  const NormAxes axes = normAxes(x, checkedNormShape(x, norm_shape, kOp), kOp);
  rstd = withInnerAxes(rstd, axes, x, kOp);
  return rmsNormBackward(dy, x, axes, rstd, weight, output_mask, kOp);
}

BackwardRMSNormResult thunder_rms_norm_backward(TensorView* dy, TensorView* x,
                                                const std::vector<int64_t>& norm_shape,
                                                TensorView* rms, TensorView* weight,
                                                const std::vector<bool>& output_mask) {
  constexpr std::string_view kOp = "thunder_rms_norm_backward";
  const NormAxes axes = normAxes(x, checkedNormShape(x, norm_shape, kOp), kOp);
  TensorView* rstd = reciprocal(withInnerAxes(rms, axes, x, kOp));
  return rmsNormBackward(dy, x, axes, rstd, weight, output_mask, kOp);
}

}  // namespace nvfuser
