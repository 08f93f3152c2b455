#include <ir/op_types.h>

#include <cstddef>

namespace nvfuser {

std::string_view opName(UnaryOpType type) {
  static constexpr std::string_view kNames[] = {
      "castOp",  "bitCastOp", "abs",      "acos",       "acosh",       "asin",        "asinh",
      "atan",    "atanh",     "ceil",     "cos",        "cosh",        "exp",         "exp2",
      "expm1",   "erf",       "erfc",     "erfinv",     "erfcinv",     "floor",       "frac",
      "gelu",    "imag",      "silu",     "lgamma",     "log",         "log10",       "log1p",
      "log2",    "neg",       "real",     "reciprocal", "relu",        "rsqrt",       "round",
      "sigmoid", "sign",      "signbit",  "sin",        "sinh",        "sqrt",        "tan",
      "tanh",    "trunc",     "bitceil",  "print",      "logical_not", "bitwise_not", "isfinite",
      "isinf",   "isnan",     "isneginf", "isposinf",   "isreal"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view opName(BinaryOpType type) {
  static constexpr std::string_view kNames[] = {"add",
                                                "atan2",
                                                "div",
                                                "fmod",
                                                "max",
                                                "fmax",
                                                "min",
                                                "fmin",
                                                "mul",
                                                "nextafter",
                                                "pow",
                                                "remainder",
                                                "sub",
                                                "mod",
                                                "ceilDiv",
                                                "bitwise_left_shift",
                                                "bitwise_right_shift",
                                                "logical_right_shift",
                                                "gcd",
                                                "bitwise_and",
                                                "bitwise_or",
                                                "bitwise_xor",
                                                "eq",
                                                "ge",
                                                "gt",
                                                "le",
                                                "lt",
                                                "ne",
                                                "logical_and",
                                                "logical_or",
                                                "complex"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view opName(TernaryOpType type) {
  static constexpr std::string_view kNames[] = {"clamp", "lerp", "threshold", "where"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace nvfuser
