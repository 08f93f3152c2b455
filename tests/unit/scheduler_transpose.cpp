// What the transpose scheduler takes and plans, at sizes and strides of interest.
#include <doctest/doctest.h>

#include "planned.h"
#include <ops/all_ops.h>
#include <scheduler/transpose/transpose.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

std::string planned(const std::function<void(Fusion&)>& define, const Call& call) {
  return planned(transposeScheduler(), define, call);
}

std::function<void(Fusion&)> sumTurned(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 2, dtype);
    TensorView* y = input(fusion, 2, dtype);
    TensorView* sum = add(castOp(DataType::Float, x), castOp(DataType::Float, y));
    fusion.addOutput(castOp(dtype, transpose(sum, 0, 1)));
  };
}

}  // namespace

TEST_CASE("transpose scheduler: tiles and vectors follow dtype and alignment") {
  const Call large{{{8192, 8192}, {8192, 8192}}};
  const std::string bf16 = planned(sumTurned(DataType::BFloat16), large);
  has(bf16, "tile 128 x 128, V 8 and 8, threads 1024");
  has(bf16, "inputs by [8, 8], outputs by [8], turned inputs [], turned outputs [0]");
  has(planned(sumTurned(DataType::Float), large), "tile 64 x 64, V 4 and 4, threads 256");
  has(planned(sumTurned(DataType::Double), large), "tile 32 x 32, V 2 and 2, threads 64");
  // Odd extents: no vectors along that side.
  has(planned(sumTurned(DataType::BFloat16), {{{8192, 8191}, {8192, 8191}}}),
      "tile 64 x 64, V 8 and 1");
  has(planned(sumTurned(DataType::BFloat16), {{{8191, 8191}, {8191, 8191}}}),
      "tile 64 x 64, V 1 and 1");
  // A short side: the other one takes what it leaves.
  has(planned(sumTurned(DataType::Float), {{{16, 1048576}, {16, 1048576}}}),
      "tile 16 x 256, V 4 and 4");
  // Few tiles: smaller ones for more processors.
  has(planned(sumTurned(DataType::Float), {{{512, 512}, {512, 512}}}), "tile 32 x 32");
}

TEST_CASE("transpose scheduler: on the CPU tiles are lines of lanes, of long pieces of rows") {
  const Call large{{{1024, 8192}, {1024, 8192}}, true};
  has(planned(sumTurned(DataType::Float), large), "tile 16 x 64, V 1 and 1, 8 tiles a task, str");
  has(planned(sumTurned(DataType::BFloat16), large), "tile 32 x 256, V 1 and 1, 1 tiles a task");
  has(planned(sumTurned(DataType::Float), {{{64, 64}, {64, 64}}, true}), "8 tiles a task, inputs");
  has(planned(sumTurned(DataType::BFloat16), {{{64, 64}, {64, 64}}, true}), "tile 32 x 64, ");
  // Rows of the output that begin inside lines are written in longer pieces.
  has(planned(sumTurned(DataType::Float), {{{1023, 8192}, {1023, 8192}}, true}), "tile 64 x 64");
}

TEST_CASE("transpose scheduler: few bytes are turned") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* y = input(fusion, 2);
    fusion.addOutput(add(x, transpose(y, 0, 1)));
  };
  has(planned(define, {{{4096, 2048}, {2048, 4096}}}), "turned inputs [1], turned outputs []");
  // Axes that lie together count as one side; what both tensors share stays outside.
  has(planned(
          [](Fusion& fusion) { fusion.addOutput(permute(relu(input(fusion, 4)), {0, 2, 3, 1})); },
          {{{32, 64, 14, 14}}}),
      "sides of 1 and 2 axes");
  // Rows within one sector, which a warp's threads would each read again.
  has(planned([](Fusion& fusion) { fusion.addOutput(transpose(input(fusion, 2), 0, 1)); },
              {{{4096, 8}}}),
      "turned outputs [0]");
}

TEST_CASE("transpose scheduler: what gains nothing is refused, with a reason") {
  auto same = [](Fusion& fusion) { fusion.addOutput(relu(input(fusion, 2))); };
  has(planned(same, {{{64, 64}}}), "form: all tensors lie in memory along one axis");
  auto reduced = [](Fusion& fusion) {
    fusion.addOutput(sum(transpose(input(fusion, 2), 0, 1), {1}));
  };
  has(planned(reduced, {{{64, 64}}}), "is reduced");
  auto turned = [](Fusion& fusion) { fusion.addOutput(transpose(input(fusion, 2), 0, 1)); };
  has(planned(turned, {{{4, 4096}}}), "has 4 elements; a tile gains from 8 on");
  has(planned(turned, {{{64, 8}}}), "refused: without tiles, lines of");
  has(planned(turned, {{{1, 4096}}}), "refused: all tensors lie in memory along one axis");
  auto bias = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* b = input(fusion, 1);
    fusion.addOutput(add(x, broadcast(b, {false, true})));
  };
  has(planned(bias, {{{256, 256}, {256}}}), "no two tensors that have both");
  // Strides at run time decide: a transposed view of a tensor that is declared strided.
  auto strided = [](Fusion& fusion) {
    TensorView* x = makeSymbolicTensor(2);
    fusion.addInput(x);
    fusion.addOutput(relu(x));
  };
  has(planned(strided, {{{512, 512}}, false, {{512, 1}}}), "refused: all tensors lie");
  has(planned(strided, {{{512, 512}}, false, {{1, 512}}}), "turned");
}
