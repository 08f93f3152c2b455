// Compilers that take too long, those that can be stopped and those that cannot.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/compile_kernels.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/fusion_executor_cache.h>
#include <support/error.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

std::unique_ptr<Fusion> shifted(double by) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  fusion->addOutput(add(x, IrBuilder::create<Val>(by)));
  return fusion;
}

bool isRight(const KernelArgumentHolder& results, float value) {
  return results[0].tensor().toHost<float>() == std::vector<float>(6, value);
}

/// Its compiler neither ends nor can be stopped.
WatchedDevice& stuckDevice() {
  WatchedDevice& device = WatchedDevice::over(cpuDevice());
  device.ignoreDeadlines();
  device.closeGate();
  return device;
}

/// Until what was left behind has arrived.
void waitForKernels(WatchedDevice& device) {
  device.openGate();
  while (device.atOnce() > 0) {
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("compile deadline: the host's compiler is stopped") {
  KernelSource source;
  source.entry = "entry";
  source.text =
      "constexpr long f() { long s = 0; for (long i = 0; i < 200000; ++i)\n"
      "for (long j = 0; j < 150; ++j) s += j; return s; }\n"
      "static_assert(f() != 1);\n"
      "extern \"C\" void entry(void* const*, const long*, long, long) {}\n";
  source.cached = false;
  source.deadline_s = 0.2;
  try {
    cpuDevice().compile(source);
    FAIL("compiled");
  } catch (const CompileError& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(message.find("was stopped after 0.2 s without a result (NVFUSER_COMPILE_SECONDS)") !=
          std::string::npos);
  }
}

TEST_CASE("compile deadline: a fusion runs without a kernel that does not come in time") {
  WatchedDevice& device = stuckDevice();
  const Tensor x = Tensor::ones({2, 3}, DataType::Float, device);
  const OptionsGuard options(Options::current().set("COMPILE_SECONDS", "1"));
  FusionExecutorCache cache(shifted(1));
  CHECK(isRight(cache.runFusionWithInputs({x}), 2));
  CHECK(cache.report().find("interpreted on the host") != std::string::npos);
  const int asked = device.texts;
  CHECK(asked > 0);
  // It is not asked again, by this fusion or another one like it.
  CHECK(isRight(cache.runFusionWithInputs({x}), 2));
  const auto begin = std::chrono::steady_clock::now();
  FusionExecutorCache other(shifted(1));
  CHECK(isRight(other.runFusionWithInputs({x}), 2));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(900));
  CHECK(device.texts == asked);
  // When it comes after all, it is there.
  waitForKernels(device);
  FusionExecutorCache late(shifted(1));
  CHECK(isRight(late.runFusionWithInputs({x}), 2));
  CHECK(device.texts == asked);
  REQUIRE(late.executors().size() == 1);
  CHECK(late.executors()[0]->compiledKernel()->resources().from_cache);
  CHECK(device.launches == 1);
}

TEST_CASE("compile deadline: an error where nothing may run in another way") {
  WatchedDevice& device = stuckDevice();
  const Tensor x = Tensor::ones({2, 3}, DataType::Float, device);
  const OptionsGuard options(Options::current().set("COMPILE_SECONDS", "1").disable("fallback"));
  FusionExecutorCache cache(shifted(2));
  for (int i = 0; i < 2; ++i) {
    try {
      cache.runFusionWithInputs({x});
      FAIL("ran");
    } catch (const CompileError& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(message.find("compiling nvfuser_0_1 took longer than 1 s (NVFUSER_COMPILE_SECONDS)") !=
            std::string::npos);
    }
  }
  CHECK(device.texts == 1);
  waitForKernels(device);
  CHECK(isRight(cache.runFusionWithInputs({x}), 3));
  CHECK(device.texts == 1);
}

TEST_CASE("compile deadline: the kernels behind some that are stuck are compiled") {
  // One text a kernel, as for NVRTC, of which each processor has a thread that is stuck.
  WatchedDevice& device = WatchedDevice::over(emulatedDevice());
  device.played_kind = DeviceKind::Cuda;
  device.ignoreDeadlines();
  std::atomic<bool> open{false};
  device.compiler = [&](const KernelSource& source, std::span<const std::string> entries) {
    while (source.text.find("1234") != std::string::npos && !open) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return emulatedDevice().compileEntries(source, entries);
  };
  const OptionsGuard options(Options::current().set("COMPILE_SECONDS", "3"));
  const Tensor x = Tensor::ones({2, 3}, DataType::Float, device);
  const int stuck = availableProcessors();
  std::vector<std::unique_ptr<FusionExecutorCache>> caches;
  std::vector<CompiledKernel*> kernels;
  for (int i = 0; i < stuck + 2; ++i) {
    caches.push_back(std::make_unique<FusionExecutorCache>(shifted(i < stuck ? 1234000 + i : i)));
    caches.back()->prepare({x});
    kernels.push_back(
        caches.back()->executors().front()->waitingVariant(device, PrimDataType::Int32, {}));
  }
  const std::vector<std::exception_ptr> errors = compileKernels(kernels, nullptr);
  CHECK(std::count(errors.begin(), errors.end(), nullptr) == 2);
  CHECK(errors[static_cast<size_t>(stuck)] == nullptr);
  CHECK(device.texts == stuck + 2);
  open = true;
  while (device.atOnce() > 0) {
    std::this_thread::yield();
  }
}
