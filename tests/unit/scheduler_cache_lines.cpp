// How many elements a thread of a GPU has side by side where reads are no vectors.
#include <doctest/doctest.h>

#include "planned.h"
#include <ops/all_ops.h>
#include <scheduler/pointwise/pointwise.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, const std::vector<int64_t>& shape) {
  TensorView* tv = makeContigConcreteTensor(shape);
  fusion.addInput(tv);
  return tv;
}

Val* place(int64_t k) { return IrBuilder::create<Val>(k); }

std::string plannedPointwise(const std::function<void(Fusion&)>& define, const Call& call) {
  return planned(pointwiseScheduler(), define, call);
}

/// The sum of `count` places along rows of four.
std::function<void(Fusion&)> sumOfPlaces(int64_t count) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, {-1, 4});
    TensorView* sum = select(x, 1, place(0));
    for (int64_t k = 1; k < count; ++k) {
      sum = add(sum, select(x, 1, place(k)));
    }
    fusion.addOutput(sum);
  };
}

/// The sum of `count` windows of rows of so many elements, each one element further.
std::function<void(Fusion&)> sumOfWindows(int64_t count, int64_t row = 16448) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, {512, row});
    TensorView* sum = nullptr;
    for (int64_t k = 0; k < count; ++k) {
      TensorView* window = slice(x, {0, k}, {512, 16384 + k});
      sum = sum == nullptr ? window : add(sum, window);
    }
    fusion.addOutput(sum);
  };
}

}  // namespace

TEST_CASE("cache lines: places of short rows that are read one by one") {
  const Call call{{{1 << 22, 4}}};
  has(plannedPointwise(sumOfPlaces(1), call), "V 4, ");
  has(plannedPointwise(sumOfPlaces(4), call), "V 2, ");
  // What all rows read again is in the cache, whose lines are all that counts.
  const std::string pairs = plannedPointwise(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, {-1});
        TensorView* y = input(fusion, {-1, 4});
        TensorView* result = broadcast(x, {false, true});
        for (int64_t k = 0; k < 4; ++k) {
          result = mul(result, broadcast(select(y, 1, place(k)), {true, false}));
        }
        fusion.addOutput(result);
      },
      {{{32768}, {128, 4}}});
  has(pairs, "V 1, ");
}

TEST_CASE("cache lines: windows that begin at any element") {
  has(plannedPointwise(sumOfWindows(3), {{{512, 16448}}}), "V 4, ");
  has(plannedPointwise(sumOfWindows(16), {{{512, 16448}}}), "V 1, ");
  // Rows without vectors: each element is read once for all windows that have it.
  has(plannedPointwise(sumOfWindows(16, 16449), {{{512, 16449}}}), "V 2, ");
  // Of rows of their own, and pads, which ask for each element whether it is there.
  has(plannedPointwise(
          [](Fusion& fusion) {
            TensorView* x = input(fusion, {512, 16384});
            TensorView* sum = nullptr;
            for (int64_t k = 0; k < 16; ++k) {
              TensorView* shifted = pad(x, {place(16 - k), place(k)});
              sum = sum == nullptr ? shifted : add(sum, shifted);
            }
            fusion.addOutput(sum);
          },
          {{{512, 16384}}}),
      "V 1, ");
}

TEST_CASE("cache lines: of a join each element reads its own part") {
  const std::string joined = plannedPointwise(
      [](Fusion& fusion) {
        std::vector<TensorView*> parts;
        for (int64_t k = 0; k < 6; ++k) {
          parts.push_back(input(fusion, {64, 3, 4096}));
        }
        fusion.addOutput(cat(parts, 1));
      },
      {std::vector<std::vector<int64_t>>(6, {64, 3, 4096})});
  has(joined, "V 4, ");
}

TEST_CASE("cache lines: what repeats within a warp is in few of them") {
  const std::string repeated = plannedPointwise(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, {128, 2, 3});
        TensorView* y = input(fusion, {128, 65536, 2});
        TensorView* result = y;
        for (int64_t k = 0; k < 3; ++k) {
          result = add(result, broadcast(select(x, 2, place(k)), {false, true, false}));
        }
        fusion.addOutput(result);
      },
      {{{128, 2, 3}, {128, 65536, 2}}});
  has(repeated, "V 4, ");
}
