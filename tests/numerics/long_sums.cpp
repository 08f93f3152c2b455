// Sums of many elements: added up one by one they lose digits, so chunks are, and their sums in
// Double.
#include <cmath>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

void checkChunks(const Define& define, Device& device, std::string_view chunks,
                 const std::vector<std::vector<int64_t>>& long_ones,
                 const std::vector<int64_t>& short_one) {
  Program program(define, device);
  for (const std::vector<int64_t>& sizes : long_ones) {
    CAPTURE(join(sizes, ", "));
    program.run({{sizes}});
    const std::string report = program.cache().report();
    CHECK_MESSAGE(report.find(chunks) != std::string::npos, report);
  }
  program.run({{short_one}});
  CHECK(program.cache().report().find(chunks) == std::string::npos);
}

/// Sum, greatest, and variance with the mean, over some axes.
Define over(int64_t rank, const std::vector<int64_t>& axes) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, rank, DataType::Float);
    TensorView* away = add(x, IrBuilder::create<Val>(3.0));  // a mean that is not lost in the noise
    fusion.addOutput(sum(away, axes));
    fusion.addOutput(max(x, axes));
    fusion.addOutput(variance(away, axes, int64_t{1}, false));
  };
}

/// The same in one pass.
Define moments(int64_t rank, const std::vector<int64_t>& axes) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, rank, DataType::Float);
    const VarMeanResult of = variance_mean(x, axes, 1, false);
    fusion.addOutput(of.var);
    fusion.addOutput(of.mean);
  };
}

/// What the CPU makes of a tensor of one number.
std::vector<std::vector<float>> ofEqual(const std::vector<int64_t>& sizes, double number,
                                        const std::function<void(Fusion&, TensorView*)>& define) {
  Program program(
      [&](Fusion& fusion) {
        define(fusion, input(fusion, static_cast<int64_t>(sizes.size()), DataType::Float));
      },
      cpuDevice());
  std::vector<std::vector<float>> all;
  for (const auto& result : program.cache().runFusionWithInputs(KernelArgumentHolder{
           Tensor::full(sizes, PolymorphicValue(number), DataType::Float, cpuDevice())})) {
    all.push_back(result.tensor().toHost<float>());
  }
  return all;
}

struct Sizes {
  std::vector<int64_t> sizes;
  std::vector<int64_t> axes;

  double reduced() const {
    double count = 1;
    for (int64_t axis : axes) {
      count *= static_cast<double>(sizes[static_cast<size_t>(axis)]);
    }
    return count;
  }
};
/// Columns, rows, one of each, all, and runs: long ones, and many short ones.
const Sizes kSizes[] = {
    {{200003, 3}, {0}},       {{8191, 40}, {0}},        {{129, 1000}, {0}},
    {{2, 1000003}, {1}},      {{40, 8193}, {1}},        {{300, 15}, {1}},
    {{5000000, 1}, {0}},      {{1, 5000000}, {1}},      {{1000, 1001}, {0, 1}},
    {{3001, 2, 100}, {0, 2}}, {{9, 2, 100003}, {0, 2}}, {{70000, 2, 3}, {0, 2}}};

}  // namespace

TEST_CASE("long sums: of columns, whole chunks and parts of one") {
  for (const auto& define : {over(2, {0}), moments(2, {0})}) {
    checkChunks(define, cpuDevice(), "chunks of 16", {{300000, 3}, {129, 40}, {8448, 17}},
                {128, 3});
  }
}

TEST_CASE("long sums: of rows, in vectors and one by one") {
  for (const auto& define : {over(2, {1}), moments(2, {1})}) {
    checkChunks(define, cpuDevice(), "chunks of 64", {{2, 1000003}, {1, 1048576}, {7, 8193}},
                {3, 2000});
  }
}

