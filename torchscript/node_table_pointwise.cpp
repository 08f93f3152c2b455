// Arithmetic, comparisons, logic and choices, element by element.

#include <cstddef>

#include "node_table.h"
#include "node_types.h"

namespace nvfuser::torchscript {

namespace {

/// A name as a template argument.
template <size_t n>
struct Name {
  char text[n] = {};
  constexpr Name(const char (&literal)[n]) {
    for (size_t i = 0; i < n; ++i) {
      text[i] = literal[i];
    }
  }
};

template <Name op>
void unary(NodeCall& node) {
  finish(node, node.fusion().call(op.text, {computedTensor(node, "self")}));
}

/// A question about an element: asked in the argument's own type.
template <Name op>
void test(NodeCall& node) {
  finish(node, node.fusion().call(op.text, {node.tensor("self")}));
}

/// A product: PyTorch's kernels read a number beside half precision as it is.
void product(NodeCall& node) {
  finish(node, node.fusion().call("mul",
                                  {computedExactly(node, "self"), computedExactly(node, "other")}));
}

template <Name op>
void binary(NodeCall& node) {
  finish(node, node.fusion().call(op.text, {computed(node, "self"), computed(node, "other")}));
}

Operand timesAlpha(NodeCall& node, const Operand& operand) {
  const Operand alpha = node.operand("alpha");
  if (isNumber(alpha, 1)) {
    return operand;
  }
  const nvf_dtype type = computeType(node.resultType());
  const Operand factor = cast(node, rounded(node, alpha, node.resultType()), type);
  return cast(node, node.fusion().call("mul", {operand, factor}), type);
}

template <Name op>
void additive(NodeCall& node) {
  finish(node, node.fusion().call(
                   op.text, {computed(node, "self"), timesAlpha(node, computed(node, "other"))}));
}

void reverseSub(NodeCall& node) {
  finish(node, node.fusion().call(
                   "sub", {computed(node, "other"), timesAlpha(node, computed(node, "self"))}));
}

/// Both operands in the type that PyTorch compares them in.
template <Name op>
void comparison(NodeCall& node) {
  const Operand self = node.operand("self");
  const Operand other = node.operand("other");
  const nvf_dtype common = commonType({self, other});
  auto compared = [&](const Operand& operand) {
    return cast(node, rounded(node, operand, common), computeType(common));
  };
  finish(node, node.fusion().call(op.text, {compared(self), compared(other)}));
}

template <Name op>
void logical(NodeCall& node) {
  finish(node, node.fusion().call(op.text, {node.tensor("self"), node.tensor("other")}));
}

void logicalXor(NodeCall& node) {
  Definition& fusion = node.fusion();
  auto isSet = [&](const char* name) { return fusion.call("ne", {node.tensor(name), 0}); };
  finish(node, fusion.call("ne", {isSet("self"), isSet("other")}));
}

void divide(NodeCall& node) {
  finish(node,
         node.fusion().call("truediv", {computed(node, "self"), computedExactly(node, "other")}));
}

Term floored(NodeCall& node, const Operand& a, const Operand& b) {
  Definition& fusion = node.fusion();
  if (!isIntegral(node.resultType())) {
    // What is left after the remainder, which has b's sign, divides without a rest; as PyTorch, the
    // quotient is then rounded to the nearest integer.
    const Term rest = fusion.call("fmod", {a, b});
    const Term exact = fusion.call("truediv", {fusion.call("sub", {a, rest}), b});
    const Term other_sign =
        fusion.call("ne", {fusion.call("lt", {b, 0.0}), fusion.call("lt", {rest, 0.0})});
    const Term has_rest = fusion.call("ne", {rest, 0.0});
    const Term lower = fusion.call("logical_and", {has_rest, other_sign});
    const Term quotient = fusion.call("where", {lower, fusion.call("sub", {exact, 1.0}), exact});
    const Term down = fusion.call("floor", {quotient});
    const Term up = fusion.call("gt", {fusion.call("sub", {quotient, down}), 0.5});
    const Term rounded = fusion.call("where", {up, fusion.call("add", {down, 1.0}), down});
    const Term plain = fusion.call("truediv", {a, b});
    const Term zero = fusion.call("mul", {plain, 0.0});
    const Term nothing = fusion.call("eq", {quotient, 0.0});
    const Term value = fusion.call("where", {nothing, zero, rounded});
    return fusion.call("where", {fusion.call("eq", {b, 0.0}), plain, value});
  }
  const Term quotient = fusion.call("div", {a, b});
  const Term rest = fusion.call("sub", {a, fusion.call("mul", {quotient, b})});
  const Term has_rest = fusion.call("ne", {rest, 0});
  const Term other_sign =
      fusion.call("ne", {fusion.call("lt", {b, 0}), fusion.call("lt", {rest, 0})});
  return fusion.call("where", {fusion.call("logical_and", {has_rest, other_sign}),
                               fusion.call("sub", {quotient, 1}), quotient});
}

void divideRounding(NodeCall& node) {
  if (!node.given("rounding_mode")) {
    divide(node);
    return;
  }
  const std::string mode = node.text("rounding_mode");
  const Operand a = computed(node, "self");
  const Operand b = computedExactly(node, "other");
  if (mode == "floor") {
    finish(node, floored(node, a, b));
  } else if (isIntegral(node.resultType())) {
    finish(node, node.fusion().call("div", {a, b}));
  } else {
    finish(node, node.fusion().call("trunc", {node.fusion().call("truediv", {a, b})}));
  }
}

void floorDivide(NodeCall& node) {
  finish(node, floored(node, computed(node, "self"), computedExactly(node, "other")));
}

void power(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Operand exponent = node.operand("exponent");
  if (std::holds_alternative<Number>(exponent) && isFloating(node.resultType())) {
    const Operand self = computed(node, "self");
    // As PyTorch: the same bits, and NaN for roots of negative infinity.
    if (isNumber(exponent, 0.5)) {
      return finish(node, fusion.call("sqrt", {self}));
    }
    if (isNumber(exponent, -0.5)) {
      return finish(node, fusion.call("rsqrt", {self}));
    }
    if (isNumber(exponent, -1)) {
      return finish(node, fusion.call("reciprocal", {self}));
    }
  }
  finish(node, node.fusion().call("pow", {computed(node, "self"), computed(node, "exponent")}));
}

void clampTo(NodeCall& node) {
  auto bound = [&](const char* name) -> Argument {
    return node.given(name) ? Argument(computed(node, name)) : Argument();
  };
  finish(node, node.fusion().call("clamp", {computed(node, "self"), bound("min"), bound("max")}));
}

void clampTensors(NodeCall& node) {
  Term held = computedTensor(node, "self");
  if (node.given("min")) {
    held = node.fusion().call("maximum", {held, computedTensor(node, "min")});
  }
  if (node.given("max")) {
    held = node.fusion().call("minimum", {held, computedTensor(node, "max")});
  }
  finish(node, held);
}

template <Name op, Name bound>
void clampOne(NodeCall& node) {
  finish(node, node.fusion().call(op.text, {computed(node, "self"), computed(node, bound.text)}));
}

void where(NodeCall& node) {
  finish(node, node.fusion().call("where", {cast(node, node.tensor("condition"), NVF_BOOL),
                                            computed(node, "self"), computed(node, "other")}));
}

void maskedFill(NodeCall& node) {
  finish(node, node.fusion().call("where", {cast(node, node.tensor("mask"), NVF_BOOL),
                                            computed(node, "value"), computed(node, "self")}));
}

void lerp(NodeCall& node) {
  finish(node, node.fusion().call("lerp", {computed(node, "self"), computed(node, "end"),
                                           computedExactly(node, "weight")}));
}

/// tensor1 op tensor2, times the value.
Term scaledPair(NodeCall& node, const char* op) {
  Definition& fusion = node.fusion();
  const nvf_dtype type = computeType(node.resultType());
  const Operand value = cast(node, node.operand("value"), type);
  const Term first = computedTensor(node, "tensor1");
  const Term second = computedTensor(node, "tensor2");
  const Term left = isNumber(value, 1) ? first : fusion.call("mul", {value, first});
  return fusion.call(op, {cast(node, left, type), second});
}

template <Name op>
void addPair(NodeCall& node) {
  const Term pair = scaledPair(node, op.text);
  finish(node, node.fusion().call("add", {computedTensor(node, "self"), pair}));
}

void nanToNum(NodeCall& node) {
  Definition& fusion = node.fusion();
  const nvf_dtype result = node.resultType();
  const Term self = computedTensor(node, "self");
  double largest = 3.4028234663852886e38;
  if (result == NVF_DOUBLE) {
    largest = 1.7976931348623157e308;
  } else if (result == NVF_HALF) {
    largest = 65504;
  } else if (result == NVF_BFLOAT16) {
    largest = 3.3895313892515355e38;
  } else if (result != NVF_FLOAT) {
    throw Refusal("is for floating point alone");
  }
  auto value = [&](const char* name, double otherwise) {
    return node.given(name) ? cast(node, node.operand(name), computeType(result))
                            : Operand(Number(otherwise));
  };
  Term out = fusion.call("where", {fusion.call("isnan", {self}), value("nan", 0.0), self});
  out = fusion.call("where", {fusion.call("isposinf", {self}), value("posinf", largest), out});
  out = fusion.call("where", {fusion.call("isneginf", {self}), value("neginf", -largest), out});
  finish(node, out);
}

void square(NodeCall& node) {
  const Term self = computedTensor(node, "self");
  finish(node, node.fusion().call("mul", {self, self}));
}

void xlogy(NodeCall& node) {
  Definition& fusion = node.fusion();
  const Operand self = computed(node, "self");
  const Operand other = computed(node, "other");
  const Term product = fusion.call("mul", {self, fusion.call("log", {other})});
  const Term is_zero = fusion.call("eq", {self, 0.0});
  const Term value = fusion.call("where", {is_zero, 0.0, product});
  // NaN counts before a zero.
  finish(node, fusion.call("where", {fusion.call("isnan", {other}), other, value}));
}

constexpr NodeRule kRules[] = {
    // One operand.
    {"aten::abs", unary<"abs">},
    {"aten::acos", unary<"acos">},
    {"aten::acosh", unary<"acosh">},
    {"aten::asin", unary<"asin">},
    {"aten::asinh", unary<"asinh">},
    {"aten::atan", unary<"atan">},
    {"aten::atanh", unary<"atanh">},
    {"aten::ceil", unary<"ceil">},
    {"aten::cos", unary<"cos">},
    {"aten::cosh", unary<"cosh">},
    {"aten::erf", unary<"erf">},
    {"aten::erfc", unary<"erfc">},
    {"aten::erfinv", unary<"erfinv">},
    {"aten::exp", unary<"exp">},
    {"aten::exp2", unary<"exp2">},
    {"aten::expm1", unary<"expm1">},
    {"aten::floor", unary<"floor">},
    {"aten::frac", unary<"frac">},
    {"aten::lgamma", unary<"lgamma">},
    {"aten::log", unary<"log">},
    {"aten::log10", unary<"log10">},
    {"aten::log1p", unary<"log1p">},
    {"aten::log2", unary<"log2">},
    {"aten::neg", unary<"neg">},
    {"aten::reciprocal", unary<"reciprocal">},
    {"aten::round", unary<"round">},
    {"aten::rsqrt", unary<"rsqrt">},
    {"aten::sigmoid", unary<"sigmoid">},
    {"aten::sign", unary<"sign">},
    {"aten::sin", unary<"sin">},
    {"aten::sinh", unary<"sinh">},
    {"aten::sqrt", unary<"sqrt">},
    {"aten::square", square},
    {"aten::tan", unary<"tan">},
    {"aten::tanh", unary<"tanh">},
    {"aten::trunc", unary<"trunc">},
    {"aten::bitwise_not", unary<"bitwise_not">},
    {"aten::logical_not", test<"logical_not">},
    {"aten::isfinite", test<"isfinite">},
    {"aten::isinf", test<"isinf">},
    {"aten::isnan", test<"isnan">},
    {"aten::isneginf", test<"isneginf">},
    {"aten::isposinf", test<"isposinf">},
    {"aten::signbit", test<"signbit">},
    {"aten::nan_to_num", nanToNum},
    // Two operands.
    {"aten::add.Tensor", additive<"add">},
    {"aten::add.Scalar", additive<"add">},
    {"aten::sub.Tensor", additive<"sub">},
    {"aten::sub.Scalar", additive<"sub">},
    {"aten::rsub.Tensor", reverseSub},
    {"aten::rsub.Scalar", reverseSub},
    {"aten::mul.Tensor", product},
    {"aten::mul.Scalar", product},
    {"aten::div.Tensor", divide},
    {"aten::div.Scalar", divide},
    {"aten::div.Tensor_mode", divideRounding},
    {"aten::div.Scalar_mode", divideRounding},
    {"aten::floor_divide", floorDivide},
    {"aten::floor_divide.Scalar", floorDivide},
    {"aten::fmod.Tensor", binary<"fmod">},
    {"aten::fmod.Scalar", binary<"fmod">},
    {"aten::remainder.Tensor", binary<"remainder">},
    {"aten::remainder.Scalar", binary<"remainder">},
    {"aten::pow.Tensor_Tensor", power},
    {"aten::pow.Tensor_Scalar", power},
    {"aten::pow.Scalar", power},
    {"aten::atan2", binary<"atan2">},
    {"aten::maximum", binary<"maximum">},
    {"aten::minimum", binary<"minimum">},
    {"aten::max.other", binary<"maximum">},
    {"aten::min.other", binary<"minimum">},
    {"aten::gcd", binary<"gcd">},
    {"aten::xlogy.Tensor", xlogy},
    {"aten::eq.Tensor", comparison<"eq">},
    {"aten::eq.Scalar", comparison<"eq">},
    {"aten::ne.Tensor", comparison<"ne">},
    {"aten::ne.Scalar", comparison<"ne">},
    {"aten::gt.Tensor", comparison<"gt">},
    {"aten::gt.Scalar", comparison<"gt">},
    {"aten::ge.Tensor", comparison<"ge">},
    {"aten::ge.Scalar", comparison<"ge">},
    {"aten::lt.Tensor", comparison<"lt">},
    {"aten::lt.Scalar", comparison<"lt">},
    {"aten::le.Tensor", comparison<"le">},
    {"aten::le.Scalar", comparison<"le">},
    {"aten::logical_and", logical<"logical_and">},
    {"aten::logical_or", logical<"logical_or">},
    {"aten::logical_xor", logicalXor},
    {"aten::bitwise_and.Tensor", binary<"bitwise_and">},
    {"aten::bitwise_and.Scalar", binary<"bitwise_and">},
    {"aten::bitwise_or.Tensor", binary<"bitwise_or">},
    {"aten::bitwise_or.Scalar", binary<"bitwise_or">},
    {"aten::bitwise_xor.Tensor", binary<"bitwise_xor">},
    {"aten::bitwise_xor.Scalar", binary<"bitwise_xor">},
    {"aten::__and__.Tensor", binary<"bitwise_and">},
    {"aten::__and__.Scalar", binary<"bitwise_and">},
    {"aten::__or__.Tensor", binary<"bitwise_or">},
    {"aten::__or__.Scalar", binary<"bitwise_or">},
    {"aten::__xor__.Tensor", binary<"bitwise_xor">},
    {"aten::__xor__.Scalar", binary<"bitwise_xor">},
    {"aten::__lshift__.Tensor", binary<"bitwise_left_shift">},
    {"aten::__lshift__.Scalar", binary<"bitwise_left_shift">},
    {"aten::__rshift__.Tensor", binary<"bitwise_right_shift">},
    {"aten::__rshift__.Scalar", binary<"bitwise_right_shift">},
    // More.
    {"aten::clamp", clampTo},
    {"aten::clamp.Tensor", clampTensors},
    {"aten::clamp_min", clampOne<"maximum", "min">},
    {"aten::clamp_max", clampOne<"minimum", "max">},
    {"aten::where.self", where},
    {"aten::where.ScalarOther", where},
    {"aten::where.ScalarSelf", where},
    {"aten::where.Scalar", where},
    {"aten::masked_fill.Scalar", maskedFill},
    {"aten::masked_fill.Tensor", maskedFill},
    {"aten::lerp.Tensor", lerp},
    {"aten::lerp.Scalar", lerp},
    {"aten::addcmul", addPair<"mul">},
    {"aten::addcdiv", addPair<"truediv">},
};

}  // namespace

std::span<const NodeRule> pointwiseRules() { return kRules; }

}  // namespace nvfuser::torchscript
