/// Launches that no kernel can express and the interpreter carries out: they must not differ.
#include <doctest/doctest.h>

#include "devices.h"
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>

namespace nvfuser {
namespace {

TEST_CASE("random numbers beside a reduction of nothing are those beside one of something") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = makeSymbolicTensor(1);
    fusion.addInput(x);
    fusion.addOutput(sum(x, {0}));
    fusion.addOutput(rand({IrBuilder::create<Val>(int64_t{4})}, DataType::Float));
    KernelExecutor executor;
    executor.compile(&fusion);
    HostTensor drawn[2];
    for (int64_t size : {0, 5}) {
      executor.setRandomState(7, 3);
      const KernelArgumentHolder args(Tensor::randn({size}, DataType::Float, 1, *device));
      drawn[size == 0 ? 0 : 1] = executor.run(args)[1].tensor().toHostTensor();
    }
    for (int64_t i = 0; i < 4; ++i) {
      CHECK(drawn[0].getDouble(i) == drawn[1].getDouble(i));
    }
  }
}

}  // namespace
}  // namespace nvfuser
