// Many kernels through NVRTC at the same time, and one that takes too long. Needs NVRTC; no GPU.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/compile_kernels.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/cuda/cuda_device.h>
#include <runtime/fusion_executor_cache.h>
#include <support/error.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

/// What NVRTC made; cannot be launched.
class Cubin final : public LoadedKernel {
 public:
  explicit Cubin(std::string bytes) : bytes_(std::move(bytes)) {}
  const KernelResources& resources() const override { return resources_; }
  std::string assembly(const std::string&) const override { return bytes_; }

 private:
  std::string bytes_;
  KernelResources resources_;
};

/// Memory as the emulated device has it, and the compiler of a CUDA device.
WatchedDevice& nvrtcDevice() {
  WatchedDevice& device = WatchedDevice::over(emulatedDevice());
  device.played_kind = DeviceKind::Cuda;
  device.ignoreDeadlines();
  device.compiler = [](const KernelSource& source, std::span<const std::string> entries) {
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (size_t i = 0; i < entries.size(); ++i) {
      kernels.push_back(std::make_unique<Cubin>(compileCudaSource(source, "sm_90").cubin));
    }
    return kernels;
  };
  return device;
}

std::unique_ptr<FusionExecutorCache> scaledSums(double factor) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  fusion->addOutput(sum(mul(x, IrBuilder::create<Val>(factor)), {1}));
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

}  // namespace

TEST_CASE("nvrtc: kernels that are compiled at the same time are those compiled one by one") {
  constexpr int kKernels = 6;
  WatchedDevice& device = nvrtcDevice();
  const Tensor x = Tensor::ones({5, 33}, DataType::Float, device);
  std::vector<std::unique_ptr<FusionExecutorCache>> caches;
  std::vector<CompiledKernel*> kernels;
  for (int i = 0; i < kKernels; ++i) {
    caches.push_back(scaledSums(i + 0.5));
    caches.back()->prepare({x});
    kernels.push_back(
        caches.back()->executors().front()->waitingVariant(device, PrimDataType::Int32, {}));
  }
  device.waitForCompany();
  for (const std::exception_ptr& error : compileKernels(kernels, nullptr)) {
    CHECK(error == nullptr);
  }
  CHECK(device.texts == kKernels);
  CHECK((device.mostAtOnce() > 1) == (availableProcessors() > 1));
  for (const CompiledKernel* kernel : kernels) {
    CHECK(kernel->loaded().assembly("cubin") == compileCudaSource(kernel->source(), "sm_90").cubin);
  }
}

TEST_CASE("nvrtc: a kernel that takes longer than the deadline is left behind, and comes later") {
  WatchedDevice& device = nvrtcDevice();
  const auto quick = device.compiler;
  device.compiler = [&](const KernelSource& source, std::span<const std::string> entries) {
    KernelSource slow = source;  // some seconds of work for NVRTC
    slow.text +=
        "\ntemplate <int N> __device__ float deep(float x) {\n"
        "  return sinf(deep<N - 1>(x)) * x + powf(x, N + deep<N - 1>(x + 1)); }\n"
        "template <> __device__ float deep<0>(float x) { return x; }\n"
        "__global__ void slow(float* x) { *x = deep<7>(*x); }\n";
    return quick(slow, entries);
  };
  const OptionsGuard options(Options::current().set("COMPILE_SECONDS", "1").disable("fallback"));
  const Tensor x = Tensor::ones({2, 3}, DataType::Float, device);
  auto cache = scaledSums(77);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH_AS(cache->runFusionWithInputs({x}), doctest::Contains("took longer than 1 s"),
                       CompileError);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  CHECK(device.atOnce() == 1);
  while (device.atOnce() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  MESSAGE("waited ", waited.count(), " s for what took ", took.count(), " s");
  KernelExecutor& executor = *cache->executors().front();
  CompiledKernel* kernel = executor.waitingVariant(device, PrimDataType::Int32, {});
  REQUIRE(kernel != nullptr);
  while (compileKernels({&kernel, 1}, nullptr).front() !=
         nullptr) {  // it comes just after the compiler
    std::this_thread::yield();
  }
  CHECK(device.texts == 1);
  CHECK(kernel->resources().from_cache);
}
