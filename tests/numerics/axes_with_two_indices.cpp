/// One axis read at several places by one kernel: pads and slices of one tensor that meet again.
#include <doctest/doctest.h>

#include <functional>
#include <memory>

#include "devices.h"
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

namespace nvfuser {
namespace {

void checkOnAllDevices(const std::vector<int64_t>& sizes,
                       const std::function<TensorView*(TensorView*)>& define) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      TensorView* x = makeContigTensor(static_cast<int64_t>(sizes.size()));
      fusion->addInput(x);
      fusion->addOutput(define(x));
    }
    Fusion meaning(*fusion);
    FusionExecutorCache cache(std::move(fusion));
    const KernelArgumentHolder args(Tensor::randn(sizes, DataType::Float, 3, *device));
    const KernelArgumentHolder results = cache.runFusionWithInputs(args);
    CHECK_NOTHROW(testValidate(&meaning, results, args, __LINE__, __FILE__));
  }
}

TEST_CASE("a tensor concatenated with itself") {
  checkOnAllDevices({5}, [](TensorView* x) { return cat({x, x}, 0); });
  checkOnAllDevices({4, 7}, [](TensorView* x) { return cat({x, x, x}, 1); });
  checkOnAllDevices({4, 7}, [](TensorView* x) { return cat({x, neg(x)}, 0); });
}

TEST_CASE("two slices of a tensor that meet") {
  checkOnAllDevices({2, 10}, [](TensorView* x) {
    return add(slice(x, {0, 0}, {2, 5}), slice(x, {0, 5}, {2, 10}));
  });
  checkOnAllDevices({3, 8}, [](TensorView* x) {  // as rotary embeddings do
    return cat({neg(slice(x, {0, 4}, {3, 8})), slice(x, {0, 0}, {3, 4})}, 1);
  });
}

TEST_CASE("two reshapes of a tensor that meet") {
  checkOnAllDevices({12}, [](TensorView* x) {
    return add(reshape(x, {12}, {3, 4}), transpose(reshape(x, {12}, {4, 3})));
  });
  checkOnAllDevices({3, 2}, [](TensorView* x) {  // each row with each
    return sub(x, reshape(x, {3, 2}, {3, 1, 2}));
  });
}

}  // namespace
}  // namespace nvfuser
