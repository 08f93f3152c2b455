/// Operations of two and three operands. See pointwise.h for the placeholders.
#include <cmath>

#include <ops/table/pointwise.h>
#include <ops/table/reference_math.h>

namespace nvfuser {

namespace {

using C = std::complex<double>;
using D = DataType;
using enum ResultKind;

constexpr int codeOf(BinaryOpType type) { return static_cast<int>(type); }
constexpr int codeOf(TernaryOpType type) { return static_cast<int>(type); }

#define REAL(expression) [](const double* x, [[maybe_unused]] D t) -> double { return expression; }
#define INTEGER(expression) \
  [](const int64_t* x, [[maybe_unused]] D t) -> int64_t { return expression; }
#define COMPLEX(expression) [](const C* x, D) -> C { return expression; }

// clang-format off: one line of text and reference for each class of numbers
constexpr PointwiseRow kBinaryRows[] = {
    {.name = "add", .arity = 2, .code = codeOf(BinaryOpType::Add),
     .real = {"$0 + $1", REAL(x[0] + x[1])},
     .integer = {"~$u0 + $u1", INTEGER(wrapAdd(x[0], x[1]))},
     .boolean = {"bool($0 | $1)", INTEGER(x[0] | x[1])},
     .complex = {"$0 + $1", COMPLEX(x[0] + x[1])},
     .commutative = true, .associative = true, .identity = Identity::Zero},
    {.name = "atan2", .arity = 2, .code = codeOf(BinaryOpType::Atan2), .cost = 16,
     .real = {"$matan2$f($0, $1)", REAL(std::atan2(x[0], x[1]))}},
    {.name = "div", .arity = 2, .code = codeOf(BinaryOpType::Div), .cost = 4,
     .real = {"$0 / $1", REAL(x[0] / x[1])},
     .integer = {"truncDiv($0, $1)", INTEGER(truncDiv(x[0], x[1], t))},
     .boolean = {"bool($0 & $1)", INTEGER(x[0] & x[1])},
     .complex = {"$0 / $1", COMPLEX(quotient(x[0], x[1]))},
     .index_text = "$0 / $1"},
    {.name = "fmod", .arity = 2, .code = codeOf(BinaryOpType::Fmod), .cost = 12,
     .real = {"$mfmod$f($0, $1)", REAL(std::fmod(x[0], x[1]))},
     .integer = {"truncMod($0, $1)", INTEGER(truncMod(x[0], x[1], t))},
     .index_text = "$0 % $1"},
    {.name = "maximum", .arity = 2, .code = codeOf(BinaryOpType::Max),
     .real = {"maxNan($0, $1)", REAL(maxNan(x[0], x[1]))},
     .integer = {"$0 > $1 ? $0 : $1", INTEGER(isLess(x[0], x[1], t) ? x[1] : x[0])},
     .boolean = {"bool($0 | $1)", INTEGER(x[0] | x[1])},
     .commutative = true, .associative = true, .identity = Identity::Lowest},
    {.name = "fmax", .arity = 2, .code = codeOf(BinaryOpType::FMax),
     .real = {"maxNumber($0, $1)", REAL(maxNumber(x[0], x[1]))},
     .integer = {"$0 > $1 ? $0 : $1", INTEGER(isLess(x[0], x[1], t) ? x[1] : x[0])},
     .boolean = {"bool($0 | $1)", INTEGER(x[0] | x[1])},
     .commutative = true, .associative = true, .identity = Identity::Lowest},
    {.name = "minimum", .arity = 2, .code = codeOf(BinaryOpType::Min),
     .real = {"minNan($0, $1)", REAL(minNan(x[0], x[1]))},
     .integer = {"$0 < $1 ? $0 : $1", INTEGER(isLess(x[0], x[1], t) ? x[0] : x[1])},
     .boolean = {"bool($0 & $1)", INTEGER(x[0] & x[1])},
     .commutative = true, .associative = true, .identity = Identity::Highest},
    {.name = "fmin", .arity = 2, .code = codeOf(BinaryOpType::FMin),
     .real = {"minNumber($0, $1)", REAL(minNumber(x[0], x[1]))},
     .integer = {"$0 < $1 ? $0 : $1", INTEGER(isLess(x[0], x[1], t) ? x[0] : x[1])},
     .boolean = {"bool($0 & $1)", INTEGER(x[0] & x[1])},
     .commutative = true, .associative = true, .identity = Identity::Highest},
    {.name = "mul", .arity = 2, .code = codeOf(BinaryOpType::Mul),
     .real = {"$0 * $1", REAL(x[0] * x[1])},
     .integer = {"~$u0 * $u1", INTEGER(wrapMul(x[0], x[1]))},
     .boolean = {"bool($0 & $1)", INTEGER(x[0] & x[1])},
     .complex = {"$0 * $1", COMPLEX(product(x[0], x[1]))},
     .commutative = true, .associative = true, .identity = Identity::One},
    {.name = "nextafter", .arity = 2, .code = codeOf(BinaryOpType::Nextafter), .cost = 6,
     .real = {"$mnextafter$f($0, $1)", REAL(nextAfter(x[0], x[1], t))}},
    {.name = "pow", .arity = 2, .code = codeOf(BinaryOpType::Pow), .cost = 20,
     .real = {"$mpow$f($0, $1)", REAL(std::pow(x[0], x[1])), "powReal($0, $1)"},
     .integer = {"powInteger($0, $1)", INTEGER(powInteger(x[0], x[1], t))},
     .boolean = {"bool($0 | !$1)", INTEGER(x[0] | (x[1] ^ 1))},
     .complex = {"pow($0, $1)", COMPLEX(x[1] == 0.0 ? 1.0 : std::pow(x[0], x[1]))}},
    {.name = "remainder", .arity = 2, .code = codeOf(BinaryOpType::Remainder), .cost = 14,
     .real = {"floorMod($0, $1)", REAL(floorMod(x[0], x[1]))},
     .integer = {"floorMod($0, $1)", INTEGER(floorMod(x[0], x[1], t))}},
    {.name = "sub", .arity = 2, .code = codeOf(BinaryOpType::Sub),
     .real = {"$0 - $1", REAL(x[0] - x[1])},
     .integer = {"~$u0 - $u1", INTEGER(wrapSub(x[0], x[1]))},
     .boolean = {"$0 != $1", INTEGER(x[0] ^ x[1])},
     .complex = {"$0 - $1", COMPLEX(x[0] - x[1])}},
    {.name = "mod", .arity = 2, .code = codeOf(BinaryOpType::Mod), .cost = 4,
     .real = {"$mfmod$f($0, $1)", REAL(std::fmod(x[0], x[1]))},
     .integer = {"truncMod($0, $1)", INTEGER(truncMod(x[0], x[1], t))},
     .index_text = "$0 % $1"},
    {.name = "ceilDiv", .arity = 2, .code = codeOf(BinaryOpType::CeilDiv), .cost = 5,
     .real = {"$mceil$f($0 / $1)", REAL(std::ceil(roundedQuotient(x[0], x[1], t)))},
     .integer = {"ceilDiv($0, $1)", INTEGER(ceilDivide(x[0], x[1], t))}},
    {.name = "bitwise_left_shift", .arity = 2, .code = codeOf(BinaryOpType::Lshift),
     .integer = {"shiftLeft($0, $1)", INTEGER(shiftLeft(x[0], x[1], t))}},
    {.name = "bitwise_right_shift", .arity = 2, .code = codeOf(BinaryOpType::Rshift),
     .integer = {"shiftRight($0, $1)", INTEGER(shiftRight(x[0], x[1], t))}},
    {.name = "logical_right_shift", .arity = 2, .code = codeOf(BinaryOpType::LogicalRshift),
     .integer = {"shiftRightLogical($0, $1)", INTEGER(shiftRightLogical(x[0], x[1], t))}},
    {.name = "gcd", .arity = 2, .code = codeOf(BinaryOpType::Gcd), .cost = 40,
     .integer = {"gcd($0, $1)", INTEGER(greatestCommonDivisor(x[0], x[1], t))},
     .commutative = true, .associative = true, .identity = Identity::Zero},
    {.name = "bitwise_and", .arity = 2, .code = codeOf(BinaryOpType::BitwiseAnd),
     .integer = {"$T($0 & $1)", INTEGER(x[0] & x[1])},
     .boolean = {"bool($0 & $1)", INTEGER(x[0] & x[1])},
     .commutative = true, .associative = true, .identity = Identity::AllOnes},
    {.name = "bitwise_or", .arity = 2, .code = codeOf(BinaryOpType::BitwiseOr),
     .integer = {"$T($0 | $1)", INTEGER(x[0] | x[1])},
     .boolean = {"bool($0 | $1)", INTEGER(x[0] | x[1])},
     .commutative = true, .associative = true, .identity = Identity::Zero},
    {.name = "bitwise_xor", .arity = 2, .code = codeOf(BinaryOpType::BitwiseXor),
     .integer = {"$T($0 ^ $1)", INTEGER(x[0] ^ x[1])},
     .boolean = {"$0 != $1", INTEGER(x[0] ^ x[1])},
     .commutative = true, .associative = true, .identity = Identity::Zero},
    {.name = "eq", .arity = 2, .code = codeOf(BinaryOpType::Eq), .result = Bool,
     .real = {"$0 == $1", REAL(x[0] == x[1])},
     .integer = {"$0 == $1", INTEGER(x[0] == x[1])},
     .boolean = {"$0 == $1", INTEGER(x[0] == x[1])},
     .complex = {"$0 == $1", COMPLEX(x[0] == x[1] ? 1.0 : 0.0)},
     .commutative = true},
    {.name = "ge", .arity = 2, .code = codeOf(BinaryOpType::GE), .result = Bool,
     .real = {"$0 >= $1", REAL(x[0] >= x[1])},
     .integer = {"$0 >= $1", INTEGER(!isLess(x[0], x[1], t))},
     .boolean = {"$0 >= $1", INTEGER(x[0] >= x[1])}},
    {.name = "gt", .arity = 2, .code = codeOf(BinaryOpType::GT), .result = Bool,
     .real = {"$0 > $1", REAL(x[0] > x[1])},
     .integer = {"$0 > $1", INTEGER(isLess(x[1], x[0], t))},
     .boolean = {"$0 > $1", INTEGER(x[0] > x[1])}},
    {.name = "le", .arity = 2, .code = codeOf(BinaryOpType::LE), .result = Bool,
     .real = {"$0 <= $1", REAL(x[0] <= x[1])},
     .integer = {"$0 <= $1", INTEGER(!isLess(x[1], x[0], t))},
     .boolean = {"$0 <= $1", INTEGER(x[0] <= x[1])}},
    {.name = "lt", .arity = 2, .code = codeOf(BinaryOpType::LT), .result = Bool,
     .real = {"$0 < $1", REAL(x[0] < x[1])},
     .integer = {"$0 < $1", INTEGER(isLess(x[0], x[1], t))},
     .boolean = {"$0 < $1", INTEGER(x[0] < x[1])}},
    {.name = "ne", .arity = 2, .code = codeOf(BinaryOpType::NE), .result = Bool,
     .real = {"$0 != $1", REAL(x[0] != x[1])},
     .integer = {"$0 != $1", INTEGER(x[0] != x[1])},
     .boolean = {"$0 != $1", INTEGER(x[0] != x[1])},
     .complex = {"$0 != $1", COMPLEX(x[0] != x[1] ? 1.0 : 0.0)},
     .commutative = true},
    {.name = "logical_and", .arity = 2, .code = codeOf(BinaryOpType::LogicalAnd), .result = Bool,
     .real = {"$0 != 0.0$f && $1 != 0.0$f", REAL(x[0] != 0 && x[1] != 0)},
     .integer = {"$0 != 0 && $1 != 0", INTEGER(x[0] != 0 && x[1] != 0)},
     .boolean = {"$0 && $1", INTEGER(x[0] & x[1])},
     .complex = {"$0 != $T(0) && $1 != $T(0)", COMPLEX(x[0] != 0.0 && x[1] != 0.0 ? 1.0 : 0.0)},
     .commutative = true, .associative = true, .identity = Identity::One},
    {.name = "logical_or", .arity = 2, .code = codeOf(BinaryOpType::LogicalOr), .result = Bool,
     .real = {"$0 != 0.0$f || $1 != 0.0$f", REAL(x[0] != 0 || x[1] != 0)},
     .integer = {"$0 != 0 || $1 != 0", INTEGER(x[0] != 0 || x[1] != 0)},
     .boolean = {"$0 || $1", INTEGER(x[0] | x[1])},
     .complex = {"$0 != $T(0) || $1 != $T(0)", COMPLEX(x[0] != 0.0 || x[1] != 0.0 ? 1.0 : 0.0)},
     .commutative = true, .associative = true, .identity = Identity::Zero},
    // The reference of `complex` is in pointwiseReference: its result is of another class.
    {.name = "complex", .arity = 2, .code = codeOf(BinaryOpType::Complex), .result = MakeComplex,
     .real = {"$O($0, $1)", REAL(x[0])}},
};
// clang-format on

// clang-format off: one line of text and reference for each class of numbers
constexpr PointwiseRow kTernaryRows[] = {
    {.name = "clamp", .arity = 3, .code = codeOf(TernaryOpType::Clamp), .cost = 2,
     .real = {"minNan(maxNan($0, $1), $2)", REAL(minNan(maxNan(x[0], x[1]), x[2]))},
     .integer = {"minNan(maxNan($0, $1), $2)",
                 INTEGER(isLess(x[2], isLess(x[0], x[1], t) ? x[1] : x[0], t)
                             ? x[2]
                             : (isLess(x[0], x[1], t) ? x[1] : x[0]))},
     .boolean = {"bool(($0 | $1) & $2)", INTEGER((x[0] | x[1]) & x[2])}},
    {.name = "lerp", .arity = 3, .code = codeOf(TernaryOpType::Lerp), .cost = 4,
     .real = {"lerp($0, $1, $2)", REAL(lerpReference(x[0], x[1], x[2], t))},
     .integer = {"~$u0 + $u2 * ($u1 - $u0)",
                 INTEGER(wrapAdd(x[0], wrapMul(x[2], wrapSub(x[1], x[0]))))},
     .boolean = {"$2 ? $1 : $0", INTEGER(x[2] != 0 ? x[1] : x[0])},
     .complex = {"lerp($0, $1, $2)", COMPLEX(lerpReference(x[0], x[1], x[2]))}},
    {.name = "threshold", .arity = 3, .code = codeOf(TernaryOpType::Threshold),
     .real = {"$0 <= $1 ? $2 : $0", REAL(x[0] <= x[1] ? x[2] : x[0])},
     .integer = {"$0 <= $1 ? $2 : $0", INTEGER(isLess(x[1], x[0], t) ? x[0] : x[2])},
     .boolean = {"$0 <= $1 ? $2 : $0", INTEGER(x[0] <= x[1] ? x[2] : x[0])}},
    {.name = "where", .arity = 3, .code = codeOf(TernaryOpType::Where),
     .real = {"$0 ? $1 : $2", REAL(x[0] != 0 ? x[1] : x[2])},
     .integer = {"$0 ? $1 : $2", INTEGER(x[0] != 0 ? x[1] : x[2])},
     .boolean = {"$0 ? $1 : $2", INTEGER(x[0] != 0 ? x[1] : x[2])},
     .complex = {"$0 ? $1 : $2", COMPLEX(x[0] != 0.0 ? x[1] : x[2])}},
};
// clang-format on

constexpr bool inOrder(std::span<const PointwiseRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].code != static_cast<int>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(inOrder(kBinaryRows), "the rows must stand in the order of BinaryOpType");
static_assert(inOrder(kTernaryRows), "the rows must stand in the order of TernaryOpType");
static_assert(std::size(kBinaryRows) == static_cast<size_t>(BinaryOpType::Complex) + 1);
static_assert(std::size(kTernaryRows) == static_cast<size_t>(TernaryOpType::Where) + 1);

}  // namespace

std::span<const PointwiseRow> binaryRows() { return kBinaryRows; }
std::span<const PointwiseRow> ternaryRows() { return kTernaryRows; }

const PointwiseRow& pointwiseRow(BinaryOpType type) {
  return kBinaryRows[static_cast<size_t>(type)];
}
const PointwiseRow& pointwiseRow(TernaryOpType type) {
  return kTernaryRows[static_cast<size_t>(type)];
}

}  // namespace nvfuser

#undef REAL
#undef INTEGER
#undef COMPLEX
