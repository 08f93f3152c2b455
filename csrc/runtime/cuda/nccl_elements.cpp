#include <runtime/cuda/nccl_elements.h>

#include <optional>

#include <runtime/cuda/nccl_communicator.h>
#include <support/error.h>

namespace nvfuser::cuda::nccl {

using external::ExchangedTensor;

namespace {

std::optional<int> kindOf(DataType dtype, int version) {
  constexpr int kWithFloat8 = 22400;
  switch (dtype.type) {
    case PrimDataType::Double:
    case PrimDataType::ComplexDouble:
      return Float64;
    case PrimDataType::Float:
    case PrimDataType::ComplexFloat:
      return Float32;
    case PrimDataType::Half:
      return Float16;
    case PrimDataType::BFloat16:
      return Bfloat16;
    case PrimDataType::Float8_e4m3fn:
      return version >= kWithFloat8 ? std::optional<int>(Float8e4m3) : std::nullopt;
    case PrimDataType::Float8_e5m2:
      return version >= kWithFloat8 ? std::optional<int>(Float8e5m2) : std::nullopt;
    case PrimDataType::Char:
      return Int8;
    case PrimDataType::Byte:
    case PrimDataType::Bool:
      return Uint8;
    case PrimDataType::Int32:
      return Int32;
    case PrimDataType::UInt32:
      return Uint32;
    case PrimDataType::Int:
    case PrimDataType::Index:
      return Int64;
    case PrimDataType::UInt64:
      return Uint64;
    case PrimDataType::Short:
    case PrimDataType::UInt16:
    case PrimDataType::Null:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Elements asBytes(const ExchangedTensor& tensor) {
  return {Uint8, static_cast<size_t>(tensor.elements * dataTypeSizeByte(tensor.dtype))};
}

Elements asNumbers(const ExchangedTensor& tensor, BinaryOpType by, std::string_view what,
                   int version) {
  const bool is_complex = isComplexType(tensor.dtype);
  const std::optional<int> kind = kindOf(tensor.dtype, version);
  if (!kind || (is_complex && by != BinaryOpType::Add)) {
    userError(what, ": NCCL ", version, " does not combine numbers of dtype ",
              dataTypeName(tensor.dtype), " by ", opName(by), "; cast them before");
  }
  return {*kind, static_cast<size_t>(tensor.elements) * (is_complex ? 2 : 1)};
}

int reductionOf(BinaryOpType by, DataType dtype) {
  const bool is_truth = dtype == DataType::Bool;
  switch (by) {
    case BinaryOpType::Mul:
      return is_truth ? Min : Product;
    case BinaryOpType::Max:
      return Max;
    case BinaryOpType::Min:
      return Min;
    default:
      return is_truth ? Max : Sum;
  }
}

}  // namespace nvfuser::cuda::nccl
