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
  const auto rounded = roundedResults(fusion);
  for (const TensorView* tv : {powers, total, along, shares}) {
    CHECK(rounded.count(tv) == 1);
  }
  // A difference on the way makes a small error a large one.
  CHECK(rounded.count(shifted) == 0);
  CHECK(rounded.count(x) == 0);
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
  TensorView* only = exp(x);
  fusion.addOutput(of_float);
  fusion.addOutput(castOp(DataType::BFloat16, of_float));
  fusion.addOutput(castOp(DataType::Half, of_half));
  fusion.addOutput(castOp(DataType::BFloat16, log(of_log)));
  fusion.addOutput(castOp(DataType::BFloat16, add(of_sum, x)));
  fusion.addOutput(castOp(DataType::BFloat16, sum(of_signed, {1})));
  fusion.addOutput(castOp(DataType::BFloat16, mul(only, x)));
  const auto rounded = roundedResults(fusion);
  for (const TensorView* tv : {of_float, of_half, of_log, of_sum, of_signed}) {
    CHECK(rounded.count(tv) == 0);
  }
  CHECK(rounded.count(only) == 1);
}
