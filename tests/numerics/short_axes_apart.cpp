// Short innermost axes that tensors do not share: on the CPU they have a loop around those of
// vectors.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

/// [i0, of known elements]
TensorView* points(Fusion& fusion, int64_t elements, DataType dtype) {
  TensorView* tv = TensorViewBuilder()
                       .shape(std::vector<int64_t>{-1, elements})
                       .dtype(dtype)
                       .contiguity(true)
                       .build();
  fusion.addInput(tv);
  return wide(tv);
}

bool isApart(const Define& define, const std::vector<Input>& inputs) {
  Program program(define, cpuDevice());
  program.run(inputs);
  return program.cache().report().find("innermost axis apart") != std::string::npos;
}

}  // namespace

TEST_CASE("short axes apart: what is joined along them, and what has only some of the axes") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    for (int64_t elements : {2, 3, 4}) {
      CAPTURE(dtype);
      CAPTURE(elements);
      const Define joined = [=](Fusion& fusion) {
        TensorView* x = wide(input(fusion, 1, dtype));
        TensorView* y = wide(input(fusion, 1, dtype));
        std::vector<TensorView*> parts;
        for (int64_t i = 0; i < elements; ++i) {
          x = add(mul(x, y), y);
          parts.push_back(broadcast(x, {false, true}));
        }
        output(fusion, cat(parts, 1), dtype);
      };
      const Define scaled = [=](Fusion& fusion) {
        TensorView* x = points(fusion, elements, dtype);
        TensorView* of_row = broadcast(wide(input(fusion, 1, dtype)), {false, true});
        TensorView* of_column = broadcast(wide(input(fusion, 1, dtype)), {true, false});
        output(fusion, add(mul(x, of_row), of_column), dtype);
      };
      std::vector<std::vector<Input>> of_joined;
      std::vector<std::vector<Input>> of_scaled;
      for (int64_t rows : {1, 7, 16, 2048, 5001}) {
        of_joined.push_back({{{rows}, dtype}, {{rows}, dtype}});
        of_scaled.push_back({{{rows, elements}, dtype}, {{rows}, dtype}, {{elements}, dtype}});
      }
      check(joined, of_joined, "pointwise");
      check(scaled, of_scaled, "pointwise");
      CHECK(isApart(joined, of_joined.back()));
      CHECK(isApart(scaled, of_scaled.back()));
    }
  }
}

TEST_CASE("short axes apart: not where all tensors have them, or they are longer") {
  const Define dense = [](Fusion& fusion) {
    fusion.addOutput(add(points(fusion, 3, DataType::Float), points(fusion, 3, DataType::Float)));
  };
  const Define longer = [](Fusion& fusion) {
    TensorView* x = points(fusion, 5, DataType::Float);
    fusion.addOutput(mul(x, broadcast(input(fusion, 1, DataType::Float), {false, true})));
  };
  CHECK(!isApart(dense, {{{900, 3}}, {{900, 3}}}));
  CHECK(!isApart(longer, {{{900, 5}}, {{900}}}));
}

TEST_CASE("short axes apart: longer ones where what is joined along them is costly") {
  const auto joined = [](bool costly) {
    return [=](Fusion& fusion) {
      TensorView* x = points(fusion, 3, DataType::Float);
      TensorView* mask = gt(x, IrBuilder::create<Val>(0.25));
      std::vector<TensorView*> parts{where(mask, sin(x), x)};
      for (int64_t k = 1; k < 4; ++k) {
        x = mul(x, IrBuilder::create<Val>(1.5));
        parts.push_back(costly ? sin(x) : neg(x));
        parts.push_back(costly ? cos(x) : abs(x));
      }
      output(fusion, cat(parts, 1), DataType::Float);
    };
  };
  std::vector<std::vector<Input>> inputs;
  for (int64_t rows : {1, 7, 16, 2048, 5001}) {
    inputs.push_back({{{rows, 3}}});
  }
  for (bool costly : {true, false}) {
    CAPTURE(costly);
    check(joined(costly), inputs, "pointwise");
    CHECK(isApart(joined(costly), inputs.back()) == costly);
  }
}

TEST_CASE("short axes apart: longer ones where each of the parts is narrow") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    for (int64_t parts : {5, 9, 16}) {
      CAPTURE(dtype);
      CAPTURE(parts);
      const auto stacked = [=](bool narrow) {
        return [=](Fusion& fusion) {
          TensorView* x = wide(input(fusion, 1, dtype));
          TensorView* y = wide(input(fusion, 1, dtype));
          std::vector<TensorView*> all;
          for (int64_t i = 0; i < parts; ++i) {
            x = add(mul(x, y), y);
            all.push_back(broadcast(x, {false, true}));
          }
          if (!narrow) {  // a run of each is a vector
            all = {points(fusion, 8, dtype), points(fusion, 8, dtype), points(fusion, 8, dtype)};
          }
          output(fusion, cat(all, 1), dtype);
        };
      };
      std::vector<std::vector<Input>> inputs;
      for (int64_t rows : {1, 7, 16, 2048, 5001}) {
        inputs.push_back({{{rows}, dtype}, {{rows}, dtype}});
      }
      check(stacked(true), inputs, "pointwise");
      CHECK(isApart(stacked(true), inputs.back()));
      const Input wide_part = {{5001, 8}, dtype};
      CHECK(!isApart(stacked(false),
                     {{{5001}, dtype}, {{5001}, dtype}, wide_part, wide_part, wide_part}));
    }
  }
}

TEST_CASE("short axes apart: between outer axes with a cut, several outputs, turned memory") {
  const Define planes = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    TensorView* row = broadcast(input(fusion, 1, DataType::Float), {true, false});
    TensorView* joined =
        cat({broadcast(mul(x, row), {false, false, true}), broadcast(x, {false, false, true})}, 2);
    fusion.addOutput(joined);
    fusion.addOutput(neg(joined));
    fusion.addOutput(transpose(joined, 1, 2));
  };
  check(planes, {{{{5, 7}}, {{7}}}, {{{63, 130}}, {{130}}}, {{{1, 1}}, {{1}}}}, "");
}
