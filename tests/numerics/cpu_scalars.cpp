// Inputs that are CPU scalars: a 0-dim tensor of the host's memory beside tensors of any device,
// whose value a kernel takes as a parameter.
#include "automatic.h"
#include <runtime/executor.h>

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

TensorView* cpuScalar(Fusion& fusion, DataType dtype) {
  TensorView* tv = input(fusion, 0, dtype);
  tv->setCpuScalar(true);
  return tv;
}

/// The real part of a scalar of any dtype, as Float.
TensorView* asFloat(TensorView* scalar) {
  return castOp(DataType::Float, isComplexType(scalar->dtype()) ? real(scalar) : scalar);
}

Tensor drawnScalar(DataType dtype, uint64_t seed) { return Tensor::randn({}, dtype, seed); }

void checkAll(const Define& define, const std::vector<int64_t>& sizes, DataType dtype) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(define, *device);
    const Tensor x = Tensor::randn(sizes, DataType::Float, 1, *device);
    for (uint64_t seed : {7, 8, 9}) {  // the value of a call, not of the first one
      program.run(KernelArgumentHolder{x, drawnScalar(dtype, seed)});
    }
    CHECK(program.cache().numKernelsMade() == program.kernels());
  }
}

}  // namespace

TEST_CASE("CPU scalars of every dtype, with changing values") {
  for (DataType dtype :
       {DataType::Float, DataType::Double, DataType::Half, DataType::BFloat16, DataType::Int,
        DataType::Int32, DataType::Bool, DataType::ComplexFloat, DataType::ComplexDouble}) {
    CAPTURE(dtype);
    checkAll(
        [&](Fusion& fusion) {
          TensorView* x = input(fusion, 2, DataType::Float);
          TensorView* s = asFloat(cpuScalar(fusion, dtype));
          fusion.addOutput(add(mul(x, s), s));
        },
        {3, 37}, dtype);
  }
}

TEST_CASE("CPU scalars beside rows, sums, and nothing else") {
  const auto softmax_of_scaled = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    fusion.addOutput(softmax(mul(x, cpuScalar(fusion, DataType::Float)), 1));
  };
  checkAll(softmax_of_scaled, {5, 1030}, DataType::Float);
  const auto sums = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    TensorView* s = asFloat(cpuScalar(fusion, DataType::Double));
    fusion.addOutput(add(sum(x, {0}), s));
    fusion.addOutput(mul(sum(mul(x, s), {0, 1}), s));
    fusion.addOutput(neg(s));
  };
  checkAll(sums, {33, 130}, DataType::Double);
  checkAll(sums, {33, 0}, DataType::Double);
  checkAll(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 1, DataType::Float);
        TensorView* s = cpuScalar(fusion, DataType::Half);
        fusion.addOutput(set(x));
        fusion.addOutput(set(s));
      },
      {0}, DataType::Half);
}

TEST_CASE("a CPU scalar alone: the device is the one asked for") {
  for (Device* device : testDevices()) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* s = cpuScalar(fusion, DataType::Float);
    fusion.addOutput(exp(s));
    KernelExecutor executor;
    const KernelArgumentHolder args{drawnScalar(DataType::Float, 3)};
    CompileParams params;
    params.device = device;
    executor.compile(&fusion, args, LaunchParams(), params);
    const KernelArgumentHolder results = executor.run(args, {}, LaunchParams(), params);
    CHECK(&results[0].tensor().device() == device);
    testValidate(&fusion, results, args, __LINE__, __FILE__);
  }
}

TEST_CASE("a CPU scalar in a schedule by hand is a parameter's value") {
  for (Device* device : testDevices()) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* x = input(fusion, 1, DataType::Float);
    TensorView* s = cpuScalar(fusion, DataType::Float);
    TensorView* y = mul(x, s);
    fusion.addOutput(y);
    y->split(0, 128);
    y->axis(0)->parallelize(ParallelType::BIDx);
    y->axis(1)->parallelize(ParallelType::TIDx);
    KernelExecutor executor;
    const KernelArgumentHolder args{Tensor::randn({1000}, DataType::Float, 1, *device),
                                    drawnScalar(DataType::Float, 2)};
    executor.compile(&fusion, args);
    testValidate(&fusion, executor.run(args), args, __LINE__, __FILE__);
    const std::string text = executor.compiledKernel()->kernelString();
    CHECK(text.find("const float T1") != std::string::npos);
    CHECK(text.find("T1[") == std::string::npos);
  }
}

TEST_CASE("a CPU scalar's tensor that is elsewhere is an error, also of a call that was seen") {
  Device& device = emulatedDevice();
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = input(*fusion, 1, DataType::Float);
  fusion->addOutput(mul(x, cpuScalar(*fusion, DataType::Float)));
  FusionExecutorCache cache(std::move(fusion));
  const Tensor of_device = Tensor::randn({64}, DataType::Float, 1, device);
  const KernelArgumentHolder right{of_device, drawnScalar(DataType::Float, 2)};
  const KernelArgumentHolder wrong{of_device, Tensor::randn({}, DataType::Float, 2, device)};
  for (int call = 0; call < 3; ++call) {
    testValidate(cache.fusion(), cache.runFusionWithInputs(right), right, __LINE__, __FILE__);
    CHECK_THROWS_WITH_AS(cache.runFusionWithInputs(wrong),
                         doctest::Contains("is a CPU scalar, but its tensor is on emulated"),
                         UserError);
  }
}
