// Places that are read of tensors whose axes were exchanged, beside readers of all of them.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

Val* number(double value) { return IrBuilder::create<Val>(value); }

/// Indices that an input holds: of a tensor of `count` places, one for each of `length`.
TensorView* places(int64_t count, Val* length) {
  return remainder(mul(iota(length), IrBuilder::create<Val>(int64_t{7})),
                   IrBuilder::create<Val>(count));
}

}  // namespace

TEST_CASE("reads of permuted: rows that are columns of the input, beside their sums") {
  for (const bool exact : {true, false}) {
    CAPTURE(exact);
    check(
        [exact](Fusion& fusion) {
          TensorView* x = input(fusion, 2, DataType::Float);
          TensorView* turned = mul(transpose(mul(x, number(3)), 0, 1), number(2));
          Val* rows = turned->axis(0)->extent();
          fusion.addOutput(sum(exp(sub(turned, broadcast(max(turned, {1}), {false, true}))), {1}));
          TensorView* index = broadcast(places(5, rows), {false, true});
          fusion.addOutput(exact ? takeAlongAxis(turned, index, 1) : gather(turned, 1, index));
        },
        {{{{5, 37}}}, {{{64, 200}}}}, "", 0);
  }
}

TEST_CASE("reads of permuted: three axes, by select, index select and at an index") {
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 3, DataType::Float);
        TensorView* turned = sin(permute(add(x, x), {2, 0, 1}));
        fusion.addOutput(max(turned, {0, 1, 2}));
        for (int64_t dim = 0; dim < 3; ++dim) {
          fusion.addOutput(select(turned, dim, IrBuilder::create<Val>(int64_t{3})));
          fusion.addOutput(indexSelect(turned, dim, places(4, IrBuilder::create<Val>(int64_t{6}))));
        }
      },
      {{{{4, 5, 6}}}, {{{33, 17, 40}}}}, "", 0);
}

TEST_CASE("reads of permuted: an extreme and a sum of exponentials along turned rows") {
  // One kernel, which reads the input twice along its own memory.
  check(
      [](Fusion& fusion) {
        TensorView* turned = transpose(div(input(fusion, 2, DataType::Float), number(0.07)), 0, 1);
        TensorView* most = broadcast(max(turned, {1}), {false, true});
        fusion.addOutput(sum(exp(sub(turned, most)), {1}));
      },
      {{{{2048, 33}}}, {{{7, 9}}}}, "", 0);
}
