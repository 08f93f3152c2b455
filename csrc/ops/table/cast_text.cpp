/// Names of types in generated text, and conversions between them.
#include <ops/table/pointwise.h>

namespace nvfuser {

std::string_view typeText(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return "double";
    case PrimDataType::Float:
      return "float";
    case PrimDataType::Half:
      return "half_t";
    case PrimDataType::BFloat16:
      return "bf16_t";
    case PrimDataType::Float8_e4m3fn:
      return "fp8_e4m3_t";
    case PrimDataType::Float8_e5m2:
      return "fp8_e5m2_t";
    case PrimDataType::Char:
      return "i8";
    case PrimDataType::Short:
      return "i16";
    case PrimDataType::Int32:
      return "i32";
    case PrimDataType::Int:
      return "i64";
    case PrimDataType::Byte:
      return "u8";
    case PrimDataType::UInt16:
      return "u16";
    case PrimDataType::UInt32:
      return "u32";
    case PrimDataType::UInt64:
      return "u64";
    case PrimDataType::Index:
      return "index_t";
    case PrimDataType::Bool:
      return "bool";
    case PrimDataType::ComplexDouble:
      return "complex<double>";
    case PrimDataType::ComplexFloat:
      return "complex<float>";
    case PrimDataType::Null:
      break;
  }
  throw InternalError("the dtype Null has no type in a kernel");
}

std::string_view typeSnippet(Target target, DataType dtype) {
  bool cuda = target == Target::Cuda;
  if (isComplexType(dtype)) {
    return cuda ? "complex.cuh" : "cpu/complex.h";
  }
  if (dtype == DataType::Half) {
    return cuda ? "half.cuh" : "cpu/half.h";
  }
  if (dtype == DataType::BFloat16) {
    return cuda ? "bf16.cuh" : "cpu/bf16.h";
  }
  if (dtype == DataType::Float8_e4m3fn || dtype == DataType::Float8_e5m2) {
    return cuda ? "fp8.cuh" : "cpu/fp8.h";
  }
  return "";
}

namespace {

std::string construct(DataType to, std::string_view operand) {
  return text(typeText(to), "(", operand, ")");
}

/// Whether numbers have to be cut that may be out of range, for which C++ has no answer.
bool cutsToInteger(DataType from, DataType to) {
  return (isFloatingPointType(from) || isComplexType(from)) && isIntegralType(to) &&
         to != DataType::Index;
}

std::string primary(std::string_view operand) {
  return isPrimaryText(operand) ? std::string(operand) : text("(", operand, ")");
}

}  // namespace

std::string castText(Target target, DataType from, DataType to, std::string_view operand) {
  if (from == to) {
    return std::string(operand);
  }
  if (isReducedPrecisionFloat(from)) {
    return castText(target, DataType::Float, to, construct(DataType::Float, operand));
  }
  if (isReducedPrecisionFloat(to)) {
    return construct(to, castText(target, from, DataType::Float, operand));
  }
  if (isComplexType(from)) {
    if (isComplexType(to)) {
      return construct(to, operand);
    }
    const std::string value = primary(operand);
    if (isBooleanType(to)) {
      return text(value, ".re != 0 || ", value, ".im != 0");
    }
    return castText(target, getTypeFromComplexType(from), to, text(value, ".re"));
  }
  if (isComplexType(to)) {
    return construct(to, castText(target, from, getTypeFromComplexType(to), operand));
  }
  if (isBooleanType(to)) {
    return text(primary(operand), " != 0");
  }
  if (cutsToInteger(from, to)) {
    return text("toInteger<", typeText(to), ">(", operand, ")");
  }
  return construct(to, operand);
}

std::vector<std::string_view> castSnippets(Target target, DataType from, DataType to) {
  std::vector<std::string_view> files;
  for (DataType dtype : {from, to}) {
    std::string_view file = typeSnippet(target, dtype);
    if (!file.empty() && (files.empty() || files[0] != file)) {
      files.push_back(file);
    }
  }
  if (cutsToInteger(from, to)) {
    files.push_back(target == Target::Cuda ? "math.cuh" : "cpu/math.h");
  }
  return files;
}

}  // namespace nvfuser
