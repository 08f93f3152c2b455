// Rows of a table by index: an indexed read that is fused like any other.

#include <cmath>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/composite.h>
#include <ops/indexing.h>
#include <ops/promotion.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

/// Rows scaled down to a norm of at most `max_norm`.
TensorView* withLimitedNorm(TensorView* rows, Val* max_norm, Val* norm_type) {
  const DataType dtype = rows->dtype();
  TensorView* x = optionalCast(fullPrecisionType(dtype), rows)->as<TensorView>();
  const bool is_constant = norm_type == nullptr || norm_type->isConst();
  const double order = is_constant && norm_type != nullptr ? norm_type->value().as<double>() : 2.0;
  TensorView* norm = nullptr;
  if (is_constant && order == 2.0) {
    norm = sqrt(sum(mul(x, x), {-1}, true));
  } else if (is_constant && std::isinf(order)) {
    norm = max(abs(x), {-1}, true);
  } else {
    Val* p = norm_type != nullptr ? norm_type : IrBuilder::create<Val>(order);
    norm = pow(sum(pow(abs(x), p), {-1}, true), reciprocal(p));
  }
  TensorView* scale = div(max_norm, add(norm, IrBuilder::create<Val>(1e-7)));
  TensorView* factor = where(gt(norm, max_norm), scale, IrBuilder::create<Val>(1.0));
  return optionalCast(dtype, mul(x, factor))->as<TensorView>();
}

}  // namespace

TensorView* embedding_fwd(TensorView* input, TensorView* weight, Val*, Val* max_norm,
                          Val* norm_type, Val*, Val*) {
  ops::requireTensor(input, "embedding_fwd");
  ops::requireTensor(weight, "embedding_fwd");
  if (!isIntegralType(input->dtype())) {
    userError("embedding_fwd: the input ", input, " has dtype ", input->dtype(),
              "; it holds row numbers, integers");
  }
  if (ops::rankOf(weight) != 2) {
    userError("embedding_fwd: the weight ", weight, " has ", ops::rankOf(weight),
              " axes; it is a table of rows, with 2");
  }
  // An index of several axes is read as it lies, from a table that is the same for all but the last
  // of them, so that sums over one of them are in the same kernel.
  const auto axes = static_cast<size_t>(ops::rankOf(input));
  TensorView* rows = nullptr;
  if (axes > 1) {
    std::vector<bool> of_table(axes + 1, true);
    of_table[axes - 1] = of_table[axes] = false;
    std::vector<bool> of_index(axes + 1, false);
    of_index[axes] = true;
    rows = takeAlongAxis(broadcast(weight, of_table), broadcast(input, of_index),
                         static_cast<int64_t>(axes) - 1);
  } else {
    rows = indexSelect(weight, 0, input);
  }
  if (max_norm != nullptr) {
    rows = withLimitedNorm(rows, max_norm, norm_type);
  }
  if (axes == 0) {
    return squeeze(rows, {0});
  }
  return rows;
}

}  // namespace nvfuser
