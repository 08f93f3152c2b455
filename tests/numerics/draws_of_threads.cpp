/// Masks of dropout with the numbers that the threads of another kernel would draw.
#include <doctest/doctest.h>

#include "devices.h"
#include <evaluator/philox.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser {
namespace {

constexpr uint64_t kSeed = 77;
constexpr uint64_t kOffset = 5;

/// What thread (e / width) % threads of that kernel draws for element e.
float numberOf(uint64_t e, uint64_t threads, uint64_t width) {
  const uint64_t taken = e / width;
  const uint64_t block = kOffset + taken / threads * (width / 4) + e % width / 4;
  return static_cast<float>(philoxBlock(kSeed, block, taken % threads)[e % 4]) * 0x1p-32f +
         0x1p-33f;
}

TEST_CASE("each element gets the number that a thread of the other kernel draws for it") {
  for (Device* device : testDevices()) {
    for (const auto& [sizes, threads, width] : {std::tuple(std::vector<int64_t>{3, 64}, 256, 4),
                                                {{40, 96}, 512, 8},
                                                {{1}, 256, 4},
                                                {{7, 5, 11}, 32, 16}}) {
      CAPTURE(device->properties().name);
      CAPTURE(threads);
      auto fusion = std::make_unique<Fusion>();
      FusionGuard guard(fusion.get());
      TensorView* x = makeSymbolicTensor(sizes.size());
      Val* seed = IrBuilder::create<Val>(DataType::Int);
      Val* offset = IrBuilder::create<Val>(DataType::Int);
      fusion->addInput(x);
      fusion->addInput(seed);
      fusion->addInput(offset);
      auto number = [](int64_t n) { return IrBuilder::create<Val>(n); };
      TensorView* drawn =
          uniform_of_threads(shape(x), number(threads), number(width), seed, offset);
      fusion->addOutput(mul(x, drawn));
      FusionExecutorCache cache(std::move(fusion));
      KernelArgumentHolder args(Tensor::ones(sizes, DataType::Float, *device));
      args.push(static_cast<int64_t>(kSeed));
      args.push(static_cast<int64_t>(kOffset));
      const HostTensor found = cache.runFusionWithInputs(args)[0].tensor().toHostTensor();
      for (int64_t e = 0; e < found.numel(); ++e) {
        REQUIRE(static_cast<float>(found.getDouble(e)) == numberOf(static_cast<uint64_t>(e),
                                                                   static_cast<uint64_t>(threads),
                                                                   static_cast<uint64_t>(width)));
      }
    }
  }
}

}  // namespace
}  // namespace nvfuser
