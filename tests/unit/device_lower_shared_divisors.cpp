// Which quotients have a divisor whose reciprocal is worth computing.
#include <doctest/doctest.h>

#include <device_lower/shared_divisors.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

TensorView* matrix(Fusion& fusion) {
  TensorView* x = makeContigTensor(2, DataType::Float);
  fusion.addInput(x);
  return x;
}

Val* number(double value) { return IrBuilder::create<Val>(value); }

}  // namespace

TEST_CASE("shared divisors: constants, numbers of rows, and what several are divided by") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = matrix(fusion);
  TensorView* y = matrix(fusion);
  TensorView* z = matrix(fusion);
  TensorView* by_constant = div(x, number(255));
  TensorView* by_power = div(x, number(-0.25));
  TensorView* by_row = div(x, broadcast(sum(x, {1}), {false, true}));
  TensorView* by_other = div(x, y);
  TensorView* first = div(x, z);
  TensorView* second = div(y, set(z));
  for (TensorView* tv : {by_constant, by_power, by_row, by_other, first, second}) {
    fusion.addOutput(tv);
  }
  const auto found = quotientsByShared(fusion);
  CHECK(found.size() == 4);
  for (const TensorView* tv : {by_constant, by_row, first, second}) {
    CHECK(found.count(tv) == 1);
  }
}
