/// The pointwise functions of three and more operands, and the call of any pointwise function by
/// its name.
#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/define_pointwise.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::applyRule;

Val* ternaryOp(TernaryOpType type, Val* v1, Val* v2, Val* v3, DataType out_dtype) {
  std::string_view name = pointwiseRow(type).name;
  ops::requireOperands(name, {v1, v2, v3});
  return ops::define(type, name, out_dtype, ops::maybeBroadcast({v1, v2, v3}));
}

Val* lerp(Val* start, Val* end, Val* weight) {
  return applyRule(TernaryOpType::Lerp, DtypeRule::Default, "lerp", {start, end, weight});
}

Val* where(Val* condition, Val* v2, Val* v3) {
  return applyRule(TernaryOpType::Where, DtypeRule::Select, "where", {condition, v2, v3});
}

#define NVFUSER_MIX(name, A, B, C)                                                   \
  TensorView* name(A* v1, B* v2, C* v3) {                                            \
    return name(static_cast<Val*>(v1), static_cast<Val*>(v2), static_cast<Val*>(v3)) \
        ->as<TensorView>();                                                          \
  }
#define NVFUSER_EVERY_MIX_OF_THREE(name)         \
  NVFUSER_MIX(name, TensorView, Val, Val)        \
  NVFUSER_MIX(name, Val, TensorView, Val)        \
  NVFUSER_MIX(name, Val, Val, TensorView)        \
  NVFUSER_MIX(name, TensorView, TensorView, Val) \
  NVFUSER_MIX(name, TensorView, Val, TensorView) \
  NVFUSER_MIX(name, Val, TensorView, TensorView) \
  NVFUSER_MIX(name, TensorView, TensorView, TensorView)
NVFUSER_EVERY_MIX_OF_THREE(lerp)
NVFUSER_EVERY_MIX_OF_THREE(where)
#undef NVFUSER_EVERY_MIX_OF_THREE
#undef NVFUSER_MIX

Val* addcmul(Val* v1, Val* v2, Val* v3, Val* s) {
  ops::requireOperands("addcmul", {v1, v2, v3, s});
  if (s->isA<TensorView>()) {
    userError("addcmul: value (", s->toInlineString(), ") must be a scalar, not a tensor");
  }
  return add(v1, mul(v2, mul(v3, s)));
}

#define NVFUSER_MIX(A, B, C)                                                               \
  TensorView* addcmul(A* v1, B* v2, C* v3, Val* s) {                                       \
    return addcmul(static_cast<Val*>(v1), static_cast<Val*>(v2), static_cast<Val*>(v3), s) \
        ->as<TensorView>();                                                                \
  }
NVFUSER_MIX(TensorView, Val, Val)
NVFUSER_MIX(Val, TensorView, Val)
NVFUSER_MIX(Val, Val, TensorView)
NVFUSER_MIX(TensorView, TensorView, Val)
NVFUSER_MIX(TensorView, Val, TensorView)
NVFUSER_MIX(Val, TensorView, TensorView)
NVFUSER_MIX(TensorView, TensorView, TensorView)
#undef NVFUSER_MIX

namespace {

void requireScalar(std::string_view op, std::string_view what, const Val* v) {
  if (v->isA<TensorView>()) {
    userError(op, ": ", what, " (", v->toInlineString(), ") must be a scalar, not a tensor");
  }
}

}  // namespace

Val* threshold(Val* in, Val* thresh, Val* value) {
  ops::requireOperands("threshold", {in, thresh, value});
  requireScalar("threshold", "thresh", thresh);
  requireScalar("threshold", "value", value);
  return applyRule(TernaryOpType::Threshold, DtypeRule::Keep, "threshold", {in, thresh, value});
}

TensorView* threshold(TensorView* in, Val* thresh, Val* value) {
  return threshold(static_cast<Val*>(in), thresh, value)->as<TensorView>();
}

Val* clamp(Val* in, Val* min_val, Val* max_val) {
  ops::requireOperands("clamp", {in});
  FusionGuard guard(in->fusion());
  DataType dtype = fullPrecisionType(in->dtype());
  if (min_val == nullptr) {
    min_val = ops::getMinimumValue(dtype);
  }
  if (max_val == nullptr) {
    max_val = ops::getMaximumValue(dtype);
  }
  requireScalar("clamp", "min", min_val);
  requireScalar("clamp", "max", max_val);
  return applyRule(TernaryOpType::Clamp, DtypeRule::Keep, "clamp", {in, min_val, max_val});
}

TensorView* clamp(TensorView* in, Val* min_val, Val* max_val) {
  return clamp(static_cast<Val*>(in), min_val, max_val)->as<TensorView>();
}

namespace {

struct NamedFunction {
  std::string_view name;
  Val* (*one)(Val*) = nullptr;
  Val* (*two)(Val*, Val*) = nullptr;
  Val* (*three)(Val*, Val*, Val*) = nullptr;
};

// The `+` of a captureless lambda picks the overload with values.
#define UNARY(fn, type, rule, python, doc) {.name = #fn, .one = +[](Val* a) { return fn(a); }},
#define BINARY(fn, type, rule, python, doc) \
  {.name = #fn, .two = +[](Val* a, Val* b) { return fn(a, b); }},
#define TERNARY(fn, type, rule, python, doc) \
  {.name = #fn, .three = +[](Val* a, Val* b, Val* c) { return fn(a, b, c); }},
constexpr NamedFunction kByName[] = {
#include <ops/table/pointwise_functions.def>
};

}  // namespace

Val* callPointwise(std::string_view name, const std::vector<Val*>& operands) {
  for (const NamedFunction& function : kByName) {
    if (function.name != name) {
      continue;
    }
    const int arity = findPointwiseFunction(name)->arity;
    if (static_cast<int>(operands.size()) != arity) {
      userError(name, ": takes ", arity, " operand", arity == 1 ? "" : "s", ", got ",
                operands.size());
    }
    if (arity == 1) {
      return function.one(operands[0]);
    }
    if (arity == 2) {
      return function.two(operands[0], operands[1]);
    }
    return function.three(operands[0], operands[1], operands[2]);
  }
  userError(name, ": there is no pointwise function of this name; there are ",
            join(kByName, ", ", [](const NamedFunction& f) { return f.name; }));
}

}  // namespace nvfuser
