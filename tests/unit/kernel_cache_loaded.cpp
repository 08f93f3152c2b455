// Kernels that several fusions or threads ask for are compiled once in a process.
#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include <cache_folder.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/compile_batch.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/kernel_cache/loaded_kernels.h>
#include <support/error.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

class NoKernel final : public LoadedKernel {
 public:
  const KernelResources& resources() const override { return resources_; }
  std::string assembly(const std::string&) const override { return ""; }

 private:
  KernelResources resources_;
};

std::unique_ptr<Fusion> scaled(double factor) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  fusion->addOutput(sum(mul(x, IrBuilder::create<Val>(factor)), {1}));
  return fusion;
}

}  // namespace

TEST_CASE("loaded kernels: one compiles, the others wait for it") {
  LoadedKernels kernels(8);
  const LoadedKernels::Ticket mine = kernels.claim("a");
  REQUIRE(mine.mine);
  CHECK(kernels.claim("b").mine);
  const LoadedKernels::Ticket others = kernels.claim("a");
  CHECK_FALSE(others.mine);
  auto kernel = std::make_shared<NoKernel>();
  LoadedKernels::Kernel seen;
  std::thread waiting([&] { seen = kernels.wait(others, nullptr); });
  kernels.finish(mine, kernel);
  waiting.join();
  CHECK(seen == kernel);
  CHECK(kernels.wait(kernels.claim("a"), nullptr) == kernel);
  CHECK(LoadedKernels::claimAlone().mine);
}

TEST_CASE("loaded kernels: a failure is told to those who wait, and tried again by the next") {
  LoadedKernels kernels(8);
  const LoadedKernels::Ticket mine = kernels.claim("a");
  const LoadedKernels::Ticket others = kernels.claim("a");
  kernels.fail(mine, std::make_exception_ptr(CompileError("refused", "log")));
  CHECK_THROWS_AS(kernels.wait(others, nullptr), CompileError);
  CHECK_THROWS_AS(kernels.wait(mine, nullptr), CompileError);
  CHECK(kernels.size() == 0);
  CHECK(kernels.claim("a").mine);
}

TEST_CASE("loaded kernels: a failure is told to a thread that sleeps") {
  LoadedKernels kernels(8);
  const LoadedKernels::Ticket mine = kernels.claim("a");
  const LoadedKernels::Ticket others = kernels.claim("a");
  std::atomic<bool> told{false};
  std::thread waiting([&] {
    try {
      kernels.wait(others, nullptr);
    } catch (const CompileError&) {
      told = true;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kernels.fail(mine, std::make_exception_ptr(CompileError("refused", "log")));
  waiting.join();
  CHECK(told);
}

TEST_CASE("loaded kernels: a fork's child compiles what its parent's threads compile") {
  LoadedKernels kernels(8);
  const LoadedKernels::Ticket parents = kernels.claim("a");
  const LoadedKernels::Ticket done = kernels.claim("b");
  kernels.finish(done, std::make_shared<NoKernel>());
  CHECK(cache_test::inChild([&] {
          return kernels.claim("a").mine && !kernels.claim("a").mine && !kernels.claim("b").mine
                     ? 0
                     : 1;
        }) == 0);
  CHECK_FALSE(kernels.claim("a").mine);
}

TEST_CASE("loaded kernels: of those that nobody uses, the last used stay") {
  LoadedKernels kernels(2);
  const auto used = std::make_shared<NoKernel>();
  kernels.finish(kernels.claim("used"), used);
  for (const char* key : {"a", "b", "c", "d"}) {
    kernels.finish(kernels.claim(key), std::make_shared<NoKernel>());
  }
  kernels.finish(kernels.claim("last"), used);
  CHECK_FALSE(kernels.claim("used").mine);
  CHECK_FALSE(kernels.claim("d").mine);
  CHECK(kernels.claim("a").mine);
}

TEST_CASE("loaded kernels: equal kernels of different fusions and threads are compiled once") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    const Tensor x = Tensor::ones({4, 32}, DataType::Float, *device);
    std::atomic<int> wrong{0};
    std::atomic<int> found{0};
    onThreads(8, [&](int) {
      FusionExecutorCache cache(scaled(3));
      const Tensor sums = cache.runFusionWithInputs({x})[0].tensor();
      wrong += sums.toHost<float>() != std::vector<float>(4, 96);
      found += cache.executors()[0]->compiledKernel()->resources().from_cache;
    });
    CHECK(wrong == 0);
    CHECK(device->kernels == 1);
    CHECK(found >= 7);  // the one that compiled may have found it on the disk
    FusionExecutorCache(scaled(3)).runFusionWithInputs({x});  // all others are gone
    CHECK(device->kernels == 1);
    FusionExecutorCache(scaled(4)).runFusionWithInputs({x});
    CHECK(device->kernels == 2);
    // Options that reach the code, and asking for it.
    {
      const OptionsGuard options(Options::current().set("HOST_OPT_LEVEL", "0"));
      FusionExecutorCache(scaled(3)).runFusionWithInputs({x});
      CHECK(device->kernels == 3);
    }
    const OptionsGuard options(Options::current().disable("nvrtc_caching"));
    FusionExecutorCache(scaled(3)).runFusionWithInputs({x});
    CHECK(device->kernels == 4);
  }
}

TEST_CASE("loaded kernels: many kernels are compiled at the same time, with the same results") {
  constexpr int kKernels = 6;
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    const OptionsGuard anew(Options::current().disable("nvrtc_caching"));
    const Tensor x = Tensor::randn({5, 33}, DataType::Float, 1, *device);
    auto run = [&](bool together) {
      std::vector<std::unique_ptr<FusionExecutorCache>> caches;
      std::vector<KernelExecutor*> executors;
      for (int i = 0; i < kKernels; ++i) {
        caches.push_back(std::make_unique<FusionExecutorCache>(scaled(i + 2)));
        caches.back()->prepare({x});
        executors.push_back(caches.back()->executors().front());
      }
      if (together) {
        compileBatch(executors, *device, PrimDataType::Int32);
      }
      std::vector<float> results;
      for (const auto& cache : caches) {
        const std::vector<float> sums = cache->runFusionWithInputs({x})[0].tensor().toHost<float>();
        results.insert(results.end(), sums.begin(), sums.end());
      }
      return results;
    };
    const std::vector<float> alone = run(false);
    CHECK(device->texts == kKernels);
    CHECK(device->mostAtOnce() == 1);
    device->waitForCompany();
    CHECK(run(true) == alone);
    CHECK(device->kernels == 2 * kKernels);
    const int processors = availableProcessors();
    CHECK(device->texts <= kKernels + processors);
    CHECK((device->mostAtOnce() > 1) == (processors > 1));
  }
}
