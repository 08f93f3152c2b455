/// Data types and the enumerations of the public API, with their names and the rules that belong to
/// types alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfuser {

/// Element types. `Int` is int64, `Char` int8, `Byte` uint8; `Index` becomes int32 or int64 when a
/// kernel is lowered.
enum class PrimDataType : uint8_t {
  Double,
  Float,
  Half,
  BFloat16,
  Float8_e4m3fn,
  Float8_e5m2,
  Char,
  Short,
  Int32,
  Int,
  Byte,
  UInt16,
  UInt32,
  UInt64,
  Index,
  Bool,
  ComplexDouble,
  ComplexFloat,
  Null,
};

/// A data type. Implicitly made from a `PrimDataType`, whose values it also names:
/// `DataType::Float`.
struct DataType {
  PrimDataType type = PrimDataType::Null;

  constexpr DataType() = default;
  constexpr DataType(PrimDataType prim) : type(prim) {}  // NOLINT: implicit by design of the API
  friend constexpr bool operator==(const DataType&, const DataType&) = default;
  std::string toString() const;

  static constexpr PrimDataType Double = PrimDataType::Double;
  static constexpr PrimDataType Float = PrimDataType::Float;
  static constexpr PrimDataType Half = PrimDataType::Half;
  static constexpr PrimDataType BFloat16 = PrimDataType::BFloat16;
  static constexpr PrimDataType Float8_e4m3fn = PrimDataType::Float8_e4m3fn;
  static constexpr PrimDataType Float8_e5m2 = PrimDataType::Float8_e5m2;
  static constexpr PrimDataType Char = PrimDataType::Char;
  static constexpr PrimDataType Short = PrimDataType::Short;
  static constexpr PrimDataType Int32 = PrimDataType::Int32;
  static constexpr PrimDataType Int = PrimDataType::Int;
  static constexpr PrimDataType Byte = PrimDataType::Byte;
  static constexpr PrimDataType UInt16 = PrimDataType::UInt16;
  static constexpr PrimDataType UInt32 = PrimDataType::UInt32;
  static constexpr PrimDataType UInt64 = PrimDataType::UInt64;
  static constexpr PrimDataType Index = PrimDataType::Index;
  static constexpr PrimDataType Bool = PrimDataType::Bool;
  static constexpr PrimDataType ComplexDouble = PrimDataType::ComplexDouble;
  static constexpr PrimDataType ComplexFloat = PrimDataType::ComplexFloat;
  static constexpr PrimDataType Null = PrimDataType::Null;
};

/// Every element type that a tensor can have (all but Index and Null), in declaration order.
const std::vector<DataType>& allDataTypes();

/// "float", "__half", "int64_t", …: the names that errors and printed IR use.
std::string_view dataTypeName(DataType dtype);
std::optional<DataType> dataTypeFromName(std::string_view name);

/// Size of one element in bits; Index counts as 64.
int64_t dataTypeSizeBit(DataType dtype);
/// Size of one element in bytes.
int64_t dataTypeSizeByte(DataType dtype);
/// Bits of a floating-point number's significand, the leading one included (Float: 24), also of a
/// complex number's parts; 0 for other dtypes. So half an ulp of 1 is 2^-bits, and the greatest
/// number below 1 is 1 − 2^-bits.
int significandBits(DataType dtype);

bool isFloatingPointType(DataType dtype);      ///< Double, Float, Half, BFloat16, Float8_*
bool isReducedPrecisionFloat(DataType dtype);  ///< Half, BFloat16, Float8_*
bool isIntegralType(DataType dtype);           ///< signed, unsigned and Index; not Bool
bool isUnsignedIntegralType(DataType dtype);
bool isBooleanType(DataType dtype);
bool isComplexType(DataType dtype);
/// ComplexFloat → Float, ComplexDouble → Double, otherwise itself.
DataType getTypeFromComplexType(DataType dtype);
/// Float and narrower → ComplexFloat, Double → ComplexDouble.
DataType getComplexTypeFromType(DataType dtype);

