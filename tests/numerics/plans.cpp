// Fusions whose plans once failed when they were carried out, so that other kernels stood in for
// theirs. A plan that fails is an error here (automatic.h).
#include <limits>

#include "automatic.h"

using namespace nvfuser;
using automatic::input;

TEST_CASE("plans: a short row is read element by element where rows are merged with it") {
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* row = input(fusion, 1, DataType::Float);
        fusion.addOutput(mul(x, broadcast(row, {true, false})));
      },
      {{{{3000, 8}}, {{8}}}, {{{7, 24}}, {{24}}}, {{{1, 1}}, {{1}}}});
}

TEST_CASE("plans: what is repeated shares the loops over its repetitions") {
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 3, DataType::Float);
        TensorView* y = input(fusion, 3, DataType::Float);
        fusion.addOutput(ge(repeat(x, {3, 1, 1}), y));
      },
      {{{{2, 5, 7}}, {{6, 5, 7}}}, {{{1, 3, 4}}, {{3, 3, 4}}}});
}

TEST_CASE("plans: a flattened operand of one row shares the loops over rows") {
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* y = input(fusion, 2, DataType::Float);
        TensorView* flat = flatten(y);
        fusion.addOutput(add(x, broadcast(mul(flat, flat), {true, false})));
      },
      {{{{1, 1008}}, {{1, 1008}}}, {{{3, 1008}}, {{8, 126}}}}, "", 0);
}

TEST_CASE("plans: vectors and lanes stand before a broadcast axis at the end") {
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* sums = sum(x, {0});
        fusion.addOutput(broadcast(add(sums, IrBuilder::create<Val>(1.0)), {false, true}));
      },
      {{{{61, 8}}}, {{{500, 64}}}}, "", 0);
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 1, DataType::Double);
        TensorView* twice = expand(broadcast(x, {false, true}),
                                   {x->axis(0)->extent(), IrBuilder::create<Val>(int64_t{2})});
        fusion.addOutput(max(x, {0}, true));
        fusion.addOutput(sum(twice, {0}, true));
      },
      {{{{63}, DataType::Double}}, {{{5000}, DataType::Double}}}, "", 0);
}

TEST_CASE("plans: vectors divide each extent that an index is divided by") {
  // The rows of x lie one behind the other, but not in the order of the loops.
  automatic::check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 4, DataType::Float);
        TensorView* y = input(fusion, 4, DataType::Float);
        fusion.addOutput(add(permute(x, {1, 0, 2, 3}), y));
      },
      {{{{5, 6, 7, 62}}, {{6, 5, 7, 62}}},
       {{{5, 6, 8, 64}}, {{6, 5, 8, 64}}},
       {{{5, 6, 1, 64}}, {{6, 5, 1, 64}}}},
      "", 0);
}

TEST_CASE("plans: an axis expanded to nothing leaves the neutral element") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(
        [](Fusion& fusion) {
          TensorView* x = TensorViewBuilder()
                              .ndims(2)
                              .dtype(DataType::Float)
                              .shape(std::vector<int64_t>{-1, -1})
                              .expanded({false, true})
                              .contiguity({true, std::nullopt})
                              .build();
          fusion.addInput(x);
          fusion.addOutput(max(x, {1}));
          fusion.addOutput(min(neg(x), {1}));
          fusion.addOutput(sum(div(x, IrBuilder::create<Val>(0.0)), {1}));
        },
        *device);
    for (int64_t columns : {0, 3}) {
      KernelArgumentHolder arguments;
      arguments.push(
          Tensor::randn({5, 1}, DataType::Float, 1, *device).asStrided({5, columns}, {1, 0}, 0));
      program.run(arguments);
      const HostTensor most =
          program.cache().runFusionWithInputs(arguments)[0].tensor().toHostTensor();
      if (columns == 0) {
        CHECK(most.getDouble(4) == -std::numeric_limits<double>::infinity());
      }
    }
  }
}
