/// Average, sum of squared differences from it, and count, in one pass (Welford). A broadcast axis
/// has nothing to reduce: it is dropped, and counts as often as it is expanded.
#include <limits>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/broadcast_reductions.h>
#include <ops/define_pointwise.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

/// The reduced axes as positions from the left; checks operand and axes.
std::vector<int64_t> welfordAxes(TensorView* tv, const std::vector<int64_t>& axes) {
  ops::requireOperands("welford", {static_cast<Val*>(tv)});
  if (tv->dtype() != DataType::Float && tv->dtype() != DataType::Double) {
    userError("welford: not supported for ", tv->dtype(), " (", tv->toInlineString(),
              "); please upcast to float");
  }
  if (ops::rankOf(tv) == 0) {
    userError("welford: ", tv->toInlineString(), " has no axes, so there is none to reduce");
  }
  if (axes.empty()) {
    userError("welford: No reduction axis specified");
  }
  return ops::canonicalizeAxes(axes, tv, "welford");
}

void requireWelfordInit(const TensorView* init_avg, const TensorView* init_var, const Val* init_N) {
  bool all = init_avg && init_var && init_N;
  bool none = !init_avg && !init_var && !init_N;
  if (!all && !none) {
    userError("welford: initial average, variance and count are given together or not at all");
  }
}

Val* notANumber(DataType dtype) {
  return IrBuilder::create<Val>(PolymorphicValue(std::numeric_limits<double>::quiet_NaN()), dtype);
}

/// How many elements the axes have together, as a scalar.
Val* countOver(const TensorView* tv, const std::vector<int64_t>& axes) {
  const std::vector<Val*> sizes = ops::sizesOf(tv);
  Val* count = tv->fusion()->oneVal(DataType::Index);
  for (int64_t axis : axes) {
    count = SimplifyingIrBuilder::mulExpr(count, sizes[static_cast<size_t>(axis)]);
  }
  return count;
}

/// `tv` where the scalar `number` is above 0, else `other`. Decided here if it is a constant.
TensorView* ifAny(Val* number, TensorView* tv, TensorView* other) {
  if (const auto constant = ops::constantOf(number)) {
    return *constant > 0 ? tv : other;
  }
  Val* any = SimplifyingIrBuilder::gtExpr(number, number->fusion()->zeroVal(number->dtype()));
  return where(any, tv, other)->as<TensorView>();
}

/// Both sides' statistics as one (Chan's formula): `a`, of `own` numbers, and those of `n` numbers.
/// A side without numbers counts for nothing.
WelfordResult combined(WelfordResult a, Val* own, TensorView* avg, TensorView* var, Val* n) {
  DataType dtype = a.avg->dtype();
  TensorView* own_n = castOp(dtype, a.n);
  Val* other_n = optionalCastStrict(dtype, n);
  TensorView* total = add(own_n, other_n);
  TensorView* delta = sub(a.avg, avg);
  TensorView* share = truediv(own_n, total);
  TensorView* moved = mul(mul(mul(delta, delta), share), other_n);
  auto of_both = [&](TensorView* both, TensorView* ours, TensorView* given) {
    return ifAny(n, ifAny(own, both, given), ours);
  };
  return {.avg = of_both(add(avg, mul(delta, share)), a.avg, avg),
          .var_sum = of_both(add(add(a.var_sum, var), moved), a.var_sum, var),
          .n = castOp(DataType::Index, total)};
}

}  // namespace

WelfordResult WelfordRaw(TensorView* tv, const std::vector<int64_t>& axes, TensorView* init_avg,
                         TensorView* init_var, Val* init_N) {
  const std::vector<int64_t> reduced = welfordAxes(tv, axes);
  requireWelfordInit(init_avg, init_var, init_N);
  Fusion* fusion = tv->fusion();
  WelfordResult result{.avg = newForReduction(tv, reduced),
                       .var_sum = newForReduction(tv, reduced),
                       .n = newForReduction(tv, reduced, DataType::Index)};
  IrBuilder::create<WelfordOp>(result.avg, result.var_sum, result.n, tv,
                               fusion->zeroVal(tv->dtype()), fusion->oneVal(DataType::Index));
  return init_N ? combined(result, countOver(tv, reduced), init_avg, init_var, init_N) : result;
}

WelfordResult Welford(TensorView* tv, const std::vector<int64_t>& axes, TensorView* init_avg,
                      TensorView* init_var, Val* init_N) {
  const std::vector<int64_t> reduced = welfordAxes(tv, axes);
  requireWelfordInit(init_avg, init_var, init_N);
  ops::Squeezed rest = ops::squeezeBroadcasts(tv, reduced);
  WelfordResult result{};
  if (!rest.axes.empty()) {
    result = WelfordRaw(rest.tv, rest.axes);
  } else {
    // (Of an infinity or NaN, which lies no way from itself, it is NaN.)
    Val* one = tv->fusion()->oneVal(DataType::Index);
    result = {.avg = rest.tv,
              .var_sum = sub(rest.tv, rest.tv),
              .n = full_like(rest.tv, one, DataType::Index)};
  }
  if (rest.times) {
    Val* zero = tv->fusion()->zeroVal(tv->dtype());
    result.avg = ops::unlessNothing(result.avg, rest.times, notANumber(tv->dtype()));
    result.var_sum = ops::unlessNothing(
        ops::repeatCombination(BinaryOpType::Add, result.var_sum, rest.times), rest.times, zero);
    result.n = ops::repeatCombination(BinaryOpType::Add, result.n, rest.times);
  }
  return init_N ? combined(result, countOver(tv, reduced), init_avg, init_var, init_N) : result;
}

}  // namespace nvfuser
