// One cache or executor called by several threads at the same time.
#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <support/error.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

constexpr int kThreads = 16;

/// Rows' sums of x * factor.
std::unique_ptr<Fusion> scaledSums(double factor) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  fusion->addOutput(sum(mul(x, IrBuilder::create<Val>(factor)), {1}));
  return fusion;
}

bool isRight(const KernelArgumentHolder& results, int64_t rows, double value) {
  return results[0].tensor().toHost<float>() ==
         std::vector<float>(static_cast<size_t>(rows), static_cast<float>(value));
}

}  // namespace

TEST_CASE("threads: fusions are defined, compiled and run by 16 threads at once") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    std::atomic<int> wrong{0};
    onThreads(kThreads, [&](int thread) {
      const double factor = 10 + thread % 5;  // so each is defined by three threads or four
      FusionExecutorCache cache(scaledSums(factor));
      for (int64_t rows : {2, 3}) {
        const Tensor x = Tensor::ones({rows, 16}, DataType::Float, *device);
        wrong += !isRight(cache.runFusionWithInputs({x}), rows, 16 * factor);
      }
    });
    CHECK(wrong == 0);
    CHECK(device->kernels == 5);
  }
}

TEST_CASE("threads: calls of one cache with the same and with different sizes") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache(scaledSums(2));
    std::atomic<int> wrong{0};
    onThreads(kThreads, [&](int thread) {
      for (int call = 0; call < 6; ++call) {
        const int64_t rows = 1 + (thread + call) % 4;
        const Tensor x = Tensor::ones({rows, 24}, DataType::Float, *device);
        wrong += !isRight(cache.runFusionWithInputs({x}), rows, 48);
        wrong += !cache.isCompiled({x});
        wrong += cache.numKernels() != 1;
        cache.report();
      }
    });
    CHECK(wrong == 0);
    CHECK(device->kernels == static_cast<int>(cache.numKernelsMade()));
  }
}

TEST_CASE("threads: while one key is compiled, others run") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache(scaledSums(5));
    const Tensor warm = Tensor::ones({2, 8}, DataType::Float, *device);
    cache.runFusionWithInputs({warm});
    // Wide rows: another plan, so another kernel.
    const Tensor cold = Tensor::ones({2, 1 << 14}, DataType::Float, *device);
    device->closeGate();
    std::atomic<int> wrong{0};
    const int before = device->texts;
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back(
          [&] { wrong += !isRight(cache.runFusionWithInputs({cold}), 2, 5.0 * (1 << 14)); });
    }
    while (device->texts == before) {
      std::this_thread::yield();
    }
    CHECK_FALSE(cache.isCompiled({cold}));
    for (int i = 0; i < 10; ++i) {
      CHECK(isRight(cache.runFusionWithInputs({warm}), 2, 40));
    }
    // A third key of the first kernel is planned and run as well.
    CHECK(isRight(cache.runFusionWithInputs({Tensor::ones({3, 8}, DataType::Float, *device)}), 3,
                  40));
    CHECK(device->texts == before + 1);
    device->openGate();
    for (std::thread& caller : callers) {
      caller.join();
    }
    CHECK(wrong == 0);
    CHECK(device->texts == before + 1);  // four calls, one compilation
    CHECK(cache.isCompiled({cold}));
  }
}

TEST_CASE("threads: a call that is wrong is an error in each thread, and hurts no other") {
  FusionExecutorCache cache(scaledSums(2));
  std::atomic<int> errors{0};
  std::atomic<int> wrong{0};
  onThreads(kThreads, [&](int thread) {
    for (int call = 0; call < 4; ++call) {
      try {
        const bool bad = (thread + call) % 2 == 0;
        const Tensor x =
            bad ? Tensor::ones({3}, DataType::Float) : Tensor::ones({3, 4}, DataType::Float);
        wrong += !isRight(cache.runFusionWithInputs({x}), 3, 8);
        wrong += bad;
      } catch (const UserError&) {
        ++errors;
      }
    }
  });
  CHECK(wrong == 0);
  CHECK(errors == kThreads * 2);
}

TEST_CASE("threads: each call draws random numbers of its own") {
  auto makeCache = [] {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    TensorView* x = makeContigTensor(1);
    fusion->addInput(x);
    fusion->addOutput(add(x, rand_like(x)));
    return std::make_unique<FusionExecutorCache>(std::move(fusion));
  };
  const Tensor x = Tensor::zeros({8}, DataType::Float);
  auto one = makeCache();
  one->setRandomState(7, 0);
  std::vector<std::vector<float>> in_turn;
  for (int i = 0; i < kThreads; ++i) {
    in_turn.push_back(one->runFusionWithInputs({x})[0].tensor().toHost<float>());
  }
  auto shared = makeCache();
  shared->setRandomState(7, 0);
  std::vector<std::vector<float>> at_once(kThreads);
  onThreads(kThreads, [&](int thread) {
    at_once[static_cast<size_t>(thread)] =
        shared->runFusionWithInputs({x})[0].tensor().toHost<float>();
  });
  std::sort(in_turn.begin(), in_turn.end());
  std::sort(at_once.begin(), at_once.end());
  CHECK(at_once == in_turn);
  CHECK(std::adjacent_find(in_turn.begin(), in_turn.end()) == in_turn.end());
}

TEST_CASE("threads: one executor, any sizes, devices and index types") {
  Fusion fusion;
  {
    FusionGuard guard(&fusion);
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    TensorView* y = neg(x);
    fusion.addOutput(y);
    y->split(0, 32);
    y->axis(0)->parallelize(ParallelType::BIDx);
    y->axis(1)->parallelize(ParallelType::TIDx);
  }
  const std::vector<WatchedDevice*> devices = watchedDevices();
  KernelExecutor executor;
  executor.compile(&fusion);
  std::atomic<int> wrong{0};
  onThreads(kThreads, [&](int thread) {
    for (int call = 0; call < 4; ++call) {
      WatchedDevice& device = *devices[static_cast<size_t>(thread + call) % 2];
      CompileParams params;
      if (thread % 4 < 2) {
        params.index_type = PrimDataType::Int;
      }
      const int64_t size = 10 + 50 * call;
      const Tensor x = Tensor::ones({size}, DataType::Float, device);
      const KernelArgumentHolder results = executor.run({x}, {}, LaunchParams(), params);
      wrong += !isRight(results, size, -1);
    }
  });
  CHECK(wrong == 0);
  CHECK(devices[0]->kernels == 1);
  CHECK(devices[1]->kernels == 2);
  CHECK(executor.compiledKernel() != nullptr);
}
