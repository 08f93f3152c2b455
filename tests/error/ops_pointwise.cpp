// Wrong operands of pointwise functions.
#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ir/fusion.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

using D = DataType;

struct Pointwise {
  Fusion fusion;
  FusionGuard guard{&fusion};
  TensorView* x = makeConcreteTensor({2, 3});
  TensorView* whole = makeConcreteTensor({2, 3}, D::Int);
  TensorView* pair = makeConcreteTensor({2, 3}, D::ComplexFloat);
  Val* number = IrBuilder::create<Val>(D::Double);
};

}  // namespace

#define CHECK_ERROR(statement, words) \
  CHECK_THROWS_WITH_AS(static_cast<void>(statement), doctest::Contains(words), UserError)

TEST_CASE_FIXTURE(Pointwise, "sizes that do not agree") {
  CHECK_ERROR(add(x, makeConcreteTensor({2, 4})),
              "add: sizes of corresponding axes do not agree: 3 and 4");
  CHECK_ERROR(add(x, makeConcreteTensor({2, 4})), "note: axis 1; operand 1 (T0) has shape [2, 3]");
  CHECK_ERROR(mul(x, makeConcreteTensor({2})), "mul: sizes of corresponding axes do not agree");
  CHECK_ERROR(where(makeConcreteTensor({5}, D::Bool), x, x), "where: sizes of corresponding axes");
}

TEST_CASE_FIXTURE(Pointwise, "ranks that do not agree") {
  CHECK_ERROR(ops::newOutputTV({x, makeConcreteTensor({3})}, D::Float, "mine"),
              "mine: operands have 2 and 1 axes");
}

TEST_CASE_FIXTURE(Pointwise, "operands that are none") {
  CHECK_ERROR(add(x, static_cast<Val*>(nullptr)), "add: operand 2 is null");
  CHECK_ERROR(exp(static_cast<Val*>(nullptr)), "exp: operand 1 is null");
  CHECK_ERROR(add(x, static_cast<Val*>(x->axis(0))), "is neither a tensor nor a scalar");
  CHECK_ERROR(add(x, IrBuilder::create<Val>(D::Null)), "has no data type");
  Fusion other;
  TensorView* foreign = nullptr;
  {
    FusionGuard inner(&other);
    foreign = makeConcreteTensor({2, 3});
  }
  CHECK_ERROR(add(x, foreign), "belongs to another Fusion");
}

TEST_CASE_FIXTURE(Pointwise, "dtypes that an operation does not take") {
  CHECK_ERROR(bitwise_and(x, x), "Integer or boolean input is required for bitwise_and but found");
  CHECK_ERROR(bitwise_not(x), "Integer or boolean input is required for bitwise_not but found");
  CHECK_ERROR(gcd(x, x), "gcd: input must have integral type, but got float");
  CHECK_ERROR(bitwise_left_shift(whole, number), "input must have integral type, but got double");
  CHECK_ERROR(
      nextafter(whole, whole),
      "nextafter: Promoted type must be single or double precision float but found int64_t");
  CHECK_ERROR(imag(x), "imag not supported for non-complex tensors");
  CHECK_ERROR(erf(pair), "erf: not defined for operands of type");
  CHECK_ERROR(lt(pair, pair), "lt: not defined for operands of type");
  CHECK_ERROR(frac(whole), "frac: not defined for operands of type int64_t");
  CHECK_ERROR(remainder(makeConcreteTensor({2}, D::Bool), makeConcreteTensor({2}, D::Bool)),
              "it takes integer, floating-point operands");
}

TEST_CASE_FIXTURE(Pointwise, "conditions and bounds") {
  CHECK_ERROR(where(x, x, x), "where: Condition should be of DataType Bool, not float");
  CHECK_ERROR(clamp(x, static_cast<Val*>(x), number), "clamp: min (T0) must be a scalar");
  CHECK_ERROR(threshold(x, number, static_cast<Val*>(x)), "threshold: value (T0) must be a scalar");
  CHECK_ERROR(add_alpha(x, x, static_cast<Val*>(x)), "add_alpha: alpha (T0) must be a scalar");
  CHECK_ERROR(addcmul(x, x, x, static_cast<Val*>(x)), "addcmul: value (T0) must be a scalar");
}

TEST_CASE_FIXTURE(Pointwise, "complex numbers of unlike parts") {
  CHECK_ERROR(complex(x, makeConcreteTensor({2, 3}, D::Double)), "must have the same type");
  CHECK_ERROR(complex(whole, whole), "must be of type float or double, got int64_t");
}

TEST_CASE_FIXTURE(Pointwise, "casts") {
  CHECK_ERROR(castOp(D::Null, x), "cast: the data type to cast to is missing");
  CHECK_ERROR(bitCastOp(D::Double, x), "BitCast only works for types of the same size");
}

TEST_CASE_FIXTURE(Pointwise, "calls by name") {
  CHECK_ERROR(callPointwise("frobnicate", {x}), "there is no pointwise function of this name");
  CHECK_ERROR(callPointwise("add", {x}), "add: takes 2 operands, got 1");
}
