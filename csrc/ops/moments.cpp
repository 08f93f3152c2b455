#include <algorithm>
#include <numeric>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/normalization.h>
#include <ops/reduced_axes.h>
#include <ops/utils.h>

namespace nvfuser {

namespace ops {

TensorView* inComputeType(TensorView* x) {
  const bool exact = isIntegralType(x->dtype()) || isBooleanType(x->dtype());
  return maybeCastOp(exact ? DataType(DataType::Float) : fullPrecisionType(x->dtype()), x);
}

ReducedAxes::ReducedAxes(const TensorView* x, const std::vector<int64_t>& dims,
                         std::string_view op) {
  requireTensor(x, op);
  const std::vector<IterDomain*> axes = axesOf(x);
  positions_ = dims;
  if (dims.empty()) {
    positions_.resize(axes.size());
    std::iota(positions_.begin(), positions_.end(), int64_t{0});
  }
  positions_ = canonicalizeAxes(positions_, x, op);
  is_reduced_.assign(axes.size(), false);
  extent_ = x->fusion()->oneVal(DataType::Index);
  const std::vector<Val*> sizes = sizesOf(x);
  for (int64_t position : positions_) {
    const auto axis = static_cast<size_t>(position);
    is_reduced_[axis] = true;
    extent_ = SimplifyingIrBuilder::mulExpr(extent_, sizes[axis]);
  }
}

ReducedAxes ReducedAxes::allBut(const TensorView* x, const std::vector<int64_t>& kept,
                                std::string_view op) {
  requireTensor(x, op);
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < static_cast<int64_t>(axesOf(x).size()); ++i) {
    if (std::find(kept.begin(), kept.end(), i) == kept.end()) {
      dims.push_back(i);
    }
  }
  if (!dims.empty()) {
    return ReducedAxes(x, dims, op);
  }
  ReducedAxes none;
  none.is_reduced_.assign(axesOf(x).size(), false);
  none.extent_ = x->fusion()->oneVal(DataType::Index);
  return none;
}

TensorView* ReducedAxes::sumOf(TensorView* x) const {
  return positions_.empty() ? x : nvfuser::sum(x, positions_);
}

TensorView* ReducedAxes::meanOf(TensorView* x) const {
  return div(sumOf(x), count(getTypeFromComplexType(x->dtype())));
}

TensorView* ReducedAxes::keep(TensorView* reduced) const {
  return positions_.empty() ? reduced : nvfuser::broadcast(reduced, is_reduced_);
}

Val* ReducedAxes::count(DataType dtype, int64_t correction) const {
  Val* n = extent_;
  if (correction != 0) {
    n = SimplifyingIrBuilder::maxExpr(
        SimplifyingIrBuilder::subExpr(extent_, indexConstant(correction)), indexConstant(0));
  }
  return SimplifyingIrBuilder::maybeCastExpr(dtype, n);
}

}  // namespace ops

using ops::ReducedAxes;

namespace {

/// |x|², real for complex numbers.
TensorView* squaredMagnitude(TensorView* x) {
  if (!isComplexType(x->dtype())) {
    return mul(x, x);
  }
  TensorView* re = real(x);
  TensorView* im = imag(x);
  return add(mul(re, re), mul(im, im));
}

void checkCorrection(std::string_view op, int64_t correction) {
  if (correction < 0) {
    userError(op, ": correction must be non-negative, but got ", correction);
  }
}

}  // namespace

TensorView* mean(TensorView* x, const std::vector<int64_t>& dims, bool keepdim) {
  const ReducedAxes reduced(x, dims, "mean");
  TensorView* result = reduced.meanOf(ops::inComputeType(x));
  return keepdim ? reduced.keep(result) : result;
}

TensorView* variance(TensorView* x, const std::vector<int64_t>& dims, bool unbiased, bool keepdim) {
  return variance(x, dims, unbiased ? int64_t{1} : int64_t{0}, keepdim);
}

TensorView* variance(TensorView* x, const std::vector<int64_t>& dims, int64_t correction,
                     bool keepdim) {
  const ReducedAxes reduced(x, dims, "variance");
  checkCorrection("variance", correction);
  x = ops::inComputeType(x);
  TensorView* deviation = sub(x, reduced.keptMeanOf(x));
  TensorView* total = reduced.sumOf(squaredMagnitude(deviation));
  TensorView* result = div(total, reduced.count(total->dtype(), correction));
  return keepdim ? reduced.keep(result) : result;
}

VarMeanResult variance_mean(TensorView* x, const std::vector<int64_t>& dims, int64_t correction,
                            bool keepdim) {
  const ReducedAxes reduced(x, dims, "variance_mean");
  checkCorrection("variance_mean", correction);
  if (isReducedPrecisionFloat(x->dtype())) {
    userError("variance_mean: variance_mean is not supported for ", x->dtype(),
              " please upcast to float");
  }
  if (isComplexType(x->dtype())) {
    // The parts are independent: variances add, means are the parts of the mean.
    VarMeanResult re = variance_mean(real(x), dims, correction, keepdim);
    VarMeanResult im = variance_mean(imag(x), dims, correction, keepdim);
    return {add(re.var, im.var), complex(re.mean, im.mean)};
  }
  x = ops::inComputeType(x);
  TensorView* avg = x;
  TensorView* var_sum = nullptr;
  if (reduced.positions().empty()) {  // a 0-dim tensor
    var_sum = sub(x, x);
  } else {
    const WelfordResult stats = Welford(x, reduced.positions());
    avg = stats.avg;
    var_sum = stats.var_sum;
  }
  TensorView* var = div(var_sum, reduced.count(x->dtype(), correction));
  if (!keepdim) {
    return {var, avg};
  }
  return {reduced.keep(var), reduced.keep(avg)};
}

TensorView* standard_deviation(TensorView* x, const std::vector<int64_t>& dims, bool unbiased,
                               bool keepdim) {
  return sqrt(variance(x, dims, unbiased, keepdim));
}

}  // namespace nvfuser
