/// Tensors made from nothing, and scalars that describe tensors.
#include <cmath>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_pointwise.h>
#include <ops/tensor_of_shape.h>
#include <ops/utils.h>

namespace nvfuser {

namespace ops {

namespace {

/// 4 / 0 as a size is a mistake that need not wait for a run.
void requireNoZeroDivisor(std::string_view op, const Val* size, size_t position) {
  const Expr* def = size->definition();
  if (def == nullptr || !def->isA<BinaryOp>() || !def->input(1)->isZeroInt()) {
    return;
  }
  using enum BinaryOpType;
  const BinaryOpType type = def->as<BinaryOp>()->getBinaryOpType();
  if (type == Div || type == Mod || type == CeilDiv || type == Remainder) {
    userError(op, ": size ", position, " of the shape is divided by zero: ", size->toInlineString(),
              " = ", def->toInlineString());
  }
}

}  // namespace

TensorView* tensorOfShape(std::string_view op, const std::vector<Val*>& shape, DataType dtype) {
  std::vector<IterDomain*> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    Val* size = shape[i];
    if (size == nullptr || !size->isIntegralScalar()) {
      userError(op, ": size ", i, " of the shape must be an integer scalar, got ",
                size ? size->toInlineString() : "null");
    }
    std::optional<int64_t> constant = constantOf(size);
    if (constant && *constant < 0) {
      userError(op, ": size ", i, " of the shape is negative: ", *constant);
    }
    requireNoZeroDivisor(op, size, i);
    axes.push_back(newAxis(size));
  }
  if (dtype == DataType::Null) {
    userError(op, ": the data type is missing");
  }
  return newTensor(std::move(axes), dtype);
}

}  // namespace ops

TensorView* full(const std::vector<Val*>& shape, Val* fill_value, DataType dtype, bool) {
  ops::requireOperands("full", {fill_value});
  if (fill_value->isA<TensorView>()) {
    userError("full: fill_value (", fill_value->toInlineString(),
              ") must be a scalar, not a tensor; use expand() to repeat a tensor");
  }
  TensorView* out = ops::tensorOfShape("full", shape, dtype);
  IrBuilder::create<FullOp>(out, optionalCastStrict(fullPrecisionType(dtype), fill_value));
  return out;
}

TensorView* full_like(TensorView* tv, Val* fill_value, DataType dtype) {
  ops::requireOperands("full_like", {tv, fill_value});
  return full(shape(tv), fill_value, dtype);
}

TensorView* full_like(TensorView* tv, Val* fill_value) {
  ops::requireOperands("full_like", {tv, fill_value});
  return full_like(tv, fill_value, tv->dtype());
}

Val* full_like(Val* tv, Val* fill_value) {
  ops::requireOperands("full_like", {tv, fill_value});
  if (tv->isA<TensorView>()) {
    return full_like(tv->as<TensorView>(), fill_value);
  }
  return optionalCastStrict(tv->dtype(), fill_value);
}

TensorView* zeros(const std::vector<Val*>& shape, DataType dtype, bool) {
  return full(shape, IrBuilder::create<Val>(PolymorphicValue(0), DataType(DataType::Int)), dtype);
}

TensorView* ones(const std::vector<Val*>& shape, DataType dtype, bool) {
  return full(shape, IrBuilder::create<Val>(PolymorphicValue(1), DataType(DataType::Int)), dtype);
}

TensorView* zeros_like(TensorView* tv) {
  ops::requireOperands("zeros_like", {static_cast<Val*>(tv)});
  return full_like(tv, tv->fusion()->zeroVal(DataType::Int));
}
Val* zeros_like(Val* v) {
  ops::requireOperands("zeros_like", {v});
  return full_like(v, v->fusion()->zeroVal(DataType::Int));
}
TensorView* ones_like(TensorView* tv) {
  ops::requireOperands("ones_like", {static_cast<Val*>(tv)});
  return full_like(tv, tv->fusion()->oneVal(DataType::Int));
}
Val* ones_like(Val* v) {
  ops::requireOperands("ones_like", {v});
  return full_like(v, v->fusion()->oneVal(DataType::Int));
}

namespace {

void requireLike(std::string_view what, const Val* v, DataType dtype) {
  if (numberClass(v->dtype()) != numberClass(dtype)) {
    userError("iota: ", what, " (", v->toInlineString(), " of type ", v->dtype(),
              ") does not fit the dtype ", dtype, "; iota: ", what,
              " value dtype does not match, cast it first");
  }
  if (v->isConst() && v->value().is<double>() && !std::isfinite(v->value().as<double>())) {
    userError("iota: ", what, " must be finite, got ", v->toInlineString());
  }
}

Val* constantOne(DataType dtype, int64_t value) {
  return IrBuilder::create<Val>(castToDtype(PolymorphicValue(value), dtype), dtype);
}

}  // namespace

