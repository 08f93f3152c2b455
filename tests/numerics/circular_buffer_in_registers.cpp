/// A circular buffer that each thread keeps for itself.
#include <doctest/doctest.h>

#include "devices.h"
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

TEST_CASE("a circular buffer in registers holds its stages from one iteration to the next") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    TensorView* y = neg(x);
    fusion.addOutput(y);
    Fusion meaning(fusion);
    TensorView* loaded = x->cacheAfter();
    y->split(0, 8);
    y->split(0, 4);
    scheduler_utils::transformPropagateToAllFrom(y);
    y->axis(0)->parallelize(ParallelType::BIDx);
    scheduler_utils::parallelizeAllLike(y);
    inlineAllAt(y, 2);
    loaded->circularBuffer(2);
    KernelExecutor executor;
    executor.compile(&fusion);
    const KernelArgumentHolder args(Tensor::randn({101}, DataType::Float, 5, *device));
    CHECK_NOTHROW(testValidate(&meaning, executor.run(args), args, __LINE__, __FILE__));
  }
}

}  // namespace
}  // namespace nvfuser
