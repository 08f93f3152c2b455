#include <ir/type.h>

#include <array>

#include <support/error.h>

namespace nvfuser {

namespace {

enum class Family : uint8_t { Real, Signed, Unsigned, Bool, Complex, None };

struct TypeRow {
  PrimDataType type;
  std::string_view name;
  int bits;
  Family family;
  int significand = 0;
};

using enum PrimDataType;

/// One row for each PrimDataType, in declaration order.
constexpr std::array kTypes = {
    TypeRow{Double, "double", 64, Family::Real, 53},
    TypeRow{Float, "float", 32, Family::Real, 24},
    TypeRow{Half, "__half", 16, Family::Real, 11},
    TypeRow{BFloat16, "__bfloat", 16, Family::Real, 8},
    TypeRow{Float8_e4m3fn, "__e4m3", 8, Family::Real, 4},
    TypeRow{Float8_e5m2, "__e5m2", 8, Family::Real, 3},
    TypeRow{Char, "int8_t", 8, Family::Signed},
    TypeRow{Short, "int16_t", 16, Family::Signed},
    TypeRow{Int32, "int", 32, Family::Signed},
    TypeRow{Int, "int64_t", 64, Family::Signed},
    TypeRow{Byte, "uint8_t", 8, Family::Unsigned},
    TypeRow{UInt16, "uint16_t", 16, Family::Unsigned},
    TypeRow{UInt32, "uint32_t", 32, Family::Unsigned},
    TypeRow{UInt64, "uint64_t", 64, Family::Unsigned},
    TypeRow{Index, "nvfuser_index_t", 64, Family::Signed},
    TypeRow{Bool, "bool", 8, Family::Bool},
    TypeRow{ComplexDouble, "std::complex<double>", 128, Family::Complex, 53},
    TypeRow{ComplexFloat, "std::complex<float>", 64, Family::Complex, 24},
    TypeRow{Null, "null", 0, Family::None},
};

const TypeRow& row(DataType dtype) { return kTypes[static_cast<size_t>(dtype.type)]; }

}  // namespace

std::string DataType::toString() const { return std::string(dataTypeName(*this)); }

const std::vector<DataType>& allDataTypes() {
  static const std::vector<DataType> all = [] {
    std::vector<DataType> result;
    for (const TypeRow& r : kTypes) {
      if (r.type != Index && r.type != Null) {
        result.emplace_back(r.type);
      }
    }
    return result;
  }();
  return all;
}

std::string_view dataTypeName(DataType dtype) { return row(dtype).name; }

std::optional<DataType> dataTypeFromName(std::string_view name) {
  for (const TypeRow& r : kTypes) {
    if (r.name == name) {
      return DataType(r.type);
    }
  }
  return std::nullopt;
}

int64_t dataTypeSizeBit(DataType dtype) { return row(dtype).bits; }
int64_t dataTypeSizeByte(DataType dtype) { return row(dtype).bits / 8; }
int significandBits(DataType dtype) { return row(dtype).significand; }
bool isFloatingPointType(DataType dtype) { return row(dtype).family == Family::Real; }
bool isReducedPrecisionFloat(DataType dtype) {
  return isFloatingPointType(dtype) && row(dtype).bits < 32;
}
bool isUnsignedIntegralType(DataType dtype) { return row(dtype).family == Family::Unsigned; }
bool isIntegralType(DataType dtype) {
  return row(dtype).family == Family::Signed || isUnsignedIntegralType(dtype);
}
bool isBooleanType(DataType dtype) { return row(dtype).family == Family::Bool; }
bool isComplexType(DataType dtype) { return row(dtype).family == Family::Complex; }

DataType getTypeFromComplexType(DataType dtype) {
  if (dtype == DataType::ComplexFloat) {
    return DataType::Float;
  }
  if (dtype == DataType::ComplexDouble) {
    return DataType::Double;
  }
  return dtype;
}

DataType getComplexTypeFromType(DataType dtype) {
  if (isComplexType(dtype)) {
    return dtype;
  }
  return dtype == DataType::Double ? DataType::ComplexDouble : DataType::ComplexFloat;
}

DataType promoteType(DataType a, DataType b) {
  if (a == b || b == DataType::Null) {
    return a;
  }
  if (a == DataType::Null) {
    return b;
  }
  if (isComplexType(a) || isComplexType(b)) {
    DataType real = promoteType(getTypeFromComplexType(a), getTypeFromComplexType(b));
    return real == DataType::Double ? DataType::ComplexDouble : DataType::ComplexFloat;
  }
  const bool float_a = isFloatingPointType(a);
  const bool float_b = isFloatingPointType(b);
  if (float_a && float_b) {
    return a == DataType::Double || b == DataType::Double ? DataType::Double : DataType::Float;
  }
  if (float_a) {
    return a;
  }
  if (float_b) {
    return b;
  }
  if (isBooleanType(a)) {
    return b;
  }
  if (isBooleanType(b)) {
    return a;
  }
  if (a == DataType::Index || b == DataType::Index) {
    return DataType::Index;
  }
  // Integers: the wider one. Where the unsigned type is no narrower, the next signed width, which
  // holds the values of both; there is none for 64 bits, where the unsigned type wins, as in C++.
  const int64_t bits_a = dataTypeSizeBit(a);
  const int64_t bits_b = dataTypeSizeBit(b);
  if (isUnsignedIntegralType(a) == isUnsignedIntegralType(b)) {
    return bits_a > bits_b ? a : b;
  }
  const DataType with_sign = isUnsignedIntegralType(a) ? b : a;
  const DataType no_sign = isUnsignedIntegralType(a) ? a : b;
  if (dataTypeSizeBit(with_sign) > dataTypeSizeBit(no_sign)) {
    return with_sign;
  }
  switch (dataTypeSizeBit(no_sign)) {
    case 8:
      return DataType::Short;
    case 16:
      return DataType::Int32;
    case 32:
      return DataType::Int;
    default:
      return no_sign;
  }
}

bool isParallelTypeBlockDim(ParallelType type) {
  return type == ParallelType::BIDx || type == ParallelType::BIDy || type == ParallelType::BIDz;
}
bool isParallelTypeThreadDim(ParallelType type) {
  return type == ParallelType::TIDx || type == ParallelType::TIDy || type == ParallelType::TIDz;
}
bool isParallelTypeThread(ParallelType type) {
  return isParallelTypeBlockDim(type) || isParallelTypeThreadDim(type);
}

std::string_view schedulerTypeName(SchedulerType type) {
  static constexpr std::array<std::string_view, 16> kNames{
      "none",
      "no-op",
      "pointwise",
      "matmul",
      "reduction",
      "inner persistent",
      "inner-outer persistent",
      "outer persistent",
      "transpose",
      "expression evaluation",
      "resize",
      "greedy",
      "communication",
      "cutlass",
      "scan",
      "scatter",
  };
  return kNames[static_cast<size_t>(type)];
}

std::string_view parallelTypeName(ParallelType type) {
  static constexpr std::string_view kNames[] = {
      "didx.x",      "didx.y",      "didx.z",      "blockIdx.z", "blockIdx.y", "blockIdx.x",
      "threadIdx.z", "threadIdx.y", "threadIdx.x", "Stream",     "V",          "UR",
      "US",          "MMA",         "G",           "B",          "S",          "count"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view parallelIndexName(ParallelType type) {
  check(isParallelTypeThread(type), "only block and thread dimensions have an index");
  return parallelTypeName(type);
}

std::string_view memoryTypeName(MemoryType type) {
  static constexpr std::string_view kNames[] = {"local", "shared", "global"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view iterTypeName(IterType type) {
  using enum IterType;
  switch (type) {
    case Iteration:
      return "i";
    case Reduction:
      return "r";
    case Broadcast:
      return "b";
    case Stride:
      return "s";
    case GatherScatter:
      return "n";
    case VectorComponent:
      return "v";
    case Symbolic:
      return "?";
  }
  throw InternalError("an axis of an unknown kind");
}

std::string_view loadStoreOpTypeName(LoadStoreOpType type) {
  static constexpr std::string_view kNames[] = {"Set", "SegmenterSet", "CpAsync", "CpAsyncBulk",
                                                "CpAsyncBulkTensorTile"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace nvfuser
