// One normalisation, 200 random shapes: a few kernels serve all of them, and every shape is right.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

constexpr uint64_t kSeed = 20;
constexpr int64_t kMostRows = 4096;
constexpr int64_t kMostLength = 32768;
constexpr double kEps = 1e-5;
constexpr int64_t kRowsChecked = 8;  ///< of each shape: the first, the last, and some between

struct Shape {
  int64_t rows;
  int64_t length;
};

std::vector<Shape> drawShapes() {
  std::mt19937_64 random(kSeed);
  std::uniform_int_distribution<int64_t> rows(1, kMostRows);
  std::uniform_real_distribution<double> exponent(0, std::log(kMostLength + 0.99));
  std::vector<Shape> shapes;
  for (int i = 0; i < 200; ++i) {
    const int64_t count = rows(random);
    shapes.push_back({count, static_cast<int64_t>(std::exp(exponent(random)))});
  }
  return shapes;
}

void rmsNormInBf16(Fusion& fusion) {
  TensorView* x = input(fusion, 2, DataType::BFloat16);
  TensorView* w = input(fusion, 1, DataType::BFloat16);
  fusion.addOutput(
      castOp(DataType::BFloat16, rms_norm(x, 1, w, IrBuilder::create<Val>(kEps)).output));
}

double wide(uint16_t bf16) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16));
}

/// `count` elements of memory, filled with numbers whose pattern fits no row.
Tensor drawElements(int64_t count) {
  constexpr int64_t kPattern = 99991;
  const Tensor pattern = Tensor::randn({kPattern}, DataType::BFloat16, kSeed);
  Tensor all = Tensor::empty({count}, DataType::BFloat16);
  for (int64_t at = 0; at < count; at += kPattern) {
    std::memcpy(static_cast<uint16_t*>(all.data()) + at, pattern.data(),
                static_cast<size_t>(std::min(kPattern, count - at)) * sizeof(uint16_t));
  }
  return all;
}

Tensor firstOf(const Tensor& all, std::vector<int64_t> sizes) {
  const std::vector<int64_t> strides = rowMajorStrides(sizes);
  return Tensor::fromRef({all.data(), all.dtype(), std::move(sizes), strides}, all.device());
}

/// Half an ulp of the result, and Float's rounding on the way.
void checkRow(const uint16_t* x, const uint16_t* w, const uint16_t* got, int64_t length) {
  double squares = 0;
  for (int64_t i = 0; i < length; ++i) {
    squares += wide(x[i]) * wide(x[i]);
  }
  const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + kEps);
  int64_t wrong = 0;
  for (int64_t i = 0; i < length; ++i) {
    const double expected = wide(x[i]) * scale * wide(w[i]);
    wrong += std::fabs(wide(got[i]) - expected) <= std::fabs(expected) * (0x1p-8 + 0x1p-16) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

void run(Program& program, const Shape& shape, const Tensor& x, const Tensor& w) {
  KernelArgumentHolder arguments;
  arguments.push(firstOf(x, {shape.rows, shape.length}));
  arguments.push(firstOf(w, {shape.length}));
  const KernelArgumentHolder results = program.cache().runFusionWithInputs(arguments);
  CHECK(program.kernels() == 1);
  const Tensor& y = results[0].tensor();
  REQUIRE(y.isContiguous());
  std::mt19937_64 random(kSeed);
  for (int64_t k = 0; k < std::min(kRowsChecked, shape.rows); ++k) {
    const int64_t row = k == 0   ? 0
                        : k == 1 ? shape.rows - 1
                                 : static_cast<int64_t>(random() % static_cast<size_t>(shape.rows));
    CAPTURE(row);
    const int64_t at = row * shape.length;
    checkRow(static_cast<const uint16_t*>(x.data()) + at, static_cast<const uint16_t*>(w.data()),
             static_cast<const uint16_t*>(y.data()) + at, shape.length);
  }
}

}  // namespace

TEST_CASE("dynamic shapes: 200 shapes of one normalisation on the CPU") {
  CAPTURE(kSeed);
  MESSAGE("seed " << kSeed);
  const std::vector<Shape> shapes = drawShapes();
  int64_t most = 0;
  for (const Shape& shape : shapes) {
    most = std::max(most, shape.rows * shape.length);
  }
  const Tensor x = drawElements(most);
  const Tensor w = drawElements(kMostLength);
  Program program(rmsNormInBf16, cpuDevice());
  for (const Shape& shape : shapes) {
    CAPTURE(shape.rows);
    CAPTURE(shape.length);
    run(program, shape, x, w);
  }
  MESSAGE(program.cache().numKernelsMade() << " kernels");
  CHECK(program.cache().numKernelsMade() <= 24);
}

TEST_CASE("dynamic shapes: 200 shapes of one normalisation on emulated CUDA") {
  CAPTURE(kSeed);
  MESSAGE("seed " << kSeed);
  constexpr int64_t kMostRun = 1 << 14;  // elements; of larger shapes some rows are run
  Program program(rmsNormInBf16, emulatedDevice());
  Program few(rmsNormInBf16, emulatedDevice());
  for (const Shape& shape : drawShapes()) {
    CAPTURE(shape.rows);
    CAPTURE(shape.length);
    const Tensor rows =
        Tensor::meta({shape.rows, shape.length}, {shape.length, 1}, DataType::BFloat16);
    const Tensor weight = Tensor::meta({shape.length}, {1}, DataType::BFloat16);
    program.cache().prepare({rows, weight}, {}, &emulatedDevice());
    CHECK(program.cache().numKernels() == 1);
    const int64_t count = std::clamp<int64_t>(kMostRun / shape.length, 1, shape.rows);
    few.run({{{count, shape.length}, DataType::BFloat16}, {{shape.length}, DataType::BFloat16}});
    CHECK(few.kernels() == 1);
  }
  MESSAGE(program.cache().numKernelsMade() << " kernels");
  CHECK(program.cache().numKernelsMade() <= 24);
  CHECK(few.cache().numKernelsMade() <= 24);
}
