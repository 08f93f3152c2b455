#include <ops/broadcast_reductions.h>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/table/pointwise.h>

namespace nvfuser::ops {

Squeezed squeezeBroadcasts(TensorView* tv, const std::vector<int64_t>& axes) {
  std::vector<IterDomain*> domain = axesOf(tv);
  std::vector<bool> drop(domain.size(), false);
  Squeezed result{.tv = tv, .axes = {}, .times = nullptr};
  int64_t dropped = 0;
  for (int64_t axis : axes) {
    const IterDomain* id = domain.at(static_cast<size_t>(axis));
    if (!id->isBroadcast()) {
      result.axes.push_back(axis - dropped);
      continue;
    }
    drop[static_cast<size_t>(axis)] = true;
    ++dropped;
    if (!id->hasExpandedExtent()) {
      continue;
    }
    Val* extent = sizesOf(tv)[static_cast<size_t>(axis)];  // another operand may be longer
    result.times = result.times ? SimplifyingIrBuilder::mulExpr(result.times, extent) : extent;
  }
  if (dropped > 0) {
    result.tv = squeeze(tv, drop, /*squeeze_expanded=*/true);
  }
  return result;
}

TensorView* repeatCombination(BinaryOpType type, TensorView* tv, Val* times) {
  switch (type) {
    case BinaryOpType::Add:
      return binaryOp(BinaryOpType::Mul, tv, optionalCastStrict(tv->dtype(), times), tv->dtype());
    case BinaryOpType::Mul:
      return binaryOp(BinaryOpType::Pow, tv, optionalCastStrict(tv->dtype(), times), tv->dtype());
    case BinaryOpType::BitwiseXor:
      userError("reduction: an expanded axis cannot be reduced by ", pointwiseRow(type).name,
                "; materialise it with repeat() first");
    default:
      return tv;  // x ∘ x == x
  }
}

TensorView* unlessNothing(TensorView* tv, Val* times, Val* nothing) {
  if (constantOf(times).value_or(0) > 0) {
    return tv;
  }
  Val* combined = SimplifyingIrBuilder::gtExpr(times, tv->fusion()->zeroVal(DataType::Index));
  return maybeCastOp(tv->dtype(), where(combined, tv, nothing));
}

}  // namespace nvfuser::ops
