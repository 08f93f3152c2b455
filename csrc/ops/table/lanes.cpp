/// Text of operations on vectors, where the host's compiler has no need to go element by element.
///
/// One line an operation. A pattern holds for operands that are vectors of the compute dtype
/// (runtime/cpu/lanes.h; of Bool: 0 and -1); empty: there is none, and the scalar text is applied
/// to each lane.
#include <algorithm>
#include <array>

#include <ops/table/pointwise.h>

namespace nvfuser {

namespace {

struct LaneRow {
  std::string_view name;  ///< of a row of the table
  std::string_view real = {};
  std::string_view integer = {};
  std::string_view boolean = {};
};

// clang-format off: one line of text for each class of numbers
constexpr LaneRow kLaneRows[] = {
    {"abs", "lanesAbs($0)", "lanesIntMagnitude($0)", "$0"},
    {"acos", "simdAcos($0)"},
    {"acosh", "simdAcosh($0)"},
    {"add", "$0 + $1", "lanesAdd($0, $1)", "$0 | $1"},
    {"asin", "simdAsin($0)"},
    {"asinh", "simdAsinh($0)"},
    {"atan", "simdAtan($0)"},
    {"atan2", "simdAtan2($0, $1)"},
    {"atanh", "simdAtanh($0)"},
    {"bitwise_and", "", "$0 & $1", "$0 & $1"},
    {"bitwise_left_shift", "", "lanesIntShiftLeft($0, $1)"},
    {"bitwise_not", "", "~$0", "~$0"},
    {"bitwise_or", "", "$0 | $1", "$0 | $1"},
    {"bitwise_right_shift", "", "lanesIntShiftRight($0, $1)"},
    {"bitwise_xor", "", "$0 ^ $1", "$0 ^ $1"},
    {"ceil", "lanesWholeAbove($0)"},
    {"clamp", "simdMinNan(simdMaxNan($0, $1), $2)", "lanesIntClamp($0, $1, $2)", "($0 | $1) & $2"},
    {"cos", "simdCos($0)"},
    {"cosh", "simdCosh($0)"},
    {"div", "$0 / $1", "lanesIntQuotient($0, $1)", "$0 & $1"},
    {"eq", "$0 == $1", "$0 == $1", "~($0 ^ $1)"},
    {"erf", "simdErf($0)"},
    {"erfc", "simdErfc($0)"},
    {"erfinv", "simdErfinv($0)"},
    {"exp", "simdExp($0)"},
    {"exp2", "simdExp2($0)"},
    {"expm1", "simdExpm1($0)"},
    {"floor", "lanesWholeBelow($0)"},
    {"fmax", "$1 != $1 ? $0 : $0 != $0 ? $1 : simdMaxNan($0, $1)", "$0 > $1 ? $0 : $1", "$0 | $1"},
    {"fmin", "$1 != $1 ? $0 : $0 != $0 ? $1 : simdMinNan($0, $1)", "$0 < $1 ? $0 : $1", "$0 & $1"},
    {"fmod", "lanesWholeCut($0, $1)", "lanesIntRest($0, $1)"},
    {"ge", "$0 >= $1", "$0 >= $1"},
    {"gelu", "$0 * (0.5$f * (1.0$f + simdErf($0 * 0.70710678118654752440$f)))"},
    {"gt", "$0 > $1", "$0 > $1"},
    {"isfinite", "lanesAbs($0) <= $M"},
    {"isinf", "lanesAbs($0) > $M"},
    {"isnan", "$0 != $0"},
    {"isneginf", "$0 < -$M"},
    {"isposinf", "$0 > $M"},
    {"le", "$0 <= $1", "$0 <= $1"},
    {"lerp", "lanesLerp($0, $1, $2)", "lanesAdd($0, lanesMul($2, lanesSub($1, $0)))",
     "lanesSelect($2, $1, $0)"},
    {"lgamma", "simdLgamma($0)"},
    {"log", "simdLog($0)"},
    {"log10", "simdLog10($0)"},
    {"log1p", "simdLog1p($0)"},
    {"log2", "simdLog2($0)"},
    {"logical_and", "($0 != 0.0$f) & ($1 != 0.0$f)", "($0 != 0) & ($1 != 0)", "$0 & $1"},
    {"logical_not", "$0 == 0.0$f", "$0 == 0", "~$0"},
    {"logical_or", "($0 != 0.0$f) | ($1 != 0.0$f)", "($0 != 0) | ($1 != 0)", "$0 | $1"},
    {"logical_right_shift", "", "lanesIntShiftLogical($0, $1)"},
    {"lt", "$0 < $1", "$0 < $1"},
    {"maximum", "simdMaxNan($0, $1)", "$0 > $1 ? $0 : $1", "$0 | $1"},
    {"minimum", "simdMinNan($0, $1)", "$0 < $1 ? $0 : $1", "$0 & $1"},
    {"mod", "", "lanesIntRest($0, $1)"},
    {"mul", "$0 * $1", "lanesMul($0, $1)", "$0 & $1"},
    {"ne", "$0 != $1", "$0 != $1", "$0 ^ $1"},
    {"neg", "-$0", "lanesSub($0 ^ $0, $0)", "$0"},
    {"pow", "simdPow($0, $1)"},
    {"reciprocal", "1.0$f / $0"},
    {"relu", "lanesRelu($0)", "lanesRelu($0)", "$0"},
    {"remainder", "lanesWholeRest($0, $1)", "lanesIntFloorRest($0, $1)"},
    {"round", "lanesWholeNearest($0)"},
    {"rsqrt", "simdRsqrt($0)"},
    {"sigmoid", "1.0$f / (1.0$f + simdExp(-$0))"},
    {"sign", "lanesSign($0)", "lanesSign($0)"},
    {"signbit", "lanesSignbit($0)"},
    {"silu", "$0 / (1.0$f + simdExp(-$0))"},
    {"sin", "simdSin($0)"},
    {"sinh", "simdSinh($0)"},
    {"sqrt", "simdSqrt($0)"},
    {"sub", "$0 - $1", "lanesSub($0, $1)", "$0 ^ $1"},
    {"tan", "simdTan($0)"},
    {"tanh", "simdTanh($0)"},
    {"threshold", "$0 <= $1 ? $2 : $0", "$0 <= $1 ? $2 : $0"},
    {"trunc", "lanesWholeInside($0)"},
    {"where", "lanesSelect($0, $1, $2)", "lanesSelect($0, $1, $2)", "lanesSelect($0, $1, $2)"},
};
// clang-format on

static_assert(std::is_sorted(std::begin(kLaneRows), std::end(kLaneRows),
                             [](const LaneRow& a, const LaneRow& b) { return a.name < b.name; }));

/// Functions of float alone.
bool callsFloatFunction(std::string_view pattern) {
  return pattern.starts_with("simdPow(") || pattern.starts_with("simdLgamma(");
}

}  // namespace

std::string_view lanesPattern(std::string_view name, DataType compute) {
  const LaneRow* row = std::lower_bound(
      std::begin(kLaneRows), std::end(kLaneRows), name,
      [](const LaneRow& line, std::string_view wanted) { return line.name < wanted; });
  if (row == std::end(kLaneRows) || row->name != name) {
    return {};
  }
  switch (numberClass(compute)) {
    case NumberClass::Bool:
      return row->boolean;
    case NumberClass::Integer:
      return row->integer;
    case NumberClass::Real:
      if (isReducedPrecisionFloat(compute) && name != "where") {
        return {};
      }
      return compute != DataType::Float && callsFloatFunction(row->real) ? std::string_view()
                                                                         : row->real;
    case NumberClass::Complex:
      return {};
  }
  return {};
}

}  // namespace nvfuser
