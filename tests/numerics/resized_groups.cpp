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

TEST_CASE(
    "resized groups: rows that are read at an index are padded by the kernel that reads them") {
  const auto padded = [](bool of_computed) {
    return [=](Fusion& fusion) {
      TensorView* x = makeContigConcreteTensor({9, 30});
      fusion.addInput(x);
      TensorView* y = input(fusion, 1, DataType::Int);
      TensorView* index = remainder(of_computed ? add(y, num(7)) : y, x->axis(0)->extent());
      TensorView* rows = mul(takeAlongAxis(x, broadcast(index, {false, true}), 0), real(2.0));
      fusion.addOutput(sin(pad(rows, {num(0), num(0), num(2), num(1)}, real(-1.0))));
    };
  };
  const std::vector<std::vector<Input>> runs{{{{9, 30}}, {{12}, DataType::Int}},
                                             {{{9, 30}}, {{1}, DataType::Int}},
                                             {{{9, 30}}, {{0}, DataType::Int}}};
  for (const bool of_computed : {false, true}) {
    check(padded(of_computed), runs, "", 1, 0);
  }
  check(  // of what may have no first row
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = input(fusion, 1, DataType::Int);
        TensorView* rows = takeAlongAxis(x, broadcast(y, {false, true}), 0);
        fusion.addOutput(pad(mul(rows, real(2.0)), {num(0), num(0), num(2), num(1)}));
      },
      {{{{0, 3}}, {{0}, DataType::Int}}}, "", 0);
}

TEST_CASE("resized groups: rows are selected by the kernel that computes their numbers") {
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = input(fusion, 1, DataType::Int);
        TensorView* index = remainder(abs(y), x->axis(0)->extent());
        fusion.addOutput(mul(indexSelect(x, 0, index), real(2.0)));
      },
      {{{{9, 30}}, {{12}, DataType::Int}},
       {{{1, 7}}, {{1}, DataType::Int}},
       {{{5, 3}}, {{0}, DataType::Int}}},
      "pointwise");
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

namespace {

/// [batch, heads, rows, numbers] as [batch, rows, heads · numbers].
TensorView* merged(TensorView* x) {
  TensorView* rows = permute(x, {0, 2, 1, 3});
  std::vector<Val*> sizes;
  for (const IterDomain* id : TensorDomain::noReductions(rows->getLogicalDomain())) {
    sizes.push_back(id->extent());
  }
  return reshape(rows, {sizes[0], sizes[1], SimplifyingIrBuilder::mulExpr(sizes[2], sizes[3])});
}

}  // namespace

TEST_CASE("resized groups: merged heads are joined in one kernel") {
  // Gradients of queries, keys and values beside each other, and those of the bias.
  auto joined = [](bool known_sizes) {
    return [=](Fusion& fusion) {
      std::vector<TensorView*> parts;
      for (int i = 0; i < 3; ++i) {
        const std::vector<int64_t> sizes =
            known_sizes ? std::vector<int64_t>{2, 4, 9, 16} : std::vector<int64_t>{-1, -1, -1, -1};
        TensorView* x =
            TensorViewBuilder().shape(sizes).dtype(DataType::BFloat16).contiguity(true).build();
        fusion.addInput(x);
        parts.push_back(x);
      }
      if (!known_sizes) {  // of one shape, which the fusion has to see
        TensorView* same = add(add(wide(parts[0]), wide(parts[1])), wide(parts[2]));
        output(fusion, same, DataType::BFloat16);
      }
      TensorView* all = cat({merged(parts[0]), merged(parts[1]), merged(parts[2])}, 2);
      output(fusion, all, DataType::BFloat16);
      output(fusion, sum(wide(all), {0, 1}), DataType::BFloat16);
    };
  };
  auto heads = [](int64_t batch, int64_t count, int64_t rows, int64_t numbers) {
    return std::vector<Input>(3, Input{{batch, count, rows, numbers}, DataType::BFloat16});
  };
  check(joined(true), {heads(2, 4, 9, 16)}, "reduction");
  check(joined(false), {heads(2, 4, 9, 16), heads(1, 3, 40, 5), heads(3, 1, 1, 1)}, "", 2);
}

TEST_CASE("resized groups: slices behind reshapes, of whole inner axes and of parts of them") {
  auto merged_rows = [](int64_t last) {
    return [=](Fusion& fusion) {
      TensorView* x =
          TensorViewBuilder().shape({-1, 6, 8}).dtype(DataType::Float).contiguity(true).build();
      fusion.addInput(x);
      TensorView* row = reshape(exp(x), {x->axis(0)->extent(), num(48)});
      fusion.addOutput(neg(slice(row, {{}, {num(8), num(last)}}, true)));
    };
  };
  const std::vector<std::vector<Input>> runs{{{{5, 6, 8}}}, {{{1, 6, 8}}}};
  check(merged_rows(32), runs, "pointwise");
  check(merged_rows(30), runs, "", 2);
  // A part of the heads that a row is cut into.
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        Val* heads = SimplifyingIrBuilder::divExpr(x->axis(1)->extent(), num(8));
        TensorView* cut = reshape(sin(x), {x->axis(0)->extent(), heads, num(8)});
        fusion.addOutput(exp(slice(cut, {{}, {num(1), num(3)}, {}}, true)));
      },
      {{{{5, 48}}}, {{{1, 24}}}}, "pointwise");
}

TEST_CASE("resized groups: one number for all elements is padded as they are") {
  // The gradient of the differences of neighbours, whose sum has one gradient for all.
  auto gradient = [](bool of_all) {
    return [=](Fusion& fusion) {
      TensorView* x = input(fusion, 2, DataType::Float);
      TensorView* of_sum = input(fusion, 0, DataType::Float);
      Val* rows = x->axis(0)->extent();
      Val* columns = SimplifyingIrBuilder::subExpr(x->axis(1)->extent(), num(1));
      TensorView* before = slice(x, {{}, {num(0), columns}}, true);
      TensorView* after = slice(x, {{}, {num(1), x->axis(1)->extent()}}, true);
      TensorView* stretched =
          neg(expand(broadcast(mul(of_sum, real(2.0)), {true, true}), {rows, columns}));
      TensorView* each = of_all ? exp(stretched) : mul(stretched, sub(after, before));
      fusion.addOutput(add(pad(each, {num(1), num(0)}), neg(pad(each, {num(0), num(1)}))));
    };
  };
  const std::vector<std::vector<Input>> runs{
      {{{9, 30}}, {{}}}, {{{1, 2}}, {{}}}, {{{40, 65}}, {{}}}};
  check(gradient(false), runs, "pointwise");
  check(gradient(true), runs, "pointwise");
}
