/// Lookups in the table, and its reference column.
#include <ops/table/pointwise.h>

#include <limits>

#include <ir/internal_nodes.h>

namespace nvfuser {

NumberClass numberClass(DataType dtype) {
  if (isBooleanType(dtype)) {
    return NumberClass::Bool;
  }
  if (isIntegralType(dtype)) {
    return NumberClass::Integer;
  }
  if (isComplexType(dtype)) {
    return NumberClass::Complex;
  }
  check(isFloatingPointType(dtype), "a dtype of no number class");
  return NumberClass::Real;
}

std::string_view dtypeRuleName(DtypeRule rule) {
  switch (rule) {
    case DtypeRule::Identity:
      return "identity";
    case DtypeRule::Keep:
      return "keep";
    case DtypeRule::Default:
      return "default";
    case DtypeRule::Float:
      return "float";
    case DtypeRule::FullFloat:
      return "full-float";
    case DtypeRule::Magnitude:
      return "magnitude";
    case DtypeRule::RealPart:
      return "real-part";
    case DtypeRule::Comparison:
      return "comparison";
    case DtypeRule::Logical:
      return "logical";
    case DtypeRule::Bitwise:
      return "bitwise";
    case DtypeRule::Integer:
      return "integer";
    case DtypeRule::Predicate:
      return "predicate";
    case DtypeRule::Select:
      return "select";
  }
  return "";
}

bool PointwiseRow::accepts(DataType compute) const {
  switch (numberClass(compute)) {
    case NumberClass::Bool:
      return !boolean.text.empty();
    case NumberClass::Integer:
      return !integer.text.empty();
    case NumberClass::Real:
      return !real.text.empty();
    case NumberClass::Complex:
      return !complex.text.empty();
  }
  return false;
}

DataType PointwiseRow::resultType(DataType compute) const {
  switch (result) {
    case ResultKind::Same:
      return compute;
    case ResultKind::Bool:
      return DataType::Bool;
    case ResultKind::RealPart:
      return getTypeFromComplexType(compute);
    case ResultKind::MakeComplex:
      return getComplexTypeFromType(compute);
  }
  return compute;
}

namespace {

#define UNARY(name, type, rule, python, doc) \
  {#name, 1, static_cast<int>(UnaryOpType::type), DtypeRule::rule, python, doc},
#define BINARY(name, type, rule, python, doc) \
  {#name, 2, static_cast<int>(BinaryOpType::type), DtypeRule::rule, python, doc},
#define TERNARY(name, type, rule, python, doc) \
  {#name, 3, static_cast<int>(TernaryOpType::type), DtypeRule::rule, python, doc},
constexpr PointwiseFunction kFunctions[] = {
#include <ops/table/pointwise_functions.def>
};

}  // namespace

std::span<const PointwiseFunction> pointwiseFunctions() { return kFunctions; }

const PointwiseFunction* findPointwiseFunction(std::string_view name) {
  for (const PointwiseFunction& function : kFunctions) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

const PointwiseRow& PointwiseFunction::row() const {
  if (arity == 1) {
    return pointwiseRow(static_cast<UnaryOpType>(code));
  }
  if (arity == 2) {
    return pointwiseRow(static_cast<BinaryOpType>(code));
  }
  return pointwiseRow(static_cast<TernaryOpType>(code));
}

namespace {

/// The type that operands were brought to: that of the tensors; of scalars alone, their promoted
/// type.
DataType commonOperandType(const Expr* expr, size_t first) {
  DataType of_scalars = DataType::Null;
  for (size_t i = first; i < expr->inputs().size(); ++i) {
    const Val* in = expr->input(i);
    if (in->isA<TensorView>()) {
      return in->dtype();
    }
    of_scalars = of_scalars == DataType::Null ? in->dtype() : promoteType(of_scalars, in->dtype());
  }
  return of_scalars;
}

/// The widest category among the operands decides, then the tensor's type within it.
DataType comparedType(const Expr* expr) {
  DataType result = commonOperandType(expr, 0);
  for (const Val* in : expr->inputs()) {
    if (numberClass(in->dtype()) > numberClass(result)) {
      result = in->dtype();
    }
  }
  return isReducedPrecisionFloat(result) ? DataType(DataType::Float) : result;
}

const PointwiseRow& rowOf(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::UnaryOp:
      return pointwiseRow(expr->as<UnaryOp>()->getUnaryOpType());
    case ExprKind::BinaryOp:
      return pointwiseRow(expr->as<BinaryOp>()->getBinaryOpType());
    case ExprKind::TernaryOp:
      return pointwiseRow(expr->as<TernaryOp>()->getTernaryOpType());
    default:
      throw InternalError("not a pointwise operation");
  }
}

}  // namespace

DataType pointwiseComputeType(const Expr* expr) {
  const PointwiseRow& row = rowOf(expr);
  DataType out = expr->output(0)->dtype();
  if (expr->kind() == ExprKind::UnaryOp) {
    DataType in = expr->input(0)->dtype();
    auto type = expr->as<UnaryOp>()->getUnaryOpType();
    bool moves_only = type == UnaryOpType::Cast || type == UnaryOpType::BitCast;
    return isReducedPrecisionFloat(in) && !moves_only ? DataType(DataType::Float) : in;
  }
  if (row.result == ResultKind::Bool || row.result == ResultKind::MakeComplex) {
    return comparedType(expr);
  }
  if (row.name == "where") {
    return out;
  }
  return isReducedPrecisionFloat(out) ? DataType(DataType::Float) : out;
}

namespace {

template <typename Number>
Number apply(const Meaning<Number>& meaning, DataType compute,
             std::span<const PolymorphicValue> operands) {
  check(meaning.reference != nullptr,
        "a pointwise operation on a dtype that it is not defined for");
  std::array<Number, 3> x{};
  for (size_t i = 0; i < operands.size(); ++i) {
    // Truth values may come for the condition of `where`; the rest is of the class or converts to
    // it.
    x.at(i) = operands[i].as<Number>();
  }
  return meaning.reference(x.data(), compute);
}

PolymorphicValue rowReference(const PointwiseRow& row, DataType compute, DataType out,
                              std::span<const PolymorphicValue> operands) {
  check(static_cast<int>(operands.size()) == row.arity, "a pointwise operation of another arity");
  if (out == DataType::Null) {
    out = row.resultType(compute);
  }
  if (row.result == ResultKind::MakeComplex) {
    return castToDtype(std::complex<double>(operands[0].as<double>(), operands[1].as<double>()),
                       out);
  }
  switch (numberClass(compute)) {
    case NumberClass::Bool:
      return castToDtype(apply(row.boolean, compute, operands) != 0, out);
    case NumberClass::Integer: {
      int64_t value = apply(row.integer, compute, operands);
      bool unsigned_to_real =
          compute == DataType::UInt64 && numberClass(out) > NumberClass::Integer;
      if (row.result == ResultKind::Bool) {
        return castToDtype(value != 0, out);
      }
      if (unsigned_to_real) {
        return castToDtype(static_cast<double>(static_cast<uint64_t>(value)), out);
      }
      return castToDtype(wrapInteger(value, compute), out);
    }
    case NumberClass::Real:
      return castToDtype(apply(row.real, compute, operands), out);
    case NumberClass::Complex:
      return castToDtype(apply(row.complex, compute, operands), out);
  }
  return {};
}

}  // namespace

PolymorphicValue pointwiseReference(UnaryOpType type, DataType compute, DataType out,
                                    std::span<const PolymorphicValue> operands) {
  return rowReference(pointwiseRow(type), compute, out, operands);
}

PolymorphicValue pointwiseReference(BinaryOpType type, DataType compute, DataType out,
                                    std::span<const PolymorphicValue> operands) {
  return rowReference(pointwiseRow(type), compute, out, operands);
}

PolymorphicValue pointwiseReference(TernaryOpType type, DataType compute, DataType out,
                                    std::span<const PolymorphicValue> operands) {
  return rowReference(pointwiseRow(type), compute, out, operands);
}

std::optional<PolymorphicValue> leastValue(DataType dtype) {
  if (isBooleanType(dtype)) {
    return PolymorphicValue(false);
  }
  if (isFloatingPointType(dtype)) {
    return PolymorphicValue(-std::numeric_limits<double>::infinity());
  }
  if (!isIntegralType(dtype)) {
    return std::nullopt;
  }
  return PolymorphicValue(isUnsignedIntegralType(dtype)
                              ? int64_t{0}
                              : std::numeric_limits<int64_t>::min() >> (64 - integerBits(dtype)));
}

std::optional<PolymorphicValue> greatestValue(DataType dtype) {
  if (isBooleanType(dtype)) {
    return PolymorphicValue(true);
  }
  if (isFloatingPointType(dtype)) {
    return PolymorphicValue(std::numeric_limits<double>::infinity());
  }
  if (!isIntegralType(dtype)) {
    return std::nullopt;
  }
  // All bits below the sign; of an unsigned type all bits (of UInt64: the image -1).
  return PolymorphicValue(isUnsignedIntegralType(dtype)
                              ? wrapInteger(-1, dtype)
                              : std::numeric_limits<int64_t>::max() >> (64 - integerBits(dtype)));
}

std::optional<PolymorphicValue> identityValue(BinaryOpType type, DataType dtype) {
  switch (pointwiseRow(type).identity) {
    case Identity::None:
      return std::nullopt;
    case Identity::Zero:
      return castToDtype(PolymorphicValue(0), dtype);
    case Identity::One:
      return castToDtype(PolymorphicValue(1), dtype);
    case Identity::Lowest:
      return leastValue(dtype);
    case Identity::Highest:
      return greatestValue(dtype);
    case Identity::AllOnes:
      return castToDtype(PolymorphicValue(-1), dtype);
  }
  return std::nullopt;
}

int integerBits(DataType dtype) { return static_cast<int>(dataTypeSizeBit(dtype)); }

int64_t wrapInteger(int64_t value, DataType dtype) {
  int unused = 64 - integerBits(dtype);
  auto bits = static_cast<uint64_t>(value) << unused;
  return isUnsignedIntegralType(dtype) ? static_cast<int64_t>(bits >> unused)
                                       : static_cast<int64_t>(bits) >> unused;
}

}  // namespace nvfuser
