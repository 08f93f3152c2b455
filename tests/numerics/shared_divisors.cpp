// Quotients by shared divisors are those of a division, bit by bit where runtime/divide_by.cuh says
// so.
#include <bit>
#include <cmath>
#include <limits>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Numbers of all kinds, then drawn ones whose quotients are normal.
std::vector<float> numbers(size_t count) {
  std::vector<float> found = {0.f,           -0.f,      1.f,    -1.f,      3.f,
                              -7.5f,         1e-30f,    -1e20f, kInfinity, -kInfinity,
                              std::nanf(""), 0x1p-126f, 1e-40f, 0x1p120f,  -0x1.fffffep-10f};
  uint32_t state = 12345;
  while (found.size() < count) {
    state = state * 1664525 + 1013904223;
    // (Exponents from -40 to 23.)
    found.push_back(
        std::bit_cast<float>((state & 0x807fffffu) | ((87 + (state >> 24) % 64) << 23)));
  }
  return found;
}

void checkQuotients(const std::vector<float>& found, const std::vector<float>& dividends,
                    const std::function<float(size_t)>& divisor) {
  REQUIRE(found.size() == dividends.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const float wanted = dividends[i] / divisor(i);
    CAPTURE(dividends[i]);
    CAPTURE(divisor(i));
    const float dividend = std::fabs(dividends[i]);
    const bool is_rounded = dividend == 0 || dividend > 0x1p-100f;  // all divisors are below 2^126
    if (std::isnan(wanted)) {
      CHECK(std::isnan(found[i]));
    } else if (is_rounded && (wanted == 0 || std::isnormal(wanted) || std::isinf(wanted))) {
      CHECK(std::bit_cast<uint32_t>(found[i]) == std::bit_cast<uint32_t>(wanted));
    } else {
      CHECK(std::abs(std::bit_cast<int32_t>(found[i]) - std::bit_cast<int32_t>(wanted)) <= 1);
    }
  }
}

}  // namespace

TEST_CASE("shared divisors: by a number of each row") {
  const std::vector<float> row = numbers(60);
  const std::vector<float> divisors = numbers(60);
  std::vector<float> all;
  for (size_t i = 0; i < divisors.size(); ++i) {
    all.insert(all.end(), row.begin(), row.end());
  }
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(
        [](Fusion& fusion) {
          TensorView* x = input(fusion, 2, DataType::Float);
          TensorView* by = input(fusion, 1, DataType::Float);
          fusion.addOutput(div(x, broadcast(by, {false, true})));
        },
        *device);
    KernelArgumentHolder arguments;
    arguments.push(Tensor::fromHost(all, {60, 60}, *device));
    arguments.push(Tensor::fromHost(divisors, {60}, *device));
    const auto results = program.cache().runFusionWithInputs(arguments);
    checkQuotients(results[0].tensor().toHost<float>(), all,
                   [&](size_t i) { return divisors[i / 60]; });
  }
}

TEST_CASE("shared divisors: by constants") {
  const std::vector<float> row = numbers(2000);
  for (const double constant : {255.0, 3.0, 0.1, -7.0, 1e-3, -0.7, 1e20, 1e-38}) {
    for (Device* device : testDevices()) {
      CAPTURE(device->properties().name);
      Program program(
          [&](Fusion& fusion) {
            TensorView* x = input(fusion, 1, DataType::Float);
            fusion.addOutput(div(x, IrBuilder::create<Val>(constant)));
          },
          *device);
      KernelArgumentHolder arguments;
      arguments.push(Tensor::fromHost(row, {2000}, *device));
      const auto results = program.cache().runFusionWithInputs(arguments);
      checkQuotients(results[0].tensor().toHost<float>(), row,
                     [&](size_t) { return static_cast<float>(constant); });
    }
  }
}