TEST_CASE("long sums: of runs") {
  checkChunks(over(3, {0, 2}), cpuDevice(), "chunks of 64", {{3, 2, 100003}, {40, 3, 9000}},
              {3, 5, 60});
  for (const auto& define : {over(3, {0, 2}), moments(3, {0, 2})}) {
    checkChunks(define, cpuDevice(), "runs in a chunk",
                {{3001, 2, 100}, {7000, 3, 3}, {200, 2, 1030}}, {3, 5, 60});
  }
}

TEST_CASE("long sums: of the threads of a GPU") {
  if (testsOnlyGpu()) {
    return;  // it has so many threads that these sums are short
  }
  Device& device = emulatedDevice();
  for (const auto& define : {over(2, {1}), moments(2, {1})}) {
    checkChunks(define, device, "chunks of", {{3, 270001}}, {3, 2000});
  }
  for (const auto& define : {over(2, {0}), moments(2, {0})}) {
    checkChunks(define, device, "chunks of", {{18000, 330}}, {128, 3});
  }
  checkChunks(over(3, {0, 2}), device, "runs in a chunk", {{5000, 50, 6}}, {3, 5, 60});
}

TEST_CASE("long sums: both axes, with what is computed from them") {
  checkChunks(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* total = sum(mul(x, x), {0, 1});
        fusion.addOutput(mul(x, rsqrt(broadcast(total, {true, true}))));
      },
      cpuDevice(), "chunks of 64", {{1000, 1001}, {2, 700000}}, {30, 40});
}

TEST_CASE("long sums: of equal numbers") {
  for (const Sizes& of : kSizes) {
    CAPTURE(join(of.sizes, ", "));
    for (double number : {0.1, 1.0 / 3, 7e-5}) {
      const double right = double{static_cast<float>(number)} * of.reduced();
      const auto results = ofEqual(of.sizes, number, [&](Fusion& fusion, TensorView* x) {
        fusion.addOutput(sum(x, of.axes));
        fusion.addOutput(mean(x, of.axes, false));
        fusion.addOutput(sum(mul(x, x), of.axes));
      });
      const double rights[] = {right, right / of.reduced(), right * static_cast<float>(number)};
      for (size_t i = 0; i < results.size(); ++i) {
        CAPTURE(i);
        for (float result : results[i]) {
          CHECK(std::abs(result / rights[i] - 1) <= 2e-6);
        }
      }
    }
  }
}

TEST_CASE("long sums: variances of equal numbers") {
  constexpr double kNumber = 1e6 + 0.1;
  constexpr double kUnit = 0.0625;  // the last place of such a Float
  for (const Sizes& of : kSizes) {
    CAPTURE(join(of.sizes, ", "));
    const auto results = ofEqual(of.sizes, kNumber, [&](Fusion& fusion, TensorView* x) {
      fusion.addOutput(variance(x, of.axes, int64_t{1}, false));
      fusion.addOutput(variance_mean(x, of.axes, 1, false).var);
    });
    for (float result : results[0]) {
      CHECK(result >= 0);
      CHECK(result <= 100 * kUnit * kUnit);  // the mean's own error, squared
    }
    for (float result : results[1]) {
      CHECK(result == 0);
    }
  }
}

TEST_CASE("long sums: moments of more numbers than a Float can count") {
  const std::vector<int64_t> sizes{1 << 25, 1};
  Program program(moments(2, {0}), cpuDevice());
  const KernelArgumentHolder arguments = makeInputs({{sizes}}, cpuDevice());
  const auto results = program.cache().runFusionWithInputs(arguments);
  const std::vector<float> numbers = arguments[0].tensor().toHost<float>();
  double sum = 0;
  double squares = 0;
  for (double x : numbers) {
    sum += x;
    squares += x * x;
  }
  const auto count = static_cast<double>(numbers.size());
  const double variance = (squares - sum * sum / count) / (count - 1);
  CHECK(std::abs(results[0].tensor().toHost<float>()[0] / variance - 1) <= 1e-6);
  CHECK(std::abs(results[1].tensor().toHost<float>()[0] - sum / count) <= 1e-7);
}