/// The common type of two operands of the same tier: equal → same; complex over float over integer
/// over bool; two distinct floats below Double → Float; integers as `std::common_type`; Double with
/// ComplexFloat → ComplexDouble.
DataType promoteType(DataType a, DataType b);

enum class ValType : uint8_t { TensorDomain, IterDomain, TensorView, NamedScalar, Others };

/// What an axis of a loop domain is bound to.
enum class ParallelType : uint8_t {
  DIDx,
  DIDy,
  DIDz,
  BIDz,
  BIDy,
  BIDx,
  TIDz,
  TIDy,
  TIDx,
  Stream,
  Vectorize,
  Unroll,
  Unswitch,
  Mma,
  Group,
  Bulk,
  Serial,
  Count,
};

/// Threads of a warp, on every GPU of NVIDIA.
inline constexpr int64_t kWarpSize = 32;

inline constexpr ParallelType kParallelTypeBIDs[] = {ParallelType::BIDx, ParallelType::BIDy,
                                                     ParallelType::BIDz};
inline constexpr ParallelType kParallelTypeTIDs[] = {ParallelType::TIDx, ParallelType::TIDy,
                                                     ParallelType::TIDz};
inline constexpr ParallelType kParallelTypeThreads[] = {ParallelType::BIDx, ParallelType::BIDy,
                                                        ParallelType::BIDz, ParallelType::TIDx,
                                                        ParallelType::TIDy, ParallelType::TIDz};

bool isParallelTypeBlockDim(ParallelType type);   ///< BIDx, BIDy, BIDz
bool isParallelTypeThreadDim(ParallelType type);  ///< TIDx, TIDy, TIDz
bool isParallelTypeThread(ParallelType type);     ///< either of the two
std::string_view parallelTypeName(ParallelType type);
/// "blockIdx.x", "threadIdx.y", …
std::string_view parallelIndexName(ParallelType type);

enum class MemoryType : uint8_t { Local, Shared, Global };
std::string_view memoryTypeName(MemoryType type);

enum class IterType : uint8_t {
  Iteration,
  Reduction,
  Broadcast,
  Stride,
  GatherScatter,
  VectorComponent,
  Symbolic,  ///< of a size that is worked out: a call tells whether it is none, one or many
};
std::string_view iterTypeName(IterType type);

enum class ComputeAtMode : uint8_t { Standard, BestEffort, MostInlined };

enum class RNGOpType : uint8_t {
  Uniform,
  UniformRange,
  NormalStandard,
  NormalGeneral,
  UniformOfThreads,  ///< what threads of another kernel draw, each with a sequence of its own
};
enum class LoadStoreOpType : uint8_t {
  Set,
  SegmenterSet,
  CpAsync,
  CpAsyncBulk,
  CpAsyncBulkTensorTile
};
std::string_view loadStoreOpTypeName(LoadStoreOpType type);
enum class CacheOp : uint8_t { Unspecified, AllLevels, Streaming, Global };
enum class SwizzleType : uint8_t { NoSwizzle, XOR, CyclicShift };
enum class SwizzleMode : uint8_t { NoSwizzle, Data, Loop };
/// How the copy engine and the tensor cores place 16 bytes in shared memory: those of a line of 32,
/// 64 or 128 bytes change places by the line's number.
enum class MmaInputSmemSwizzle : uint8_t { None, B128, B64, B32 };

enum class AllocationType : uint8_t { New, ReuseBuffer, Evaluate };
enum class OutputVisibility : uint8_t { kHidden, kVisible };

enum class SchedulerType : uint8_t {
  None,
  NoOp,
  PointWise,
  Matmul,
  Reduction,
  InnerPersistent,
  InnerOuterPersistent,
  OuterPersistent,
  Transpose,
  ExprEval,
  Resize,
  Greedy,
  Communication,
  Cutlass,
  Scan,
  Scatter,
};

/// "pointwise", "reduction", …
std::string_view schedulerTypeName(SchedulerType type);

/// Widest vector access in bytes (128 bit).
inline constexpr int64_t kMaxVectorBytes = 16;

}  // namespace nvfuser
