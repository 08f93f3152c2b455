#include <algorithm>
#include <cmath>

#include <fuzz/library/draw_input.h>
#include <fuzz/library/drawer.h>
#include <ops/table/pointwise.h>

namespace nvfuser::fuzz {

namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Exact in integers of floats, whatever the operands.
const std::vector<std::string> kExactUnary = {"neg",  "abs",   "relu",        "sign",     "floor",
                                              "ceil", "round", "trunc",       "set",      "isnan",
                                              "real", "isinf", "logical_not", "isfinite", "isreal"};
const std::vector<std::string> kExactBinary = {
    "add", "sub", "mul", "maximum", "minimum",     "eq",        "ne",
    "lt",  "le",  "gt",  "ge",      "logical_and", "logical_or"};
const std::vector<std::string> kIntegerUnary = {"bitwise_not", "bitceil"};
const std::vector<std::string> kIntegerBinary = {"bitwise_and",
                                                 "bitwise_or",
                                                 "bitwise_xor",
                                                 "bitwise_left_shift",
                                                 "bitwise_right_shift",
                                                 "logical_right_shift",
                                                 "gcd",
                                                 "mod",
                                                 "fmod",
                                                 "remainder",
                                                 "div",
                                                 "pow"};
/// Without one meaning for all operands (numerics.md), or that change what a test sees.
const std::vector<std::string> kLeftOut = {"print", "ceilDiv"};

}  // namespace

std::string Drawer::pointwiseName(int arity, int64_t a) {
  const auto& exact = arity == 1 ? kExactUnary : kExactBinary;
  const auto& whole = arity == 1 ? kIntegerUnary : kIntegerBinary;
  if (isExact()) {
    return isWhole(a) && draw_.chance(0.5) ? draw_.oneOf(whole) : draw_.oneOf(exact);
  }
  if (draw_.chance(0.3)) {
    return draw_.oneOf(exact);
  }
  std::vector<std::string> names;
  for (const PointwiseFunction& function : pointwiseFunctions()) {
    // The sign of a NaN has no meaning.
    const bool unclear = program_.mode == ValueMode::Special && function.name == "signbit";
    if (function.arity == arity && !contains(kLeftOut, function.name) && !unclear) {
      names.emplace_back(function.name);
    }
  }
  return draw_.oneOf(names);
}

void Drawer::addUnary() {
  const int64_t a = pick();
  const std::string name = pointwiseName(1, a);
  if (isExact() && name == "abs" && isComplexType(dtype(a))) {
    return;
  }
  if (!isExact() && isFloat(a) && draw_.chance(0.1)) {
    static const std::vector<std::string> kActivations = {"gelu", "tanh_gelu", "leaky_relu",
                                                          "softplus", "softmax"};
    try_({draw_.oneOf(kActivations), {}, {value(a)}}, 0);
    return;
  }
  const bool wild = contains(kIntegerUnary, name);
  try_({name, {}, {value(a)}}, wild ? 0x1p62 : std::max(bound(a), 1.0));
}

void Drawer::addBinary() {
  const int64_t a = pick();
  const std::string name = pointwiseName(2, a);
  Argument left = value(a);
  Argument right = partner(a);
  const double x = boundOf(left);
  const double y = boundOf(right);
  if (isExact() && std::max(x, y) > 0x1p23 && !(isWholeOperand(left) && isWholeOperand(right))) {
    return;  // a large integer meets a float, and loses digits
  }
  double limit = std::max({x, y, 1.0});
  if (name == "add" || name == "sub") {
    limit = x + y;
  } else if (name == "mul") {
    limit = std::max((isComplexType(dtype(a)) ? 2 : 1) * x * y, 1.0);
  } else if (contains(kIntegerBinary, name)) {
    // A float among the operands would be divided.
    if (isExact() && right.kind == Argument::Kind::Value &&
        of(right.integer).val->isA<TensorView>() && !isWhole(right.integer)) {
      return;
    }
    limit = 0x1p62;
  }
  if (draw_.chance(0.25)) {
    std::swap(left, right);
  }
  try_({name, {}, {left, right}}, limit);
}

void Drawer::addTernary() {
  const int64_t a = pick();
  switch (draw_.number(0, isExact() ? 2 : 4)) {
    case 0: {
      int64_t condition =
          pickWhere([&](int64_t id) { return dtype(id) == DataType::Bool && fits(a, id); });
      if (condition < 0) {
        condition = newInput(sizes(a), {}, DataType::Bool);
      }
      const Argument other = partner(a);
      // (Both go with `a`, which may be a broadcast.)
      if (!fit(value(condition), other) ||
          (isExact() && std::max(bound(a), boundOf(other)) > 0x1p23)) {
        return;
      }
      try_({"where", {}, {value(condition), value(a), other}}, std::max(bound(a), boundOf(other)));
      return;
    }
    case 1:
      try_({"clamp", {}, {value(a), named("min", integer(-2)), named("max", integer(3))}},
           std::max(bound(a), 3.0));
      return;
    case 2: {
      const Argument b = partner(a);
      const Argument c = partner(a);
      const double limit = bound(a) + 4 * boundOf(b) * boundOf(c);
      // (The product of whole numbers is an integer: of unsigned ones it is large where one is
      // below zero.)
      if (!fit(b, c) || (isExact() && (limit > 0x1p23 || mayWrap({"mul", {}, {b, c}})))) {
        return;
      }
      try_({"addcmul", {}, {value(a), b, c}}, limit);
      return;
    }
    case 3:
      try_({"threshold", {}, {value(a), real(0.5), real(-1.5)}}, 0);
      return;
    default: {
      const Argument b = partner(a);
      try_({"lerp", {}, {value(a), b, real(0.25)}}, 0);
    }
  }
}

void Drawer::addCast() {
  const int64_t a = pick();
  const DataType to = drawDtype(draw_, program_.mode);
  if (isExact() && isIntegralType(to) && dataTypeSizeBit(to) < 64 && !isWhole(a) &&
      bound(a) > 100) {
    return;  // bounds do not tell what a narrow integer becomes
  }
  const double limit = to == DataType::Bool ? 1
                       : isIntegralType(to) && (isUnsignedIntegralType(to) || isWhole(a))
                           ? 0x1p62
                           : bound(a);
  try_({"cast", {}, {value(a), named("dtype", dtypeOf(to))}}, limit);
}

}  // namespace nvfuser::fuzz
