/// Names of the pointwise operations, as enumerations. What each one means is data in `ops/table/`.
#pragma once

#include <cstdint>
#include <string_view>

namespace nvfuser {

enum class UnaryOpType : uint8_t {
  Cast,
  BitCast,
  Abs,
  Acos,
  Acosh,
  Asin,
  Asinh,
  Atan,
  Atanh,
  Ceil,
  Cos,
  Cosh,
  Exp,
  Exp2,
  Expm1,
  Erf,
  Erfc,
  Erfinv,
  Erfcinv,
  Floor,
  Frac,
  Gelu,
  Imag,
  Silu,
  Lgamma,
  Log,
  Log10,
  Log1p,
  Log2,
  Neg,
  Real,
  Reciprocal,
  Relu,
  Rsqrt,
  Round,
  Sigmoid,
  Sign,
  Signbit,
  Sin,
  Sinh,
  Sqrt,
  Tan,
  Tanh,
  Trunc,
  BitCeil,
  Print,
  LogicalNot,
  BitwiseNot,
  IsFinite,
  IsInf,
  IsNan,
  IsNegInf,
  IsPosInf,
  IsReal,
};

enum class BinaryOpType : uint8_t {
  Add,
  Atan2,
  Div,
  Fmod,
  Max,
  FMax,
  Min,
  FMin,
  Mul,
  Nextafter,
  Pow,
  Remainder,
  Sub,
  Mod,
  CeilDiv,
  Lshift,
  Rshift,
  LogicalRshift,
  Gcd,
  BitwiseAnd,
  BitwiseOr,
  BitwiseXor,
  Eq,
  GE,
  GT,
  LE,
  LT,
  NE,
  LogicalAnd,
  LogicalOr,
  Complex,
};

enum class TernaryOpType : uint8_t { Clamp, Lerp, Threshold, Where };

/// "add", "castOp", …: the operation as printed IR names it.
std::string_view opName(UnaryOpType type);
std::string_view opName(BinaryOpType type);
std::string_view opName(TernaryOpType type);

}  // namespace nvfuser
