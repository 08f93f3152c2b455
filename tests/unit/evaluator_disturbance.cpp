// What four disturbances of a Fusion show: every result that roundings, or another order, may give.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "op_fixture.h"
#include <evaluator/interpreter.h>
#include <ops/arith.h>

namespace nvfuser {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Disturbances : OpFixture {
  std::vector<HostTensor> owned;
  std::vector<InterpreterInput> inputs;

  TensorView* numbers(const std::vector<double>& values, DataType dtype = DataType::Float) {
    const auto size = static_cast<int64_t>(values.size());
    HostTensor host(dtype, {size});
    for (int64_t i = 0; i < size; ++i) {
      host.setDouble(i, values[static_cast<size_t>(i)]);
    }
    owned.push_back(host);
    inputs.emplace_back(owned.back().ref());
    return constant({size}, dtype);
  }

  double exactly(TensorView* out) {
    fusion.addOutput(out);
    return interpret(fusion, inputs).back().getDouble(0);
  }
  /// The first element of the last output.
  std::vector<double> disturbed() {
    InterpreterOptions options{.rounding = Rounding::Disturbed};
    std::vector<double> all;
    for (options.disturbance = 0; options.disturbance < 4; ++options.disturbance) {
      all.push_back(interpret(fusion, inputs, options).back().getDouble(0));
    }
    return all;
  }
  template <typename Is>
  bool comesToAny(const Is& is) {
    return std::ranges::any_of(disturbed(), is);
  }
  bool comesTo(double number) {
    return comesToAny([&](double x) { return x == number; });
  }
  /// x · (1/3), whose last digits a Float does not have.
  TensorView* third(double x) { return mul(numbers({x}), real(1.0 / 3)); }
};

TEST_CASE_FIXTURE(Disturbances, "a number beside a jump lies on either side") {
  CHECK(exactly(floor(third(-3))) == -2);  // −1 − 2⁻²⁵
  CHECK(comesTo(-1));
  CHECK(exactly(castOp(DataType::Int, third(3))) == 1);
  CHECK(comesTo(0));
}

TEST_CASE_FIXTURE(Disturbances, "an integer of more digits than the number has may be any") {
  // 2³²/3, beside which Float has multiples of 128: the lowest eight digits tell nothing.
  TensorView* x = castOp(DataType::Float, castOp(DataType::Double, third(0x1p32)));
  CHECK(exactly(castOp(DataType::Byte, x)) == 128);
  CHECK(comesTo(0));
  CHECK(comesTo(255));
  CHECK(exactly(castOp(DataType::Char, x)) == -128);
  CHECK(comesTo(127));
  CHECK(exactly(castOp(DataType::Byte, numbers({0x1p30}))) == 0);  // what is given is exact
  CHECK(disturbed() == std::vector<double>(4, 0));
}

TEST_CASE_FIXTURE(Disturbances, "of a complex number the real part is beside a jump by its size") {
  // 5 · (1.0007/5 + 614.4i): four roundings of 3072 above 1
  Val* factor = IrBuilder::create<Val>(std::complex<double>(1.0007 / 5, 614.4));
  TensorView* z = mul(numbers({5}, DataType::ComplexFloat), factor);
  CHECK(exactly(castOp(DataType::Int, z)) == 1);
  CHECK(comesTo(0));
}

TEST_CASE_FIXTURE(Disturbances, "a number that is exact stays on its side of a jump") {
  CHECK(exactly(floor(add(numbers({-3}), real(2)))) == -1);
  CHECK(disturbed() == std::vector<double>(4, -1));
}

TEST_CASE_FIXTURE(Disturbances, "a number beside a pole, a zero or the end of a domain meets it") {
  CHECK(std::isfinite(exactly(lgamma(third(-3)))));
  CHECK(comesTo(kInfinity));
  CHECK(exactly(log(third(3))) != 0);
  CHECK(comesTo(0));
  CHECK(std::isnan(exactly(acos(third(3)))));
  CHECK(comesTo(0));
}

TEST_CASE_FIXTURE(Disturbances,
                  "beside a root, terms of a function that cancel are what is rounded") {
  // lgamma is 0 at −2.4570247…: a device that subtracts logarithms is off by roundings of these.
  const double x = -2.453125;  // of a few digits, so x itself is exact
  const double unit = 0x1p-24;
  const double exact = exactly(lgamma(numbers({x})));
  CHECK(std::abs(exact) < 0.02);
  const std::vector<double> moved = disturbed();
  CHECK(moved[0] + moved[1] == doctest::Approx(2 * exact));
  CHECK(std::abs(moved[0] - exact) == doctest::Approx(unit * std::abs(x)));
  // Where no roots are, by its own.
  const double above = exactly(lgamma(numbers({-0.3})));
  CHECK(std::abs(disturbed()[0] - above) == doctest::Approx(unit * std::abs(above)));
  const double below = exactly(lgamma(numbers({-10.25})));
  CHECK(std::abs(disturbed()[0] - below) == doctest::Approx(unit * std::abs(below)));
}

TEST_CASE_FIXTURE(Disturbances, "a number beside a multiple of a divisor has any remainder there") {
  CHECK(exactly(remainder(third(-3), numbers({0.5}))) > 0.4);
  CHECK(comesTo(0));
  CHECK(comesToAny([](double x) { return x > 0 && x < 1e-6; }));
  CHECK(exactly(fmod(third(-3), numbers({0.5}))) < 0);
  CHECK(comesTo(0));
  CHECK(comesToAny([](double x) { return x < -0.4; }));
}

TEST_CASE_FIXTURE(Disturbances, "a remainder of many times the divisor may be any") {
  exactly(cos(remainder(third(1e8), numbers({1.5}))));
  CHECK(comesToAny([](double x) { return isUndetermined(x); }));
  exactly(remainder(numbers({1e8}), numbers({1.5})));  // exact
  CHECK_FALSE(comesToAny([](double x) { return isUndetermined(x); }));
}

TEST_CASE_FIXTURE(Disturbances, "a sum whose digits are lost has either sign, or may be any") {
  TensorView* total = sum(numbers({0x1p63, 2, -4, -0x1p63}), {0});
  CHECK(exactly(total) == -2);
  CHECK(comesToAny([](double x) { return isUndetermined(x); }));
  CHECK(comesToAny([](double x) { return x > 0; }));
  CHECK(comesToAny([](double x) { return x < 0; }));
  CHECK(exactly(eq(total, numbers({5}))) == 0);
  CHECK(comesTo(1));
}
TEST_CASE_FIXTURE(Disturbances, "a number that may be any is zero for all operations or for none") {
  TensorView* total = sum(numbers({0x1p63, 2, -4, -0x1p63}), {0});
  const auto isNotZero = [&] { return castOp(DataType::Bool, total); };
  CHECK(exactly(logical_or(logical_or(isNotZero(), isNotZero()), isNotZero())) == 1);
  CHECK(comesTo(0));
}

TEST_CASE_FIXTURE(Disturbances,
                  "a sum that is exact in every order is not moved, one of some orders is") {
  // (2³¹ − 2³¹) + 8 is 8; (2³¹ + 8) − 2³¹ is 0, as Float has no 2³¹ + 8.
  const auto total = [&](const std::vector<double>& values) {
    fusion.addOutput(sum(numbers(values), {0}));
    return disturbed();
  };
  CHECK(total({1000, -1000, 8}) == std::vector<double>(4, 8));
  CHECK(total({0x1p31, -0x1p31, 8}) != std::vector<double>(4, 8));
}

TEST_CASE_FIXTURE(Disturbances, "a number beside a short one may be rounded to it") {
  TensorView* near_one = third(3);
  CHECK(exactly(eq(near_one, numbers({1}))) == 0);  // 1 + 2⁻²⁵
  CHECK(comesTo(1));
  CHECK(exactly(eq(near_one, numbers({1 - 0x1p-20}))) == 0);
  CHECK(!comesTo(1));
}

TEST_CASE_FIXTURE(Disturbances, "what is compared with a product of some order may be either") {
  // v ≤ v′, two products that may be infinite, or not, each by its order.
  const double greatest = std::numeric_limits<float>::max();
  TensorView* left = prod(numbers({-2, greatest, 0.25}), {0});
  TensorView* right = prod(numbers({-2, greatest, 0.125}), {0});
  CHECK(exactly(le(right, left)) == 0);
  CHECK(comesTo(1));
  CHECK(comesTo(0));
  CHECK(exactly(le(castOp(DataType::BFloat16, right), castOp(DataType::BFloat16, left))) == 0);
  CHECK(comesTo(1));
}

TEST_CASE_FIXTURE(Disturbances, "x times its sigmoid vanishes where that is no normal number") {
  CHECK(exactly(floor(silu(numbers({-90})))) == -1);
  CHECK(comesTo(0));
  CHECK(exactly(floor(silu(numbers({-80})))) == -1);
  CHECK_FALSE(comesTo(0));
}

TEST_CASE_FIXTURE(Disturbances, "a product with a power of two is not rounded") {
  TensorView* b = numbers({std::numeric_limits<double>::max()}, DataType::Double);
  CHECK(exactly(mul(b, real(1))) == std::numeric_limits<double>::max());
  CHECK(disturbed() == std::vector<double>(4, std::numeric_limits<double>::max()));
}

TEST_CASE_FIXTURE(Disturbances, "a product is one number, whoever reads it") {
  // Added before it is rounded, it would be no infinity, and 0 would be what rounding took.
  TensorView* a = numbers({1.03}, DataType::Double);
  TensorView* b = numbers({std::numeric_limits<double>::max()}, DataType::Double);
  CHECK(std::isnan(exactly(add(numbers({-kInfinity}, DataType::Double), mul(a, b)))));
  CHECK_FALSE(comesTo(-kInfinity));
  TensorView* product = mul(third(1e6), third(7));
  CHECK(exactly(sub(product, max(product, {0}))) == 0);
  CHECK(disturbed() == std::vector<double>(4, 0));
}

}  // namespace
}  // namespace nvfuser
