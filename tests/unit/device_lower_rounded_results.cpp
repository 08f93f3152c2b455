// Which values are rounded to bfloat16 before anybody sees their last digits.
#include <doctest/doctest.h>

#include <device_lower/rounded_results.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

/// A matrix in Float, from bfloat16.
TensorView* wide(Fusion& fusion) {
  TensorView* x = makeContigTensor(2, DataType::BFloat16);
  fusion.addInput(x);
  return castOp(DataType::Float, x);
}

}  // namespace

TEST_CASE("rounded results: a softmax in bfloat16 from its exponentials on") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = wide(fusion);
  TensorView* shifted = sub(x, broadcast(max(x, {1}), {false, true}));
  TensorView* powers = exp(shifted);
  TensorView* total = sum(powers, {1});
  TensorView* along = broadcast(total, {false, true});
  TensorView* shares = div(powers, along);
  fusion.addOutput(castOp(DataType::BFloat16, shares));
  const auto digits = digitsShown(fusion);
  for (const TensorView* tv : {powers, total, along, shares}) {
    REQUIRE(digits.count(tv) == 1);
    CHECK(digits.at(tv) == 8);
  }
  // A difference on the way makes a small error a large one.
  CHECK(digits.count(shifted) == 0);
  CHECK(digits.count(x) == 0);
}

TEST_CASE("rounded results: all readers have to round") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = wide(fusion);
  TensorView* of_float = exp(x);
  TensorView* of_half = exp(x);
  TensorView* of_log = exp(x);
  TensorView* of_sum = exp(x);
  TensorView* of_signed = neg(exp(x));
  TensorView* of_both = exp(x);
  TensorView* only = exp(x);
  fusion.addOutput(of_float);
  fusion.addOutput(castOp(DataType::BFloat16, of_float));
  fusion.addOutput(castOp(DataType::Half, of_half));
  fusion.addOutput(castOp(DataType::BFloat16, log(of_log)));
  fusion.addOutput(castOp(DataType::BFloat16, add(of_sum, x)));
  fusion.addOutput(castOp(DataType::BFloat16, sum(of_signed, {1})));
  fusion.addOutput(castOp(DataType::BFloat16, mul(only, x)));
  fusion.addOutput(castOp(DataType::BFloat16, of_both));
  fusion.addOutput(castOp(DataType::Half, of_both));
  const auto digits = digitsShown(fusion);
  for (const TensorView* tv : {of_float, of_log, of_sum, of_signed}) {
    CHECK(digits.count(tv) == 0);
  }
  REQUIRE(digits.count(of_half) == 1);
  CHECK(digits.at(of_half) == 11);
  REQUIRE(digits.count(of_both) == 1);
  CHECK(digits.at(of_both) == 11);
  REQUIRE(digits.count(only) == 1);
  CHECK(digits.at(only) == 8);
}
