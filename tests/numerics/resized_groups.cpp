// Slices, pads, joins and indexed reads amid other operations: one kernel, and right on each
// device.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
Val* real(double value) { return IrBuilder::create<Val>(value); }

TEST_CASE("resized groups: pads, joins and slices of each other") {
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = input(fusion, 2, DataType::Float);
        TensorView* all = cat({exp(x), neg(y), pad(sin(x), {num(2), num(1)}, real(3.0))}, 1);
        TensorView* inner = slice(tanh(all), {{}, {num(4), num(37)}}, true);
        fusion.addOutput(mul(pad(inner, {num(1), num(-2)}, real(-1.0)), real(2.0)));
      },
      {{{{9, 30}}, {{9, 12}}}, {{{1, 20}}, {{1, 31}}}}, "pointwise");
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        fusion.addOutput(softmax(pad(exp(x), {num(3), num(2)}, real(-1.0)), 1));
      },
      {{{{9, 300}}}, {{{4, 31}}}}, "inner persistent");
}

/// The second half of each row, then the first.
TensorView* swapped(TensorView* x) {
  Val* extent = x->axis(1)->extent();
  Val* half = SimplifyingIrBuilder::divExpr(extent, num(2));
  return cat({slice(x, {{}, {half, extent}}, true), slice(x, {{}, {num(0), half}}, true)}, 1);
}

TEST_CASE("resized groups: a join of rows, behind a norm of each") {
  const std::vector<std::vector<Input>> runs{{{{9, 300}}}, {{{40, 31}}}, {{{2, 4098}}}};
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = rms_norm(x, 1, nullptr, real(1e-5)).output;
        fusion.addOutput(sub(y, swapped(y)));
      },
      runs, "inner persistent");
  // Alone, its axis is not the one that is reduced: the rows are read again.
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        fusion.addOutput(swapped(rms_norm(x, 1, nullptr, real(1e-5)).output));
      },
      runs, "pointwise", 2);
}

TEST_CASE("resized groups: integers are not divided by what lies outside") {
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 1, DataType::Int);
        TensorView* y = add(abs(input(fusion, 1, DataType::Int)), num(1));
        fusion.addOutput(neg(pad(div(x, y), {num(5), num(5)})));
      },
      {{{{70}, DataType::Int}, {{70}, DataType::Int}}}, "", 0);
}

TEST_CASE("resized groups: outputs of different shapes in one kernel") {
  check(
      [](Fusion& fusion) {
        TensorView* angle = input(fusion, 2, DataType::Float);
        TensorView* factor = broadcast(cos(angle), {true, false, false});
        for (int i = 0; i < 3; ++i) {
          fusion.addOutput(mul(input(fusion, 3, DataType::Float), factor));
        }
      },
      {{{{5, 32}}, {{8, 5, 32}}, {{2, 5, 32}}, {{1, 5, 32}}},
       {{{300, 64}}, {{4, 300, 64}}, {{1, 300, 64}}, {{3, 300, 64}}},
       {{{1, 1}}, {{1, 1, 1}}, {{7, 1, 1}}, {{2, 1, 1}}}},
      "pointwise");
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::BFloat16);
        TensorView* wide = sin(castOp(DataType::Float, x));
        for (int64_t begin : {0, 3, 17}) {
          fusion.addOutput(
              castOp(DataType::BFloat16, slice(wide, {{}, {num(begin), num(begin + 13)}}, true)));
        }
      },
      {{{{9, 30}, DataType::BFloat16}}, {{{200, 64}, DataType::BFloat16}}}, "pointwise");
}

}  // namespace
