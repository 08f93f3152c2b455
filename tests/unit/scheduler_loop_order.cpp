// Whose order in memory the loops of a GPU follow, and where threads of a row would be idle.
#include <doctest/doctest.h>

#include "planned.h"
#include <ops/all_ops.h>
#include <scheduler/pointwise/pointwise.h>
#include <scheduler/reduction/reduction.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, const std::vector<int64_t>& shape,
                  DataType dtype = DataType::Float) {
  TensorView* tv = makeContigConcreteTensor(shape, dtype);
  fusion.addInput(tv);
  return tv;
}

}  // namespace

TEST_CASE("loop order: a short axis that is moved innermost is stored side by side") {
  // Stored in the input's order, each number of four bytes would be one of a sector of 32.
  const std::string plan = planned(pointwiseScheduler(),
                                   [](Fusion& fusion) {
                                     TensorView* x = input(fusion, {-1, 8, 2048});
                                     TensorView* moved = permute(mul(x, x), {0, 2, 1});
                                     fusion.addOutput(moved);
                                   },
                                   {{{1024, 8, 2048}}});
  has(plan, "order [0, 1, 2]");
  has(plan, "outputs by [4]");
}

TEST_CASE("loop order: what is read in short steps does not make them narrow") {
  // A picture of three channels that lie together, one of its axes backwards.
  const std::string plan =
      planned(pointwiseScheduler(),
              [](Fusion& fusion) {
                TensorView* x = input(fusion, {64, 128, 128, 3}, DataType::Byte);
                TensorView* back = flip(x, {2});
                fusion.addOutput(add(castOp(DataType::Float, x), castOp(DataType::Float, back)));
              },
              {{{64, 128, 128, 3}}});
  has(plan, "V 4");
}

TEST_CASE("rows: no thread is idle where fewer of them go through the same vectors") {
  const auto rows_of = [](int64_t length) {
    return planned(reductionScheduler(),
                   [](Fusion& fusion) { fusion.addOutput(sum(exp(input(fusion, {-1, -1})), {1})); },
                   {{{1 << 16, length}}});
  };
  has(rows_of(192), "threads x 16");
  has(rows_of(256), "threads x 32");
  has(rows_of(4096), "threads x 512");
}

TEST_CASE("rows: what all columns read alike is not turned") {
  // Counts of classes in each row: the labels have rows and what is added up, but no columns.
  const std::string plan = planned(reductionScheduler(),
                                   [](Fusion& fusion) {
                                     TensorView* labels = input(fusion, {-1, -1}, DataType::Int);
                                     TensorView* classes = input(fusion, {16}, DataType::Int);
                                     TensorView* is_one =
                                         eq(broadcast(labels, {false, false, true}),
                                            broadcast(classes, {true, true, false}));
                                     fusion.addOutput(sum(castOp(DataType::Float, is_one), {1}));
                                   },
                                   {{{2048, 2048}, {16}}});
  has(plan, "outer 3-D");
}

TEST_CASE("rows: what all rows read of columns is held in few registers") {
  // Distances of points: three coordinates of the other point, and its mass.
  const std::string plan =
      planned(reductionScheduler(),
              [](Fusion& fusion) {
                TensorView* squares = nullptr;
                for (int64_t k = 0; k < 3; ++k) {
                  TensorView* apart = sub(broadcast(input(fusion, {-1}), {false, true}),
                                          broadcast(input(fusion, {-1}), {true, false}));
                  squares = k == 0 ? mul(apart, apart) : add(squares, mul(apart, apart));
                }
                TensorView* mass = broadcast(input(fusion, {-1}), {true, false});
                fusion.addOutput(sum(div(mass, sqrt(squares)), {1}));
              },
              {std::vector<std::vector<int64_t>>(7, {16384})});
  has(plan, "V 4, unroll 1");
}

TEST_CASE("rows of a thread: columns that lack one of the merged axes are computed for each") {
  // Weights of y and of x, and a place in a plane, for all planes.
  const std::string plan =
      planned(pointwiseScheduler(),
              [](Fusion& fusion) {
                TensorView* planes = input(fusion, {1024, 256, 256});
                TensorView* of_y = broadcast(input(fusion, {256}), {true, false, true});
                TensorView* of_x = broadcast(input(fusion, {256}), {true, true, false});
                TensorView* both = sin(exp(tanh(add(of_y, cos(of_x)))));
                fusion.addOutput(mul(add(planes, both), of_x));
              },
              {{{1024, 256, 256}, {256}, {256}}});
  has(plan, "rows 8");
}

TEST_CASE("reduction scheduler: planes of few columns share a block, and few elements a thread") {
  const auto plannedOf = [](std::vector<int64_t> sizes) {
    return planned(
        reductionScheduler(),
        [&](Fusion& fusion) {
          TensorView* x = makeContigConcreteTensor(sizes);
          fusion.addInput(x);
          fusion.addOutput(sum(x, {1}));
        },
        Call{{sizes}});
  };
  const std::string points = plannedOf({1 << 20, 3, 2});
  has(points, "threads x 1, threads y 1, rows 256");
  has(points, "bind planes of a block threadIdx.x");  // threadIdx.z has 64 at most
  const std::string taps = plannedOf({1 << 16, 16, 4});
  has(taps, "threads y 16, rows 16");
  has(plannedOf({1 << 16, 2, 8}), "rows 64");
  CHECK(plannedOf({64, 1024, 4096}).find("rows") == std::string::npos);
}

TEST_CASE("reduction scheduler: no threads share what is computed of shorter inputs") {
  const std::string plan =
      planned(reductionScheduler(),
              [](Fusion& fusion) {
                TensorView* taps = broadcast(input(fusion, {25}), {false, true});
                TensorView* x = broadcast(input(fusion, {1 << 20}), {true, false});
                fusion.addOutput(sum(exp(mul(taps, x)), {0}));
              },
              {{{25}, {1 << 20}}});
  has(plan, "threads y 1");
}
