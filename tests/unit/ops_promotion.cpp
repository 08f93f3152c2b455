// Type promotion: three tiers of operands.
#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/arith.h>

using namespace nvfuser;

namespace {

using D = DataType;

enum class Tier { Tensor, ZeroDim, Scalar };

Val* operand(Tier tier, D dtype) {
  if (tier == Tier::Scalar) {
    return IrBuilder::create<Val>(dtype);
  }
  return makeSymbolicTensor(tier == Tier::Tensor ? 2 : 0, dtype);
}

struct Case {
  Tier first_tier;
  D first;
  Tier second_tier;
  D second;
  D expected;   ///< of add
  D with_half;  ///< of where
};

}  // namespace

TEST_CASE("tiers of operands") {
  // clang-format off
  const Case cases[] = {
      // Same tier: promoteType.
      {Tier::Tensor, D::Float, Tier::Tensor, D::Float, D::Float, D::Float},
      {Tier::Tensor, D::Float, Tier::Tensor, D::Double, D::Double, D::Double},
      {Tier::Tensor, D::Half, Tier::Tensor, D::Half, D::Float, D::Half},
      {Tier::Tensor, D::Half, Tier::Tensor, D::BFloat16, D::Float, D::Float},
      {Tier::Tensor, D::BFloat16, Tier::Tensor, D::Int, D::Float, D::BFloat16},
      {Tier::Tensor, D::Int, Tier::Tensor, D::Float, D::Float, D::Float},
      {Tier::Tensor, D::Int32, Tier::Tensor, D::Int, D::Int, D::Int},
      {Tier::Tensor, D::Index, Tier::Tensor, D::Int32, D::Index, D::Index},
      {Tier::Tensor, D::Index, Tier::Tensor, D::Int, D::Int, D::Int},  // an Index may have 32 bits
      {Tier::ZeroDim, D::UInt64, Tier::ZeroDim, D::Index, D::UInt64, D::UInt64},
      {Tier::Tensor, D::Bool, Tier::Tensor, D::Bool, D::Bool, D::Bool},
      {Tier::Tensor, D::Double, Tier::Tensor, D::ComplexFloat, D::ComplexDouble, D::ComplexDouble},
      {Tier::Tensor, D::Float8_e4m3fn, Tier::Tensor, D::Float8_e4m3fn, D::Float, D::Float8_e4m3fn},
      // A scalar changes a tensor's category alone.
      {Tier::Tensor, D::Float, Tier::Scalar, D::Double, D::Float, D::Float},
      {Tier::Tensor, D::Half, Tier::Scalar, D::Double, D::Float, D::Half},
      {Tier::Tensor, D::Int, Tier::Scalar, D::Double, D::Double, D::Double},
      {Tier::Tensor, D::Int, Tier::Scalar, D::Float, D::Float, D::Float},
      {Tier::Tensor, D::Int, Tier::Scalar, D::Half, D::Float, D::Float},
      {Tier::Tensor, D::Int32, Tier::Scalar, D::Int, D::Int32, D::Int32},
      {Tier::Tensor, D::Bool, Tier::Scalar, D::Int, D::Int, D::Int},
      {Tier::Tensor, D::Bool, Tier::Scalar, D::Double, D::Double, D::Double},
      {Tier::Tensor, D::Float, Tier::Scalar, D::Int, D::Float, D::Float},
      {Tier::Tensor, D::Float, Tier::Scalar, D::ComplexDouble, D::ComplexFloat, D::ComplexFloat},
      {Tier::Tensor, D::ComplexFloat, Tier::Scalar, D::Double, D::ComplexFloat, D::ComplexFloat},
      {Tier::Tensor, D::Double, Tier::Scalar, D::ComplexFloat, D::ComplexDouble, D::ComplexDouble},
      // So does a 0-dim tensor.
      {Tier::Tensor, D::Float, Tier::ZeroDim, D::Double, D::Float, D::Float},
      {Tier::Tensor, D::Int32, Tier::ZeroDim, D::Int, D::Int32, D::Int32},
      {Tier::Tensor, D::Int, Tier::ZeroDim, D::Float, D::Float, D::Float},
      {Tier::ZeroDim, D::Float, Tier::Scalar, D::Double, D::Float, D::Float},
      {Tier::ZeroDim, D::Int, Tier::Scalar, D::Double, D::Double, D::Double},
      // Scalars alone keep what they have.
      {Tier::Scalar, D::Double, Tier::Scalar, D::Double, D::Double, D::Double},
      {Tier::Scalar, D::Float, Tier::Scalar, D::Float, D::Float, D::Float},
      {Tier::Scalar, D::Int, Tier::Scalar, D::Double, D::Double, D::Double},
      {Tier::Scalar, D::Int32, Tier::Scalar, D::Int, D::Int, D::Int},
      {Tier::Scalar, D::Bool, Tier::Scalar, D::Bool, D::Bool, D::Bool},
  };
  // clang-format on
  for (const Case& c : cases) {
    CAPTURE(c.first.toString());
    CAPTURE(c.second.toString());
    for (bool swapped : {false, true}) {
      Fusion fusion;
      FusionGuard guard(&fusion);
      Val* a = operand(c.first_tier, c.first);
      Val* b = operand(c.second_tier, c.second);
      if (swapped) {
        std::swap(a, b);
      }
      CHECK(add(a, b)->dtype() == c.expected);
      CHECK(where(IrBuilder::create<Val>(D::Bool), a, b)->dtype() == c.with_half);
      CHECK(lt(IrBuilder::create<Val>(D::Int), IrBuilder::create<Val>(D::Double))->dtype() ==
            D::Bool);
    }
  }
}

