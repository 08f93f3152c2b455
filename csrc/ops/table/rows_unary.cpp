/// Unary operations. See pointwise.h for the placeholders.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include <ops/table/pointwise.h>
#include <ops/table/reference_math.h>

namespace nvfuser {

namespace {

using C = std::complex<double>;
using D = DataType;
using enum ResultKind;

constexpr int codeOf(UnaryOpType type) { return static_cast<int>(type); }

#define REAL(expression) []([[maybe_unused]] const double* x, D) -> double { return expression; }
#define INTEGER(expression) \
  []([[maybe_unused]] const int64_t* x, [[maybe_unused]] D t) -> int64_t { return expression; }
#define COMPLEX(expression) [](const C* x, D) -> C { return expression; }

// clang-format off: one line of text and reference for each class of numbers
constexpr PointwiseRow kRows[] = {
    {.name = "cast", .arity = 1, .code = codeOf(UnaryOpType::Cast),
     .real = {"$0", REAL(x[0])},
     .integer = {"$0", INTEGER(x[0])},
     .boolean = {"$0", INTEGER(x[0])},
     .complex = {"$0", COMPLEX(x[0])}},
    {.name = "bit_cast", .arity = 1, .code = codeOf(UnaryOpType::BitCast),
     .real = {"bitCast<$O>($0)", REAL(x[0])},
     .integer = {"bitCast<$O>($0)", INTEGER(x[0])},
     .boolean = {"bitCast<$O>($0)", INTEGER(x[0])},
     .complex = {"bitCast<$O>($0)", COMPLEX(x[0])}},
    {.name = "abs", .arity = 1, .code = codeOf(UnaryOpType::Abs), .result = RealPart,
     .real = {"$mfabs$f($0)", REAL(std::fabs(x[0]))},
     .integer = {"~$0 < 0 ? -$u0 : $u0", INTEGER(isUnsignedIntegralType(t) || x[0] >= 0 ? x[0] : wrapNeg(x[0]))},
     .boolean = {"$0", INTEGER(x[0])},
     .complex = {"abs($0)", COMPLEX(std::abs(x[0]))},
     .unsigned_text = "$0"},
    {.name = "acos", .arity = 1, .code = codeOf(UnaryOpType::Acos), .cost = 10,
     .real = {"$macos$f($0)", REAL(std::acos(x[0]))},
     .complex = {"acos($0)", COMPLEX(std::acos(x[0]))}},
    {.name = "acosh", .arity = 1, .code = codeOf(UnaryOpType::Acosh), .cost = 12,
     .real = {"$macosh$f($0)", REAL(std::acosh(x[0]))},
     .complex = {"acosh($0)", COMPLEX(std::acosh(x[0]))}},
    {.name = "asin", .arity = 1, .code = codeOf(UnaryOpType::Asin), .cost = 10,
     .real = {"$masin$f($0)", REAL(std::asin(x[0]))},
     .complex = {"asin($0)", COMPLEX(std::asin(x[0]))}},
    {.name = "asinh", .arity = 1, .code = codeOf(UnaryOpType::Asinh), .cost = 12,
     .real = {"$masinh$f($0)", REAL(std::asinh(x[0]))},
     .complex = {"asinh($0)", COMPLEX(std::asinh(x[0]))}},
    {.name = "atan", .arity = 1, .code = codeOf(UnaryOpType::Atan), .cost = 10,
     .real = {"$matan$f($0)", REAL(std::atan(x[0])), "arctan($0)"},
     .complex = {"atan($0)", COMPLEX(std::atan(x[0]))}},
    {.name = "atanh", .arity = 1, .code = codeOf(UnaryOpType::Atanh), .cost = 12,
     .real = {"$matanh$f($0)", REAL(std::atanh(x[0]))},
     .complex = {"atanh($0)", COMPLEX(std::atanh(x[0]))}},
    {.name = "ceil", .arity = 1, .code = codeOf(UnaryOpType::Ceil),
     .real = {"$mceil$f($0)", REAL(std::ceil(x[0]))},
     .integer = {"$0", INTEGER(x[0])},
     .boolean = {"$0", INTEGER(x[0])}},
    {.name = "cos", .arity = 1, .code = codeOf(UnaryOpType::Cos), .cost = 10,
     .real = {"$mcos$f($0)", REAL(std::cos(x[0]))},
     .complex = {"cos($0)", COMPLEX(std::cos(x[0]))}},
    {.name = "cosh", .arity = 1, .code = codeOf(UnaryOpType::Cosh), .cost = 12,
     .real = {"$mcosh$f($0)", REAL(std::cosh(x[0]))},
     .complex = {"cosh($0)", COMPLEX(std::cosh(x[0]))}},
    {.name = "exp", .arity = 1, .code = codeOf(UnaryOpType::Exp), .cost = 8,
     .real = {"$mexp$f($0)", REAL(std::exp(x[0]))},
     .complex = {"exp($0)", COMPLEX(std::exp(x[0]))}},
    {.name = "exp2", .arity = 1, .code = codeOf(UnaryOpType::Exp2), .cost = 6,
     .real = {"$mexp2$f($0)", REAL(std::exp2(x[0]))},
     .complex = {"exp2($0)", COMPLEX(std::exp(x[0] * std::numbers::ln2))}},
    {.name = "expm1", .arity = 1, .code = codeOf(UnaryOpType::Expm1), .cost = 10,
     .real = {"$mexpm1$f($0)", REAL(std::expm1(x[0]))}},
    {.name = "erf", .arity = 1, .code = codeOf(UnaryOpType::Erf), .cost = 12,
     .real = {"$merf$f($0)", REAL(std::erf(x[0]))}},
    {.name = "erfc", .arity = 1, .code = codeOf(UnaryOpType::Erfc), .cost = 14,
     .real = {"$merfc$f($0)", REAL(std::erfc(x[0]))}},
    {.name = "erfinv", .arity = 1, .code = codeOf(UnaryOpType::Erfinv), .cost = 20,
     .real = {"erfinv$f($0)", REAL(inverseErf(x[0])), "$T(erfinv($0))"}},
    {.name = "erfcinv", .arity = 1, .code = codeOf(UnaryOpType::Erfcinv), .cost = 20,
     .real = {"erfcinv$f($0)", REAL(inverseErfc(x[0])), "$T(erfcinv($0))"}},
    {.name = "floor", .arity = 1, .code = codeOf(UnaryOpType::Floor),
     .real = {"$mfloor$f($0)", REAL(std::floor(x[0]))},
     .integer = {"$0", INTEGER(x[0])},
     .boolean = {"$0", INTEGER(x[0])}},
    {.name = "frac", .arity = 1, .code = codeOf(UnaryOpType::Frac), .cost = 2,
     .real = {"$0 - $mtrunc$f($0)", REAL(x[0] - std::trunc(x[0]))}},
    {.name = "gelu", .arity = 1, .code = codeOf(UnaryOpType::Gelu), .cost = 14,
     .real = {"$0 * (0.5$f * (1.0$f + $merf$f($0 * 0.70710678118654752440$f)))",
              REAL(x[0] * (0.5 * (1.0 + std::erf(x[0] * (std::numbers::sqrt2 / 2)))))}},
    {.name = "imag", .arity = 1, .code = codeOf(UnaryOpType::Imag), .result = RealPart,
     .complex = {"$0.im", COMPLEX(x[0].imag())}},
    {.name = "silu", .arity = 1, .code = codeOf(UnaryOpType::Silu), .cost = 12,
     .real = {"$0 * sigmoid($0)", REAL(x[0] / (1.0 + std::exp(-x[0]))),
              "$0 / (1.0$f + $mexp$f(-$0))"},
     .complex = {"$0 * sigmoid($0)", COMPLEX(product(x[0], complexSigmoid(x[0])))}},
    {.name = "lgamma", .arity = 1, .code = codeOf(UnaryOpType::Lgamma), .cost = 25,
     .real = {"$mlgamma$f($0)", REAL(std::lgamma(x[0]))}},
    {.name = "log", .arity = 1, .code = codeOf(UnaryOpType::Log), .cost = 8,
     .real = {"$mlog$f($0)", REAL(std::log(x[0]))},
     .complex = {"log($0)", COMPLEX(std::log(x[0]))}},
    {.name = "log10", .arity = 1, .code = codeOf(UnaryOpType::Log10), .cost = 8,
     .real = {"$mlog10$f($0)", REAL(std::log10(x[0]))},
     .complex = {"log10($0)", COMPLEX(std::log10(x[0]))}},
    {.name = "log1p", .arity = 1, .code = codeOf(UnaryOpType::Log1p), .cost = 10,
     .real = {"$mlog1p$f($0)", REAL(std::log1p(x[0]))},
     .complex = {"log1p($0)", COMPLEX(logOnePlus(x[0]))}},
    {.name = "log2", .arity = 1, .code = codeOf(UnaryOpType::Log2), .cost = 7,
     .real = {"$mlog2$f($0)", REAL(std::log2(x[0]))},
     .complex = {"log2($0)", COMPLEX(std::log(x[0]) / std::numbers::ln2)}},
    {.name = "neg", .arity = 1, .code = codeOf(UnaryOpType::Neg),
     .real = {"-$0", REAL(-x[0])},
     .integer = {"~-$u0", INTEGER(wrapNeg(x[0]))},
     .boolean = {"$0", INTEGER(x[0])},
     .complex = {"-$0", COMPLEX(-x[0])}},
    {.name = "real", .arity = 1, .code = codeOf(UnaryOpType::Real), .result = RealPart,
     .real = {"$0", REAL(x[0])},
     .integer = {"$0", INTEGER(x[0])},
     .boolean = {"$0", INTEGER(x[0])},
     .complex = {"$0.re", COMPLEX(x[0].real())}},
    {.name = "reciprocal", .arity = 1, .code = codeOf(UnaryOpType::Reciprocal), .cost = 4,
     .real = {"1.0$f / $0", REAL(1.0 / x[0])},
     .complex = {"$T(1) / $0", COMPLEX(quotient(1.0, x[0]))}},
    {.name = "relu", .arity = 1, .code = codeOf(UnaryOpType::Relu),
     .real = {"$0 <= 0.0$f ? 0.0$f : $0", REAL(x[0] <= 0 ? 0.0 : x[0])},
     .integer = {"$0 <= 0 ? $T(0) : $0", INTEGER(isPositive(x[0], t) ? x[0] : 0)},
     .boolean = {"$0", INTEGER(x[0])}},
    {.name = "rsqrt", .arity = 1, .code = codeOf(UnaryOpType::Rsqrt), .cost = 4,
     .real = {"rsqrt$f($0)", REAL(1.0 / std::sqrt(x[0])), "1.0$f / $msqrt$f($0)"},
     .complex = {"$T(1) / sqrt($0)", COMPLEX(quotient(1.0, std::sqrt(x[0])))}},
    {.name = "round", .arity = 1, .code = codeOf(UnaryOpType::Round),
     .real = {"$mrint$f($0)", REAL(std::nearbyint(x[0]))},
     .integer = {"$0", INTEGER(x[0])},
     .boolean = {"$0", INTEGER(x[0])}},
    {.name = "sigmoid", .arity = 1, .code = codeOf(UnaryOpType::Sigmoid), .cost = 12,
     .real = {"sigmoid($0)", REAL(1.0 / (1.0 + std::exp(-x[0]))),
              "1.0$f / (1.0$f + $mexp$f(-$0))"},
     .complex = {"sigmoid($0)", COMPLEX(complexSigmoid(x[0]))}},
    {.name = "sign", .arity = 1, .code = codeOf(UnaryOpType::Sign), .cost = 2,
     .real = {"$T(($0 > 0) - ($0 < 0))", REAL((x[0] > 0) - (x[0] < 0))},
     .integer = {"$T(($0 > 0) - ($0 < 0))",
                 INTEGER(isPositive(x[0], t) ? 1 : (x[0] == 0 ? 0 : -1))},
     .boolean = {"$0", INTEGER(x[0])},
     .unsigned_text = "$T($0 != 0)"},
    {.name = "signbit", .arity = 1, .code = codeOf(UnaryOpType::Signbit), .result = Bool,
     .real = {"$msignbit($0) != 0", REAL(std::signbit(x[0]))},
     .integer = {"$0 < 0", INTEGER(!isUnsignedIntegralType(t) && x[0] < 0)},
     .boolean = {"false", INTEGER(0)},
     .unsigned_text = "false"},
    {.name = "sin", .arity = 1, .code = codeOf(UnaryOpType::Sin), .cost = 10,
     .real = {"$msin$f($0)", REAL(std::sin(x[0]))},
     .complex = {"sin($0)", COMPLEX(std::sin(x[0]))}},
    {.name = "sinh", .arity = 1, .code = codeOf(UnaryOpType::Sinh), .cost = 12,
     .real = {"$msinh$f($0)", REAL(std::sinh(x[0]))},
     .complex = {"sinh($0)", COMPLEX(std::sinh(x[0]))}},
    {.name = "sqrt", .arity = 1, .code = codeOf(UnaryOpType::Sqrt), .cost = 4,
     .real = {"$msqrt$f($0)", REAL(std::sqrt(x[0]))},
     .complex = {"sqrt($0)", COMPLEX(std::sqrt(x[0]))}},
    {.name = "tan", .arity = 1, .code = codeOf(UnaryOpType::Tan), .cost = 14,
     .real = {"$mtan$f($0)", REAL(std::tan(x[0]))},
     .complex = {"tan($0)", COMPLEX(std::tan(x[0]))}},
    {.name = "tanh", .arity = 1, .code = codeOf(UnaryOpType::Tanh), .cost = 12,
     .real = {"$mtanh$f($0)", REAL(std::tanh(x[0]))},
     .complex = {"tanh($0)", COMPLEX(std::tanh(x[0]))}},
    {.name = "trunc", .arity = 1, .code = codeOf(UnaryOpType::Trunc),
     .real = {"$mtrunc$f($0)", REAL(std::trunc(x[0]))},
     .integer = {"$0", INTEGER(x[0])},
     .boolean = {"$0", INTEGER(x[0])}},
    {.name = "bitceil", .arity = 1, .code = codeOf(UnaryOpType::BitCeil), .cost = 4,
     .integer = {"bitCeil($0)", INTEGER(nextPowerOfTwo(x[0], t))}},
    {.name = "print", .arity = 1, .code = codeOf(UnaryOpType::Print),
     .real = {"printValue($0)", REAL(x[0])},
     .integer = {"printValue($0)", INTEGER(x[0])},
     .boolean = {"printValue($0)", INTEGER(x[0])},
     .complex = {"printValue($0)", COMPLEX(x[0])}},
    {.name = "logical_not", .arity = 1, .code = codeOf(UnaryOpType::LogicalNot), .result = Bool,
     .real = {"$0 == 0.0$f", REAL(x[0] == 0)},
     .integer = {"$0 == 0", INTEGER(x[0] == 0)},
     .boolean = {"!$0", INTEGER(x[0] == 0)},
     .complex = {"$0 == $T(0)", COMPLEX(x[0] == 0.0 ? 1.0 : 0.0)}},
    {.name = "bitwise_not", .arity = 1, .code = codeOf(UnaryOpType::BitwiseNot),
     .integer = {"$T(~$0)", INTEGER(~x[0])},
     .boolean = {"!$0", INTEGER(x[0] == 0)}},
    {.name = "isfinite", .arity = 1, .code = codeOf(UnaryOpType::IsFinite), .result = Bool,
     .real = {"bool($misfinite($0))", REAL(std::isfinite(x[0]))},
     .integer = {"true", INTEGER(1)},
     .boolean = {"true", INTEGER(1)},
     .complex = {"bool($misfinite($0.re)) && bool($misfinite($0.im))",
                 COMPLEX(std::isfinite(x[0].real()) && std::isfinite(x[0].imag()) ? 1.0 : 0.0)}},
    {.name = "isinf", .arity = 1, .code = codeOf(UnaryOpType::IsInf), .result = Bool,
     .real = {"bool($misinf($0))", REAL(std::isinf(x[0])), "__builtin_isinf_sign($0) != 0"},
     .integer = {"false", INTEGER(0)},
     .boolean = {"false", INTEGER(0)},
     .complex = {"bool($misinf($0.re)) || bool($misinf($0.im))",
                 COMPLEX(std::isinf(x[0].real()) || std::isinf(x[0].imag()) ? 1.0 : 0.0)}},
    {.name = "isnan", .arity = 1, .code = codeOf(UnaryOpType::IsNan), .result = Bool,
     .real = {"$0 != $0", REAL(std::isnan(x[0]))},
     .integer = {"false", INTEGER(0)},
     .boolean = {"false", INTEGER(0)},
     .complex = {"$0 != $0",
                 COMPLEX(std::isnan(x[0].real()) || std::isnan(x[0].imag()) ? 1.0 : 0.0)}},
    {.name = "isneginf", .arity = 1, .code = codeOf(UnaryOpType::IsNegInf), .result = Bool,
     .real = {"$0 < -$M", REAL(std::isinf(x[0]) && x[0] < 0)},
     .integer = {"false", INTEGER(0)},
     .boolean = {"false", INTEGER(0)}},
    {.name = "isposinf", .arity = 1, .code = codeOf(UnaryOpType::IsPosInf), .result = Bool,
     .real = {"$0 > $M", REAL(std::isinf(x[0]) && x[0] > 0)},
     .integer = {"false", INTEGER(0)},
     .boolean = {"false", INTEGER(0)}},
    {.name = "isreal", .arity = 1, .code = codeOf(UnaryOpType::IsReal), .result = Bool,
     .real = {"true", REAL(1)},
     .integer = {"true", INTEGER(1)},
     .boolean = {"true", INTEGER(1)},
     .complex = {"$0.im == 0", COMPLEX(x[0].imag() == 0 ? 1.0 : 0.0)}},
};
// clang-format on

constexpr bool inOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].code != static_cast<int>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(inOrder(), "the rows must stand in the order of UnaryOpType");
static_assert(std::size(kRows) == static_cast<size_t>(UnaryOpType::IsReal) + 1);

}  // namespace

std::span<const PointwiseRow> unaryRows() { return kRows; }

const PointwiseRow& pointwiseRow(UnaryOpType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace nvfuser

#undef REAL
#undef INTEGER
#undef COMPLEX
