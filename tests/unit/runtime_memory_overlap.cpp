// Which tensors share memory with each other, and with themselves.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include <runtime/memory_overlap.h>

using namespace nvfuser;

namespace {

/// By looking at every element.
bool visitsTwice(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  std::vector<int64_t> places{0};
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    std::vector<int64_t> next;
    for (int64_t place : places) {
      for (int64_t i = 0; i < sizes[axis]; ++i) {
        next.push_back(place + i * strides[axis]);
      }
    }
    places = std::move(next);
  }
  return std::set<int64_t>(places.begin(), places.end()).size() != places.size();
}

}  // namespace

TEST_CASE("memory overlap: a tensor with itself") {
  struct Case {
    std::vector<int64_t> sizes, strides;
    bool overlaps;
  };
  for (const Case& c : std::initializer_list<Case>{
           {{}, {}, false},
           {{5}, {1}, false},
           {{5}, {0}, true},
           {{1}, {0}, false},
           {{0, 3}, {0, 0}, false},
           {{4, 3}, {3, 1}, false},
           {{4, 3}, {0, 1}, true},
           {{4, 1}, {1, 0}, false},
           {{3, 2}, {1, 1}, true},
           {{3, 2}, {2, 3}, false},
           {{3, 4}, {3, 2}, true},
           {{3, 3}, {2, 2}, true},
           {{4, 3}, {-3, 1}, false},
           {{2, 2}, {-1, 1}, true},
           {{int64_t{1} << 40, 2}, {2, 1}, false},
           {{int64_t{1} << 40, int64_t{1} << 20}, {1, 1}, true},
       }) {
    CAPTURE(c.sizes.size());
    CHECK(overlapsItself(c.sizes, c.strides) == c.overlaps);
  }
  std::mt19937 random(7);
  size_t overlapping = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<int64_t> sizes(1 + random() % 4);
    std::vector<int64_t> strides(sizes.size());
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      sizes[axis] = random() % 5;
      strides[axis] = static_cast<int64_t>(random() % 15) - 3;
    }
    const bool expected = visitsTwice(sizes, strides);
    overlapping += expected ? 1 : 0;
    REQUIRE(overlapsItself(sizes, strides) == expected);
  }
  CHECK(overlapping > 500);
  CHECK(overlapping < 2500);
}

TEST_CASE("memory overlap: tensors with each other") {
  const Tensor x = Tensor::zeros({8}, DataType::Float);
  const Tensor first = x.slice(0, 0, 4);
  const Tensor second = x.slice(0, 4, 8);
  const Tensor middle = x.slice(0, 3, 5);
  const Tensor other = Tensor::zeros({8}, DataType::Float);
  const Tensor none = Tensor::zeros({0}, DataType::Float);
  CHECK_FALSE(rangesMeet(first, second));
  CHECK(rangesMeet(first, middle));
  CHECK(rangesMeet(middle, second));
  CHECK_FALSE(rangesMeet(x, other));
  CHECK_FALSE(rangesMeet(none, none));
  // In each other's gaps.
  CHECK(rangesMeet(x.slice(0, 0, 8, 2), x.slice(0, 1, 8, 2)));
  // Backwards.
  const TensorRef backwards{static_cast<std::byte*>(second.data()), DataType::Float, {3}, {-1}};
  CHECK(rangesMeet(Tensor::fromRef(backwards, cpuDevice()), first));

  const OccupiedMemory apart(std::vector{&first, &second, &other, &none});
  CHECK(apart.tensorsAt(first) == 1);
  CHECK(apart.tensorsAt(middle) == 2);
  CHECK(apart.tensorsAt(other) == 1);
  CHECK(apart.tensorsAt(none) == 0);
  CHECK(apart.tensorsAt(Tensor::zeros({3}, DataType::Float)) == 0);
  const OccupiedMemory joined(KernelArgumentHolder(second, 3.0, middle, first));
  CHECK(joined.tensorsAt(first) == 3);
  CHECK(OccupiedMemory(std::vector<const Tensor*>{nullptr}).tensorsAt(first) == 0);
}
