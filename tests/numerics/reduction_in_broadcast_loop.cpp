/// A reduction inside a loop that only a broadcast axis of its operand brings.
#include <doctest/doctest.h>

#include "devices.h"
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

TEST_CASE("a sum takes each element once, however often a broadcast axis goes around it") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = makeConcreteTensor({-1, 1});
    fusion.addInput(x);
    TensorView* y = sin(x);
    TensorView* total = sum(squeeze(y, std::vector<int64_t>{1}), {0});
    fusion.addOutput(total);
    Fusion meaning(fusion);
    y->split(1, 4);  // an axis of extent 1, in four steps
    scheduler_utils::transformPropagateToAllFrom(y);
    inlineMost();
    KernelExecutor executor;
    executor.compile(&fusion);
    const KernelArgumentHolder args(Tensor::randn({37, 1}, DataType::Float, 5, *device));
    CHECK_NOTHROW(testValidate(&meaning, executor.run(args), args, __LINE__, __FILE__));
  }
}

}  // namespace
}  // namespace nvfuser
