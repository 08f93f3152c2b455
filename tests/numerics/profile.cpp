/// What a profile tells of each kernel, and that it leaves the caller's tensors alone.
#include <doctest/doctest.h>

#include "automatic.h"

namespace nvfuser {
namespace {

TEST_CASE("a profile names kernels, bytes and launches, and tells how long they take") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(
        [](Fusion& fusion) {
          TensorView* x = automatic::input(fusion, 2, DataType::Float);
          TensorView* w = automatic::input(fusion, 2, DataType::Float);
          fusion.addOutput(softmax(add(x, x), 1));
          fusion.addOutput(matmul(x, w));
        },
        *device);
    const KernelArgumentHolder arguments = automatic::makeInputs({{{16, 64}}, {{64, 8}}}, *device);
    const FusionProfile profile = program.cache().profile(arguments, 3);
    const std::string text = profile.toString();
    CAPTURE(text);
    CHECK(profile.device == device->properties().name);
    CHECK(profile.call_ms > 0);
    REQUIRE(profile.kernels.size() == 2);
    const bool first = !profile.kernels[0].scheduler.empty();
    const KernelProfile& kernel = profile.kernels[first ? 0 : 1];
    const KernelProfile& product = profile.kernels[first ? 1 : 0];
    CHECK(kernel.name == "kernel 1");
    CHECK(kernel.scheduler.find("inner persistent: ") == 0);
    CHECK(kernel.bytes == 2 * 16 * 64 * 4);
    CHECK(kernel.ms > 0);
    CHECK(kernel.copy_ms > 0);
    CHECK(kernel.shape.grid[0] > 0);
    CHECK_FALSE(kernel.refusals.empty());
    CHECK(product.name.find("external call 1, ") == 0);
    CHECK(product.ms == 0);
    CHECK(text.find("8192 bytes in ") != std::string::npos);
    CHECK(text.find(" of a copy's speed") != std::string::npos);
    CHECK_THROWS_WITH_AS(program.cache().profile(arguments, 0),
                         doctest::Contains("profile: 0 repeats; at least one is needed"),
                         UserError);
    program.run(arguments);  // still usable
  }
}

TEST_CASE("a profile updates copies of what the fusion updates") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(
        [](Fusion& fusion) {
          TensorView* x = automatic::input(fusion, 1, DataType::Float);
          fusion.aliasOutputToInput(add(x, IrBuilder::create<Val>(1.0)), x,
                                    AllocationType::ReuseBuffer);
        },
        *device);
    const KernelArgumentHolder arguments = automatic::makeInputs({{{100}}}, *device);
    const std::vector<float> before = arguments[0].tensor().toHost<float>();
    const FusionProfile profile = program.cache().profile(arguments, 2);
    CHECK(profile.kernels.size() == 1);
    CHECK(arguments[0].tensor().toHost<float>() == before);
  }
}

TEST_CASE("a profile of nothing: no elements, no launch") {
  automatic::Program program(
      [](Fusion& fusion) { fusion.addOutput(sin(automatic::input(fusion, 1, DataType::Float))); },
      cpuDevice());
  const FusionProfile profile =
      program.cache().profile(automatic::makeInputs({{{0}}}, cpuDevice()));
  REQUIRE(profile.kernels.size() == 1);
  CHECK(profile.kernels[0].ms == 0);
  CHECK(profile.kernels[0].bytes == 0);
}

}  // namespace
}  // namespace nvfuser
