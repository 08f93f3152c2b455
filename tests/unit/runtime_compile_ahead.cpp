// The kernels of calls that have not come yet: planned from meta tensors, compiled together, found
// by the calls.
#include <doctest/doctest.h>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/compile_kernels.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>

using namespace nvfuser;

namespace {

/// A row's softmax and a column's sum.
std::unique_ptr<FusionExecutorCache> program(DataType dtype) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2, dtype);
  auto* scale = IrBuilder::create<Val>(DataType::Double);
  fusion->addInput(x);
  fusion->addInput(scale);
  TensorView* scaled = mul(castOp(DataType::Float, x), scale);
  fusion->addOutput(softmax(scaled, 1));
  fusion->addOutput(sum(exp(scaled), {0}));
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

KernelArgumentHolder expected(DataType dtype) {
  KernelArgumentHolder args;
  args.pushTensorProxy({19, 70}, {70, 1}, dtype);
  args.push(PolymorphicValue(1.0));
  return args;
}

}  // namespace

TEST_CASE("kernels of several fusions are compiled together before the first call") {
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    const std::unique_ptr<FusionExecutorCache> caches[] = {program(DataType::Float),
                                                           program(DataType::BFloat16)};
    std::vector<CompiledKernel*> waiting;
    for (size_t i = 0; i < 2; ++i) {
      const DataType dtype = i == 0 ? DataType::Float : DataType::BFloat16;
      const std::vector<CompiledKernel*> own = caches[i]->waitingKernels(expected(dtype), device);
      CHECK(own.size() == caches[i]->numKernels());
      waiting.insert(waiting.end(), own.begin(), own.end());
    }
    REQUIRE(waiting.size() >= 2);
    for (const std::exception_ptr& error : compileKernels(waiting, nullptr)) {
      CHECK(error == nullptr);
    }
    for (size_t i = 0; i < 2; ++i) {
      const DataType dtype = i == 0 ? DataType::Float : DataType::BFloat16;
      const size_t made = caches[i]->numKernelsMade();
      const KernelArgumentHolder args{Tensor::randn({19, 70}, dtype, 3, *device),
                                      PolymorphicValue(0.5)};
      CHECK(caches[i]->waitingKernels(args, device).empty());
      testValidate(caches[i]->fusion(), caches[i]->runFusionWithInputs(args), args, __LINE__,
                   __FILE__);
      CHECK(caches[i]->numKernelsMade() == made);
      CHECK(caches[i]->waitingKernels(expected(dtype), device).empty());
    }
  }
}
