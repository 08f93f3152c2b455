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

TEST_CASE("resized groups: windows are read in vectors where they lie so") {
  const Define rotated = [](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 3, DataType::BFloat16));
    TensorView* angle = broadcast(input(fusion, 2, DataType::Float), {true, false, false});
    Val* extent = x->axis(2)->extent();
    Val* half = SimplifyingIrBuilder::divExpr(extent, num(2));
    TensorView* turned = cat(
        {neg(slice(x, {{}, {}, {half, extent}}, true)), slice(x, {{}, {}, {num(0), half}}, true)},
        2);
    output(fusion, add(mul(x, cos(angle)), mul(turned, sin(angle))), DataType::BFloat16);
  };
  const Define joined = [](Fusion& fusion) {
    TensorView* x = input(fusion, 3, DataType::BFloat16);
    TensorView* y = input(fusion, 3, DataType::BFloat16);
    output(fusion, cat({relu(wide(x)), neg(wide(y))}, 2), DataType::BFloat16);
  };
  auto rows = [](int64_t batch, int64_t row, int64_t other) {
    return std::vector<Input>{{{batch, 40, row}, DataType::BFloat16}, {{40, other}}};
  };
  auto parts = [](int64_t batch, int64_t row, int64_t other) {
    return std::vector<Input>{{{batch, 40, row}, DataType::BFloat16},
                              {{batch, 40, other}, DataType::BFloat16}};
  };
  // The halves are multiples of 32, of 4, of 2, odd, and again of 32; no vectors for short rows.
  check(rotated,
        {rows(30, 128, 128), rows(30, 72, 72), rows(30, 68, 68), rows(30, 66, 66),
         rows(31, 128, 128), rows(2, 6, 6), rows(1, 1, 1)},
        "pointwise");
  check(joined,
        {parts(30, 128, 64), parts(30, 64, 68), parts(31, 66, 62), parts(30, 65, 63),
         parts(30, 3, 5), parts(1, 1, 1)},
        "pointwise");
  for (Device* device : testDevices()) {
    if (device->kind() == DeviceKind::Cpu) {
      continue;  // loops of vectors have no width of their own
    }
    Program wide_rows(rotated, *device);
    wide_rows.run(rows(300, 128, 128));
    CHECK(wide_rows.cache().report().find("windows by [8,") != std::string::npos);
    Program wide_parts(joined, *device);
    wide_parts.run(parts(300, 128, 64));
    CHECK(wide_parts.cache().report().find("windows by [8, 8]") != std::string::npos);
  }
}
