/// How much memory on the chip a tensor gets where threads compute it.
#include <doctest/doctest.h>

#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

TEST_CASE(
    "allocation: shared memory has a place for each thread, also of a tensor that is inlined") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  TensorView* y = neg(x);
  TensorView* z = exp(y);
  fusion.addOutput(z);
  Fusion meaning(fusion);
  z->split(0, 32);
  z->axis(0)->parallelize(ParallelType::BIDx);
  z->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::transformPropagateToAllFrom(z);
  scheduler_utils::parallelizeAllLike(z);
  y->setMemoryType(MemoryType::Shared);
  inlineMost();
  KernelExecutor executor;
  executor.compile(&fusion);
  const KernelArgumentHolder args(Tensor::randn({70}, DataType::Float, 5, emulatedDevice()));
  CHECK_NOTHROW(testValidate(&meaning, executor.run(args), args, __LINE__, __FILE__));
  CHECK(executor.lastLaunchParams().smem() >= 32 * 4);
}

TEST_CASE("allocation: more registers than a thread can have are refused") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  TensorView* y = neg(x);
  TensorView* z = exp(y);
  fusion.addOutput(z);
  z->split(0, 64 * 1024);
  z->axis(0)->parallelize(ParallelType::BIDx);
  scheduler_utils::transformPropagateToAllFrom(z);
  scheduler_utils::parallelizeAllLike(z);
  inlineAllAt(z, 1);
  KernelExecutor executor;
  const KernelArgumentHolder args(Tensor::randn({70}, DataType::Float, 5, emulatedDevice()));
  std::string message;
  try {
    executor.compile(&fusion, args);
  } catch (const UserError& e) {
    message = e.what();
  }
  CHECK(message.find("cannot be kept in registers: its size there is 65536 elements, and a thread "
                     "has room for 49152 bytes more") != std::string::npos);
}

}  // namespace
}  // namespace nvfuser
