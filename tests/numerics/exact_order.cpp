// Exact numerics: a sum has one order, whatever the other sizes, the layout and the device are.
#include <cmath>

#include "automatic.h"
#include "devices.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

/// Numbers of many sizes, whose sum shows its order.
std::vector<float> numbers(int64_t count) {
  std::vector<float> values;
  uint64_t state = 12345;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double unit = static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5;
    values.push_back(static_cast<float>(unit * std::pow(10.0, static_cast<double>(i % 9) - 4)));
  }
  return values;
}

std::vector<float> run(const Define& define, const std::vector<int64_t>& sizes, Device& device) {
  const OptionsGuard guard(Options::current().enable("exact_numerics").disable("fallback"));
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard of_fusion(fusion.get());
    define(*fusion);
  }
  FusionExecutorCache cache(std::move(fusion));
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  const KernelArgumentHolder results = cache.runFusionWithInputs(
      KernelArgumentHolder{Tensor::fromHost(numbers(count), sizes, device)});
  CAPTURE(cache.report());
  return results[0].tensor().toHost<float>();
}

Define sumOver(int64_t rank, const std::vector<int64_t>& axes) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, rank, DataType::Float);
    fusion.addOutput(mul(sum(mul(x, x), axes), IrBuilder::create<Val>(0.5)));
  };
}

}  // namespace

TEST_CASE("exact order: sums of rows and columns are those of a loop, on each device") {
  for (const auto& [sizes, axes] :
       std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{{{1, 5000}, {1}},
                                                                          {{70, 300}, {1}},
                                                                          {{300, 70}, {0}},
                                                                          {{5, 3}, {1}},
                                                                          {{9, 4, 50}, {0, 2}}}) {
    std::vector<float> wanted;
    int64_t count = 1;
    for (int64_t size : sizes) {
      count *= size;
    }
    const std::vector<float> values = numbers(count);
    const int64_t inner = sizes.back();
    std::vector<double> sums(static_cast<size_t>(axes.size() == 2 ? sizes[1] : sizes[1 - axes[0]]));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kept = axes.size() == 2 ? i / inner % sizes[1]
                           : axes[0] == 1   ? i / inner
                                            : i % inner;
      const float square = values[static_cast<size_t>(i)] * values[static_cast<size_t>(i)];
      sums[static_cast<size_t>(kept)] += double{square};
    }
    for (double total : sums) {
      wanted.push_back(static_cast<float>(total) * 0.5F);
    }
    for (Device* device : testDevices()) {
      CAPTURE(join(sizes, ", "));
      CHECK(run(sumOver(static_cast<int64_t>(sizes.size()), axes), sizes, *device) == wanted);
    }
  }
}
