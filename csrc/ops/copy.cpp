#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>

namespace nvfuser {

namespace {

Val* copyScalar(LoadStoreOpType type, Val* v) {
  if (v == nullptr) {
    userError("set: the operand is null; a value is needed");
  }
  Val* out = IrBuilder::create<Val>(v->dtype());
  IrBuilder::create<LoadStoreOp>(type, out, v);
  return out;
}

TensorView* copyTensor(LoadStoreOpType type, TensorView* tv) {
  ops::requireTensor(tv, "set");
  TensorView* out = ops::newTensor(ops::freshAxes(tv), tv->dtype());
  IrBuilder::create<LoadStoreOp>(type, out, tv);
  return out;
}

Val* copyAny(LoadStoreOpType type, Val* v) {
  if (v != nullptr && v->isA<TensorView>()) {
    return copyTensor(type, v->as<TensorView>());
  }
  return copyScalar(type, v);
}

}  // namespace

Val* set(Val* v) { return copyAny(LoadStoreOpType::Set, v); }

TensorView* set(TensorView* tv) { return copyTensor(LoadStoreOpType::Set, tv); }

Val* segment_set(Val* v) { return copyAny(LoadStoreOpType::SegmenterSet, v); }

TensorView* segment_set(TensorView* tv) { return copyTensor(LoadStoreOpType::SegmenterSet, tv); }

TensorView* view(TensorView* x, DataType dtype) {
  ops::requireTensor(x, "view");
  if (x->dtype() == dtype) {
    return x;
  }
  if (dtype == DataType::Null || dataTypeSizeBit(x->dtype()) != dataTypeSizeBit(dtype)) {
    userError("view: ", x, " cannot be read as ", dtype, ": an element of ", x->dtype(), " has ",
              dataTypeSizeBit(x->dtype()), " bits, and one of ", dtype, " must have as many");
  }
  return bitCastOp(dtype, x);
}

}  // namespace nvfuser
