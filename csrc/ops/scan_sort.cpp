// Operations along one axis that need all of its elements in order: scans, and sorting, which is of
// a library.

#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;

namespace {

std::vector<IterDomain*> ownAxes(const TensorView* tv) {
  std::vector<IterDomain*> axes;
  for (const IterDomain* id : axesOf(tv)) {
    axes.push_back(ops::newOwnAxis(id));
  }
  return axes;
}

int64_t axisOf(TensorView* tv, int64_t dim, std::string_view op) {
  ops::requireTensor(tv, op);
  return wrapDim(dim, std::max<int64_t>(ops::rankOf(tv), 1), op);  // a 0-dim tensor is one element
}

}  // namespace

TensorView* scan(TensorView* in_tv, int64_t dim, BinaryOpType op_type, Val* init, bool backward) {
  const int64_t axis = axisOf(in_tv, dim, "scan");
  using enum BinaryOpType;
  const bool is_order = op_type == Max || op_type == Min || op_type == FMax || op_type == FMin;
  if (op_type != Add && op_type != Mul && !is_order) {
    userError("scan: elements of ", in_tv, " cannot be combined by ", opName(op_type),
              "; add, mul, max, min, fmax and fmin can be scanned");
  }
  if (is_order) {
    ops::requireReal(in_tv, "scan");
  } else if (isBooleanType(in_tv->dtype())) {
    in_tv = castOp(DataType::Int, in_tv);  // as sums of Bool are
  }
  if (init != nullptr && (init->isA<TensorView>() || !init->isScalar())) {
    userError("scan: the initial value is a scalar, got ", init);
  }
  if (ops::rankOf(in_tv) == 0 || ops::isUnitAxis(axesOf(in_tv)[static_cast<size_t>(axis)])) {
    // The first element is the last one.
    return init == nullptr ? set(in_tv)
                           : maybeCastOp(in_tv->dtype(), binaryOp(op_type, init, in_tv));
  }
  TensorView* out = ops::newTensor(ownAxes(in_tv), in_tv->dtype());
  IrBuilder::create<ScanOp>(op_type, out, in_tv, axis, init, backward);
  return out;
}

TensorView* cumsum(TensorView* tv, int64_t dim) { return scan(tv, dim, BinaryOpType::Add); }
TensorView* prefixSum(TensorView* tv, int64_t dim) { return cumsum(tv, dim); }
TensorView* cumprod(TensorView* tv, int64_t dim) { return scan(tv, dim, BinaryOpType::Mul); }

TensorView* argsort(TensorView* v1, int64_t dim, bool descending, bool stable) {
  const int64_t axis = axisOf(v1, dim, "argsort");
  ops::requireReal(v1, "argsort");
  TensorView* out = ops::newTensor(ownAxes(v1), DataType::Int);
  IrBuilder::create<ArgsortOp>(out, v1, axis, descending, stable);
  return out;
}

TopKResult topk(TensorView* v1, Val* k, int64_t dim, bool largest, bool sorted, bool) {
  const int64_t axis = axisOf(v1, dim, "topk");
  ops::requireReal(v1, "topk");
  if (k == nullptr || !k->isIntegralScalar()) {
    userError("topk: k is an integer scalar, got ", k, " for ", v1);
  }
  const bool is_element = ops::rankOf(v1) == 0;
  const Val* extent = is_element ? v1->fusion()->oneVal(DataType::Index)
                                 : extentOf(axesOf(v1)[static_cast<size_t>(axis)]);
  const auto wanted = constantOf(k);
  if (is_element && wanted != 1) {
    userError("topk: ", v1, " is one element without axes; k is the constant 1 then, got ", k);
  }
  if (wanted && (*wanted < 0 || (constantOf(extent) && *wanted > *constantOf(extent)))) {
    userError("topk: k = ", *wanted, " elements of axis ", axis, " of ", v1,
              " are asked for, which has extent ", extent->toInlineString(),
              "; k lies between 0 and that");
  }
  k = SimplifyingIrBuilder::maybeCastExpr(DataType::Index, k);
  TopKResult result;
  for (TensorView** one : {&result.values, &result.indices}) {
    std::vector<IterDomain*> axes = ownAxes(v1);
    if (!is_element) {
      axes[static_cast<size_t>(axis)] = ops::newAxis(k);
    }
    *one = ops::newTensor(std::move(axes),
                          one == &result.values ? v1->dtype() : DataType(DataType::Int));
  }
  IrBuilder::create<TopKOp>(result.values, result.indices, v1, k, axis, largest, sorted);
  return result;
}

}  // namespace nvfuser