TEST_CASE("rules of functions") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* whole = makeSymbolicTensor(1, D::Int);
  TensorView* half = makeSymbolicTensor(1, D::Half);
  TensorView* wide = makeSymbolicTensor(1, D::Double);
  TensorView* flag = makeSymbolicTensor(1, D::Bool);
  TensorView* pair = makeSymbolicTensor(1, D::ComplexFloat);

  CHECK(exp(whole)->dtype() == D::Float);
  CHECK(exp(flag)->dtype() == D::Float);
  CHECK(exp(half)->dtype() == D::Float);
  CHECK(exp(wide)->dtype() == D::Double);
  CHECK(exp(pair)->dtype() == D::ComplexFloat);
  CHECK(neg(whole)->dtype() == D::Int);
  CHECK(neg(half)->dtype() == D::Float);
  CHECK(relu(half)->dtype() == D::Half);
  CHECK(relu(whole)->dtype() == D::Int);
  CHECK(abs(pair)->dtype() == D::Float);
  CHECK(abs(half)->dtype() == D::Half);
  CHECK(real(pair)->dtype() == D::Float);
  CHECK(imag(pair)->dtype() == D::Float);
  CHECK(isnan(half)->dtype() == D::Bool);
  CHECK(logical_not(whole)->dtype() == D::Bool);
  CHECK(bitwise_not(flag)->dtype() == D::Bool);
  CHECK(bitwise_not(whole)->dtype() == D::Int);
  CHECK(truediv(whole, whole)->dtype() == D::Float);
  CHECK(div(whole, whole)->dtype() == D::Int);
  CHECK(atan2(whole, whole)->dtype() == D::Float);
  CHECK(eq(half, whole)->dtype() == D::Bool);
  CHECK(logical_and(half, whole)->dtype() == D::Bool);
  CHECK(bitwise_xor(flag, flag)->dtype() == D::Bool);
  CHECK(bitwise_and(flag, whole)->dtype() == D::Int);
  CHECK(nextafter(wide, wide)->dtype() == D::Double);
  CHECK(complex(wide, wide)->dtype() == D::ComplexDouble);
  CHECK(lerp(half, half, half)->dtype() == D::Float);
  CHECK(clamp(half, nullptr, IrBuilder::create<Val>(PolymorphicValue(1.0)))->dtype() == D::Half);
  CHECK(threshold(half, IrBuilder::create<Val>(PolymorphicValue(0.0)),
                  IrBuilder::create<Val>(PolymorphicValue(1.0)))
            ->dtype() == D::Half);
}

TEST_CASE("operands are cast, scalars of the category are not") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* half = makeSymbolicTensor(1, D::Half);
  TensorView* full_tv = makeSymbolicTensor(1, D::Float);
  Val* wide = IrBuilder::create<Val>(D::Double);
  Val* two = IrBuilder::create<Val>(PolymorphicValue(2));

  Expr* sum = add(half, wide)->definition();
  CHECK(sum->input(0)->dtype() == D::Float);
  CHECK(sum->input(0)->definition()->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast);
  CHECK(sum->input(1) == wide);
  // A constant of another category becomes a constant.
  Expr* power = pow(full_tv, two)->definition();
  CHECK(power->input(1)->isConst());
  CHECK(power->input(1)->dtype() == D::Float);
  CHECK(power->input(1)->value().as<double>() == 2.0);
}
