/// Random tensors.
#include <algorithm>
#include <cmath>

#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_pointwise.h>
#include <ops/tensor_of_shape.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

void requireSeed(std::string_view op, const Val* seed, const Val* offset) {
  if ((seed == nullptr) != (offset == nullptr)) {
    userError(op, ": rng_seed and rng_offset must be provided together: only the ",
              seed ? "seed" : "offset", " was given");
  }
  for (const Val* v : {seed, offset}) {
    if (v != nullptr && !v->isIntegralScalar()) {
      userError(op, ": seed and offset must be integer scalars, got ", v->toInlineString(),
                " of type ", v->dtype());
    }
  }
}

/// A number that is less than `high` even when it is rounded to `dtype`, and no more than two of
/// its steps below; `low`, where that is nearer.
Val* greatestBelow(Val* low, Val* high, DataType dtype) {
  const double part = std::ldexp(1.5, -significandBits(dtype));
  if (low->isConst() && high->isConst()) {
    const double end = high->value().as<double>();
    const double greatest = std::max(end - std::abs(end) * part, low->value().as<double>());
    return IrBuilder::create<Val>(PolymorphicValue(greatest), high->dtype());
  }
  Val* factor = IrBuilder::create<Val>(PolymorphicValue(part), high->dtype());
  return maximum(sub(high, mul(abs(high), factor)), low);
}

TensorView* draw(std::string_view op, RNGOpType type, const std::vector<Val*>& shape,
                 DataType dtype, const std::vector<Val*>& parameters, Val* seed, Val* offset) {
  if (!isFloatingPointType(dtype)) {
    userError(op, ": Random distributions only create floating point types! dtype ", dtype,
              " is none; cast the result instead");
  }
  requireSeed(op, seed, offset);
  DataType full_type = fullPrecisionType(dtype);
  std::vector<Val*> cast;
  for (Val* parameter : parameters) {
    ops::requireOperands(op, {parameter});
    if (parameter->isA<TensorView>() || isComplexType(parameter->dtype())) {
      userError(op, ": the parameters of the distribution must be real scalars, got ",
                parameter->toInlineString(), " of type ", parameter->dtype());
    }
    cast.push_back(optionalCastStrict(full_type, parameter));
  }
  TensorView* out = ops::tensorOfShape(op, shape, full_type);
  IrBuilder::create<RNGOp>(type, out, cast, seed, offset);
  // Rounding must not reach the upper end, which the interval excludes.
  if (type == RNGOpType::Uniform && full_type != dtype) {
    Val* greatest =
        IrBuilder::create<Val>(PolymorphicValue(1.0 - std::ldexp(1.0, -significandBits(dtype))),
                               DataType(DataType::Float));
    out = minimum(out, greatest);
  } else if (type == RNGOpType::UniformRange) {
    out = minimum(out, greatestBelow(cast[0], cast[1], dtype));
  }
  return full_type == dtype ? out : castOp(dtype, out);
}

TensorView* drawLike(std::string_view op, RNGOpType type, TensorView* tv, Val* seed, Val* offset) {
  ops::requireOperands(op, {static_cast<Val*>(tv)});
  return draw(op, type, shape(tv), tv->dtype(), {}, seed, offset);
}

/// A scalar's shape has no axes.
Val* drawLike(std::string_view op, RNGOpType type, Val* v, Val* seed, Val* offset) {
  ops::requireOperands(op, {v});
  if (v->isA<TensorView>()) {
    return drawLike(op, type, v->as<TensorView>(), seed, offset);
  }
  return draw(op, type, {}, v->dtype(), {}, seed, offset);
}

}  // namespace

TensorView* rand(const std::vector<Val*>& shape, DataType dtype, Val* philox_seed,
                 Val* philox_offset, bool) {
  return draw("rand", RNGOpType::Uniform, shape, dtype, {}, philox_seed, philox_offset);
}

TensorView* randn(const std::vector<Val*>& shape, DataType dtype, Val* philox_seed,
                  Val* philox_offset, bool) {
  return draw("randn", RNGOpType::NormalStandard, shape, dtype, {}, philox_seed, philox_offset);
}

TensorView* rand_like(TensorView* tv, Val* philox_seed, Val* philox_offset) {
  return drawLike("rand_like", RNGOpType::Uniform, tv, philox_seed, philox_offset);
}
Val* rand_like(Val* v, Val* philox_seed, Val* philox_offset) {
  return drawLike("rand_like", RNGOpType::Uniform, v, philox_seed, philox_offset);
}
TensorView* rand_like(TensorView* tv) { return rand_like(tv, nullptr, nullptr); }
Val* rand_like(Val* v) { return rand_like(v, nullptr, nullptr); }

TensorView* randn_like(TensorView* tv, Val* philox_seed, Val* philox_offset) {
  return drawLike("randn_like", RNGOpType::NormalStandard, tv, philox_seed, philox_offset);
}
Val* randn_like(Val* v, Val* philox_seed, Val* philox_offset) {
  return drawLike("randn_like", RNGOpType::NormalStandard, v, philox_seed, philox_offset);
}
TensorView* randn_like(TensorView* tv) { return randn_like(tv, nullptr, nullptr); }
Val* randn_like(Val* v) { return randn_like(v, nullptr, nullptr); }

TensorView* uniform(const std::vector<Val*>& shape, Val* low, Val* high, DataType dtype,
                    Val* philox_seed, Val* philox_offset, bool) {
  return draw("uniform", RNGOpType::UniformRange, shape, dtype, {low, high}, philox_seed,
              philox_offset);
}

TensorView* normal(const std::vector<Val*>& shape, Val* mean, Val* std, DataType dtype,
                   Val* philox_seed, Val* philox_offset, bool) {
  return draw("normal", RNGOpType::NormalGeneral, shape, dtype, {mean, std}, philox_seed,
              philox_offset);
}

TensorView* uniform_of_threads(const std::vector<Val*>& shape, Val* threads, Val* width,
                               Val* philox_seed, Val* philox_offset) {
  constexpr std::string_view kOp = "uniform_of_threads";
  for (const auto& [name, v] : {std::pair("threads", threads),
                                {"width", width},
                                {"rng_seed", philox_seed},
                                {"rng_offset", philox_offset}}) {
    if (v == nullptr || !v->isIntegralScalar()) {
      userError(kOp, ": ", name, " must be an integer scalar, got ",
                v == nullptr ? std::string("none") : v->toInlineString());
    }
  }
  for (const auto& [name, v, unit] : {std::tuple("threads", threads, 1), {"width", width, 4}}) {
    if (!v->isConst() || v->value().as<int64_t>() <= 0 || v->value().as<int64_t>() % unit != 0) {
      userError(kOp, ": ", name, " must be a constant, a positive multiple of ", unit, ", got ",
                v->toInlineString(), "; a thread draws four numbers at a time");
    }
  }
  TensorView* out = ops::tensorOfShape(kOp, shape, DataType::Float);
  IrBuilder::create<RNGOp>(RNGOpType::UniformOfThreads, out, std::vector<Val*>{threads, width},
                           philox_seed, philox_offset);
  return out;
}

}  // namespace nvfuser
