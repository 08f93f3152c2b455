// Products with scales and of groups through FusionExecutorCache, on the CPU and on emulated CUDA,
// against the reference.
#include <doctest/doctest.h>

#include <numerics/automatic.h>

using namespace nvfuser;

namespace {

using Sizes = std::vector<int64_t>;
using Define = std::function<TensorView*(const std::vector<TensorView*>&)>;

constexpr DataType kE4M3 = DataType::Float8_e4m3fn;
constexpr DataType kE5M2 = DataType::Float8_e5m2;

/// Constant sizes where they are 1, symbols elsewhere.
void check(const std::vector<Tensor>& operands, const Define& define) {
  std::string what;
  for (const Tensor& one : operands) {
    what += text("[", join(one.sizes(), ", "), "] ", one.dtype(), " ");
  }
  CAPTURE(what);
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    KernelArgumentHolder arguments;
    {
      FusionGuard guard(fusion.get());
      std::vector<TensorView*> tensors;
      for (const Tensor& one : operands) {
        Sizes shape;
        for (int64_t size : one.sizes()) {
          shape.push_back(size == 1 ? 1 : -1);
        }
        tensors.push_back(TensorViewBuilder()
                              .shape(shape)
                              .dtype(one.dtype())
                              .contiguity(one.isContiguous())
                              .build());
        fusion->addInput(tensors.back());
        arguments.push(one.copyTo(*device));
      }
      fusion->addOutput(define(tensors));
    }
    FusionExecutorCache cache(std::move(fusion));
    const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
    testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__, what);
    CHECK(cache.numExternalCalls() == 1);
    CHECK(cache.numKernels() == 0);
  }
}

Tensor real(Sizes sizes, uint64_t seed, DataType dtype = DataType::Float) {
  return Tensor::randn(std::move(sizes), dtype, seed);
}
Tensor ends(const std::vector<int32_t>& offsets) {
  return Tensor::fromHost(offsets, {static_cast<int64_t>(offsets.size())});
}

}  // namespace

TEST_CASE("products with scales") {
  for (const auto& [a, b] : {std::pair(kE4M3, kE4M3), std::pair(kE5M2, kE4M3),
                             std::pair(DataType(DataType::BFloat16), DataType(DataType::BFloat16)),
                             std::pair(DataType(DataType::Float), DataType(DataType::Float))}) {
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{7, 5, 9}, {100, 130, 300}, {3, 40, 64}, {4, 5, 0}, {0, 5, 4}}) {
      const Tensor x = real({m, k}, 1, a), y = real({k, n}, 2, b);
      const auto plain = [](const auto& t) { return scaled_mm(t[0], t[1], t[2], t[3]).tv; };
      check({x, y, real({}, 3), real({}, 4)}, plain);
      check({x, y, real({m, 1}, 3), real({1, n}, 4)}, plain);
      check({x, y, real({m}, 3), real({n}, 4)}, plain);
      check({x, y, real({m, 1}, 3), real({}, 4), real({}, 5), real({n}, 6), real({}, 7)},
            [](const auto& t) {
              return scaled_mm(t[0], t[1], t[2], t[3], t[4], t[5], t[6], DataType::Float).tv;
            });
      check({x, y, real({}, 3), real({1, n}, 4), real({n}, 5, DataType::Half)}, [](const auto& t) {
        return scaled_mm(t[0], t[1], t[2], t[3], nullptr, t[4], nullptr, DataType::Half).tv;
      });
    }
  }
  // Column by column, as Float8 is for a GPU.
  check(
      {real({7, 16}, 1, kE4M3), real({6, 16}, 2, kE4M3).transpose(0, 1), real({}, 3), real({}, 4)},
      [](const auto& t) { return scaled_mm(t[0], t[1], t[2], t[3]).tv; });
}

TEST_CASE("products of groups of rows, of columns and of summands") {
  const auto plain = [](const auto& t) { return grouped_mm(t[0], t[1], t[2]).tv; };
  for (DataType dtype : {DataType(DataType::BFloat16), DataType(DataType::Half),
                         DataType(DataType::Float), DataType(DataType::Double)}) {
    for (const std::vector<int32_t>& offsets :
         {std::vector<int32_t>{3, 10, 10, 20}, {20, 20, 20, 20}, {0, 5, 12, 17}, {0, 0, 0, 0}}) {
      check({real({20, 7}, 1, dtype), real({4, 7, 9}, 2, dtype), ends(offsets)}, plain);
      check({real({4, 7, 9}, 1, dtype), real({9, 20}, 2, dtype), ends(offsets)}, plain);
      check({real({7, 20}, 1, dtype), real({20, 9}, 2, dtype), ends(offsets)}, plain);
    }
  }
  check({real({200, 70}, 1), real({2, 70, 300}, 2), ends({150, 190})}, plain);
  check({real({20, 7}, 1), real({2, 9, 7}, 2).transpose(1, 2), ends({5, 20})}, plain);
  check({real({20, 7}, 1), real({0, 7, 9}, 2), ends({})}, plain);
}

TEST_CASE("products of groups with scales") {
  const auto scaled = [](const auto& t) {
    return grouped_mm(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]).tv;
  };
  const Tensor offsets = ends({3, 10, 17});
  check({real({20, 7}, 1, kE4M3), real({3, 7, 9}, 2, kE5M2), offsets, real({20, 1}, 3),
         real({3, 1, 9}, 4), real({3}, 5), real({9}, 6), real({3}, 7)},
        scaled);
  check({real({3, 7, 8}, 1, kE4M3), real({8, 20}, 2, kE4M3), offsets, real({3, 7}, 3),
         real({20}, 4), real({}, 5), real({3, 20}, 6), real({}, 7)},
        scaled);
  check({real({7, 20}, 1, kE4M3), real({20, 9}, 2, kE4M3), offsets, real({3, 7, 1}, 3),
         real({3, 1, 9}, 4), real({3}, 5), real({3, 9}, 6), real({3}, 7)},
        scaled);
}
