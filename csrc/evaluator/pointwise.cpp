// Pointwise operations: the reference column of the operation table, applied to every element.

#include <evaluator/pointwise.h>

#include <evaluator/operations.h>
#include <ops/table/pointwise.h>

namespace nvfuser::reference {

namespace {

/// Applies one meaning of a row, whose numbers are `T`. Its result is a `T` as well, of which a
/// truth value or the real part may be what counts.
template <typename T, size_t N>
Array applyMeaning(T (*function)(const T*, DataType), ResultKind result, DataType compute,
                   DataType out, const std::array<Array, N>& operands,
                   const std::vector<int64_t>& sizes) {
  auto call = [=](auto... x) {
    const T values[] = {x...};
    return function(values, compute);
  };
  if (result == ResultKind::Bool) {
    return mapElements<int64_t, T>(operands, sizes, out,
                                   [&](auto... x) { return int64_t{call(x...) != T(0)}; });
  }
  if constexpr (std::is_same_v<T, Complex>) {
    if (result == ResultKind::RealPart) {
      return mapElements<double, T>(operands, sizes, out,
                                    [&](auto... x) { return call(x...).real(); });
    }
  }
  if constexpr (std::is_same_v<T, int64_t>) {
    return mapElements<int64_t, T>(operands, sizes, out,
                                   [&](auto... x) { return wrapToDtype(call(x...), compute); });
  } else {
    return mapElements<T, T>(operands, sizes, out, call);
  }
}

template <size_t N>
Array applyRow(const PointwiseRow& row, const Expr* expr, std::array<Array, N> operands) {
  const DataType compute = pointwiseComputeType(expr);
  if (!row.accepts(compute)) {
    userError(row.name, " is not defined for dtype ", dataTypeName(compute), ", in ", *expr);
  }
  std::vector<const Array*> all;
  for (Array& operand : operands) {
    operand = convert(operand, compute);
    all.push_back(&operand);
  }
  const std::vector<int64_t> sizes = commonSizes(all, std::string(row.name));
  const DataType result = row.resultType(compute);
  Array out;
  switch (numberClass(compute)) {
    case NumberClass::Bool:
      out = applyMeaning<int64_t>(row.boolean.reference, row.result, compute, result, operands,
                                  sizes);
      break;
    case NumberClass::Integer:
      out = applyMeaning<int64_t>(row.integer.reference, row.result, compute, result, operands,
                                  sizes);
      break;
    case NumberClass::Real:
      out = applyMeaning<double>(row.real.reference, row.result, compute, result, operands, sizes);
      break;
    case NumberClass::Complex:
      out = applyMeaning<Complex>(row.complex.reference, row.result, compute, result, operands,
                                  sizes);
      break;
  }
  return convert(out, expr->output(0)->dtype());
}

/// The same bytes as another dtype.
Array bitCast(const Array& in, DataType dtype) {
  if (dataTypeSizeByte(in.dtype) != dataTypeSizeByte(dtype)) {
    userError("bitCastOp: elements of ", dataTypeName(in.dtype), " and ", dataTypeName(dtype),
              " differ in size");
  }
  const HostTensor bytes = store(in);
  TensorRef ref = bytes.ref();
  ref.dtype = dtype;
  return load(ref);
}

}  // namespace

Array unary(const UnaryOp* op, Context& context) {
  const Array in = context.operand(op->in());
  switch (op->getUnaryOpType()) {
    case UnaryOpType::Cast:
      // Rounded as what it is before it becomes another type: the cast of a Float to Double has a
      // Float's digits.
      return convert(rounded(in), op->out()->dtype());
    case UnaryOpType::BitCast:
      return bitCast(in, op->out()->dtype());
    default:
      return applyRow<1>(pointwiseRow(op->getUnaryOpType()), op, {in});
  }
}

Array binary(const BinaryOp* op, Context& context) {
  const Array lhs = context.operand(op->lhs());
  const Array rhs = context.operand(op->rhs());
  if (op->getBinaryOpType() == BinaryOpType::Complex) {
    const DataType part = getTypeFromComplexType(op->out()->dtype());
    const std::array<Array, 2> parts{convert(lhs, part), convert(rhs, part)};
    return mapElements<Complex, double>(parts, commonSizes({&lhs, &rhs}, "complex"),
                                        op->out()->dtype(),
                                        [](double re, double im) { return Complex(re, im); });
  }
  return applyRow<2>(pointwiseRow(op->getBinaryOpType()), op, {lhs, rhs});
}

Array ternary(const TernaryOp* op, Context& context) {
  return applyRow<3>(
      pointwiseRow(op->getTernaryOpType()), op,
      {context.operand(op->in1()), context.operand(op->in2()), context.operand(op->in3())});
}

PolymorphicValue applyToScalars(const Expr* expr, const std::vector<PolymorphicValue>& operands) {
  const DataType dtype = expr->output(0)->dtype();
  switch (expr->kind()) {
    case ExprKind::LoadStoreOp:
      return castToDtype(operands[0], dtype);
    case ExprKind::UnaryOp: {
      const UnaryOpType type = expr->as<UnaryOp>()->getUnaryOpType();
      if (type == UnaryOpType::BitCast) {
        return onlyElement(bitCast(splat(operands[0], expr->input(0)->dtype(), {}), dtype));
      }
      return pointwiseReference(type, pointwiseComputeType(expr), dtype, operands);
    }
    case ExprKind::BinaryOp:
      return pointwiseReference(expr->as<BinaryOp>()->getBinaryOpType(), pointwiseComputeType(expr),
                                dtype, operands);
    case ExprKind::TernaryOp:
      return pointwiseReference(expr->as<TernaryOp>()->getTernaryOpType(),
                                pointwiseComputeType(expr), dtype, operands);
    default:
      return {};
  }
}

}  // namespace nvfuser::reference