TensorView* iota(Val* length, Val* start, Val* step, DataType dtype) {
  ops::requireOperands("iota", {length});
  if (!isIntegralType(dtype) && !isFloatingPointType(dtype)) {
    userError("iota: the dtype must be an integer or floating-point type, got ", dtype);
  }
  DataType full_type = fullPrecisionType(dtype);
  if (start == nullptr) {
    start = constantOne(full_type, 0);
  }
  if (step == nullptr) {
    step = constantOne(full_type, 1);
  }
  ops::requireOperands("iota", {start, step});
  requireLike("start", start, full_type);
  requireLike("step", step, full_type);
  if (step->isZero()) {
    userError("iota: step value must not equal zero");
  }
  TensorView* out = ops::tensorOfShape("iota", {length}, full_type);
  IrBuilder::create<IotaOp>(out, length, optionalCastStrict(full_type, start),
                            optionalCastStrict(full_type, step));
  return maybeCastOp(dtype, out);
}

TensorView* arange(Val* end, DataType dtype) {
  ops::requireOperands("arange", {end});
  return arange(end->fusion()->zeroVal(end->dtype()), end, dtype);
}

TensorView* arange(Val* start, Val* end, DataType dtype) {
  ops::requireOperands("arange", {start, end});
  return arange(start, end, start->fusion()->oneVal(start->dtype()), dtype);
}

TensorView* arange(Val* start, Val* end, Val* step, DataType dtype) {
  ops::requireOperands("arange", {start, end, step});
  if (step->isZero()) {
    userError("arange: step must not be zero");
  }
  DataType full_type = fullPrecisionType(dtype);
  bool whole = isIntegralType(start->dtype()) && isIntegralType(end->dtype()) &&
               isIntegralType(step->dtype());
  Val* length = nullptr;
  if (start->isConst() && end->isConst() && step->isConst()) {
    double steps =
        (end->value().as<double>() - start->value().as<double>()) / step->value().as<double>();
    if (steps < 0) {
      userError("arange: end ", end->toInlineString(), " is not reached from start ",
                start->toInlineString(), " by steps of ", step->toInlineString(),
                "; change the sign of step");
    }
    length = constantOne(DataType::Index, static_cast<int64_t>(std::ceil(steps)));
  } else if (whole) {
    length = ceilDiv(abs(sub(end, start)), abs(step));
  } else {
    auto wide = [](Val* v) { return optionalCastStrict(DataType::Double, v); };
    length = castOp(DataType::Index, ceil(div(abs(sub(wide(end), wide(start))), abs(wide(step)))));
  }
  return iota(length, optionalCastStrict(full_type, start), optionalCastStrict(full_type, step),
              dtype);
}

TensorView* eye(Val* rows, Val* cols, DataType dtype) {
  ops::requireOperands("eye", {rows, cols});
  TensorView* out = ops::tensorOfShape("eye", {rows, cols}, dtype);
  IrBuilder::create<EyeOp>(out);
  return out;
}

TensorView* eye(Val* size, DataType dtype) { return eye(size, size, dtype); }

TensorView* tensor(Val* val) {
  ops::requireOperands("tensor", {val});
  return full({}, val, val->dtype());
}

std::vector<Val*> shape(TensorView* inp) {
  ops::requireOperands("shape", {static_cast<Val*>(inp)});
  return ops::sizesOf(inp);
}

Val* size(TensorView* inp, int64_t dim) {
  std::vector<Val*> sizes = shape(inp);
  return sizes[static_cast<size_t>(wrapDim(dim, static_cast<int64_t>(sizes.size()), "size"))];
}

Val* at(const std::vector<Val*>& inp, int64_t index) {
  return inp[static_cast<size_t>(wrapDim(index, static_cast<int64_t>(inp.size()), "at"))];
}

TensorView* viewAsScalar(TensorView* inp) {
  ops::requireOperands("viewAsScalar", {static_cast<Val*>(inp)});
  if (!isComplexType(inp->dtype())) {
    userError("viewAsScalar: ", inp->toInlineString(), " has type ", inp->dtype(),
              "; Operand of ViewAsScalar must have complex type");
  }
  std::vector<IterDomain*> axes = ops::freshAxes(inp);
  axes.push_back(IterDomainBuilder(inp->fusion()->zeroVal(DataType::Index), ops::indexConstant(2))
                     .iter_type(IterType::VectorComponent)
                     .build());
  TensorView* out = ops::newTensor(std::move(axes), getTypeFromComplexType(inp->dtype()));
  IrBuilder::create<ViewAsScalar>(out, inp);
  return out;
}

}  // namespace nvfuser
