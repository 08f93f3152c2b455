// Repeated calls that were looked up once: addresses and numbers are given, and it launches.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <thread>

#include <capi/nvfuser_c.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/dlpack.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/repeated_launch.h>
#include <support/recently_used.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

using Define = std::function<void(Fusion&, TensorView*)>;

FusionExecutorCache cacheOf(const Define& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  define(*fusion, x);
  return FusionExecutorCache(std::move(fusion));
}

std::unique_ptr<FusionExecutorCache::RepeatedLaunch> launchOf(FusionExecutorCache& cache,
                                                              const KernelArgumentHolder& args) {
  LentArguments lent(args);
  return cache.repeatedLaunch(lent.span(), Options::current());
}

/// Its outputs; none if it refused.
std::vector<Tensor> run(FusionExecutorCache::RepeatedLaunch& launch,
                        const std::vector<LentWord>& words) {
  if (!launch.take(words.data())) {
    return {};
  }
  std::vector<Tensor> made;
  std::vector<void*> addresses;
  for (size_t i = 0; i < launch.numOutputs(); ++i) {
    const Allocator::Form form = launch.outputForm(i);
    made.push_back(Tensor::emptyStrided({form.sizes.begin(), form.sizes.end()},
                                        {form.strides.begin(), form.strides.end()}, form.dtype,
                                        launch.device(), true));
    addresses.push_back(made.back().data());
  }
  launch.run(addresses.data(), {});
  return made;
}

LentWord at(const Tensor& tensor) { return {.address = tensor.data()}; }

}  // namespace

TEST_CASE("repeated launch: other tensors and numbers than those it was made with") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache = cacheOf([](Fusion& fusion, TensorView* x) {
      Val* factor = IrBuilder::create<Val>(DataType::Double);
      Val* flag = IrBuilder::create<Val>(DataType::Bool);
      fusion.addInput(factor);
      fusion.addInput(flag);
      Val* count = IrBuilder::create<Val>(DataType::Int);
      fusion.addInput(count);
      TensorView* scaled = add(mul(x, factor), add(count, IrBuilder::create<Val>(int64_t{1})));
      fusion.addOutput(where(flag, scaled, neg(scaled)));
      fusion.addOutput(exp(scaled));
    });
    const KernelArgumentHolder args{Tensor::randn({7, 12}, DataType::Float, 3, *device), 0.5, true,
                                    7};
    CHECK(launchOf(cache, args) == nullptr);  // nothing is compiled yet
    CHECK(!cache.canRepeat());
    cache.runFusionWithInputs(args);
    CHECK(cache.canRepeat());
    const auto launch = launchOf(cache, args);
    REQUIRE(launch != nullptr);
    CHECK(&launch->device() == device);
    CHECK(!launch->allocates());
    const int launches = device->launches;
    for (int seed = 4; seed < 7; ++seed) {
      const Tensor x = Tensor::randn({7, 12}, DataType::Float, seed, *device);
      const bool flag = seed % 2 == 0;
      const int allocations = device->allocations;
      const std::vector<Tensor> got = run(
          *launch, {at(x), {.real = -1.5 * seed}, {.integer = flag ? 1 : 0}, {.integer = seed}});
      REQUIRE(got.size() == 2);
      CHECK(device->allocations == allocations + 2);  // by `run` above
      const KernelArgumentHolder want = cache.runFusionWithInputs({x, -1.5 * seed, flag, seed});
      for (size_t i = 0; i < 2; ++i) {
        CHECK(got[i].toHost<float>() == want[i].tensor().toHost<float>());
      }
    }
    CHECK(device->launches == launches + 6);
  }
}

TEST_CASE("repeated launch: it refuses what its plan is not for, and launches nothing then") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache = cacheOf([](Fusion& fusion, TensorView* x) {
      Val* shift = IrBuilder::create<Val>(DataType::Int);
      fusion.addInput(shift);
      fusion.addOutput(add(x, shift));
      fusion.addOutput(full({shift}, IrBuilder::create<Val>(1.0), DataType::Float));
    });
    const KernelArgumentHolder args{Tensor::randn({4, 8}, DataType::Float, 3, *device), 2};
    cache.runFusionWithInputs(args);
    const auto launch = launchOf(cache, args);
    REQUIRE(launch != nullptr);
    const Tensor& x = args[0].tensor();
    const int launches = device->launches;
    CHECK(run(*launch, {at(x), {.integer = 3}}).empty());
    const LentWord beside{.address = static_cast<float*>(x.data()) + 1};
    CHECK(run(*launch, {beside, {.integer = 2}}).empty());
    CHECK(device->launches == launches);
    CHECK(run(*launch, {at(x), {.integer = 2}}).size() == 2);
    CHECK(device->launches > launches);
  }
}

TEST_CASE("repeated launch: none where a number is complex") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache complex = cacheOf([](Fusion& fusion, TensorView* x) {
      Val* factor = IrBuilder::create<Val>(DataType::ComplexDouble);
      fusion.addInput(factor);
      fusion.addOutput(real(mul(x, factor)));
    });
    const KernelArgumentHolder args{Tensor::randn({8, 8}, DataType::Float, 5, *device),
                                    std::complex<double>(1, 2)};
    complex.runFusionWithInputs(args);
    CHECK(launchOf(complex, args) == nullptr);
  }
}

TEST_CASE("repeated launch: only for arguments like those of a call that ran") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache = cacheOf([](Fusion& fusion, TensorView* x) {
      Val* factor = IrBuilder::create<Val>(DataType::Double);
      fusion.addInput(factor);
      fusion.addOutput(exp(mul(x, factor)));
    });
    const KernelArgumentHolder args{Tensor::randn({7, 12}, DataType::Float, 3, *device), 0.5};
    cache.runFusionWithInputs(args);
    const Tensor& x = args[0].tensor();
    CHECK(launchOf(cache, {x, 1.0}) != nullptr);
    for (const KernelArgumentHolder& other :
         {KernelArgumentHolder{Tensor::randn({7, 13}, DataType::Float, 3, *device), 0.5},
          KernelArgumentHolder{Tensor::randn({12, 7}, DataType::Float, 3, *device).transpose(0, 1),
                               0.5},
          KernelArgumentHolder{Tensor::randn({7, 12}, DataType::Double, 3, *device), 0.5},
          KernelArgumentHolder{x, x}, KernelArgumentHolder{x, x, 0.5}, KernelArgumentHolder{0.5},
          KernelArgumentHolder{x, 1}}) {
      CAPTURE(other.toString());
      CHECK(launchOf(cache, other) == nullptr);
    }
    LentArguments lent(args);
    const Options shows = Options::current().dump("launch_param");
    CHECK(cache.repeatedLaunch(lent.span(), shows) == nullptr);
    const Options others = Options::current().disable("fma");
    CHECK(cache.repeatedLaunch(lent.span(), others) == nullptr);
  }
}

TEST_CASE("repeated launch: of several kernels, with memory between them") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache = cacheOf([](Fusion& fusion, TensorView* x) {
      TensorView* columns = sum(x, {0});
      TensorView* share = div(x, broadcast(columns, {true, false}));
      TensorView* rows = sum(share, {1});
      fusion.addOutput(rows);
      fusion.addOutput(sum(mul(share, broadcast(rows, {false, true})), {0}));
    });
    const KernelArgumentHolder args{Tensor::randn({70, 130}, DataType::Float, 3, *device)};
    cache.runFusionWithInputs(args);
    REQUIRE(cache.numKernels() > 1);
    const auto launch = launchOf(cache, args);
    REQUIRE(launch != nullptr);
    CHECK(launch->allocates());
    for (int seed = 4; seed < 6; ++seed) {
      const Tensor x = Tensor::randn({70, 130}, DataType::Float, seed, *device);
      const int launches = device->launches;
      const int allocations = device->allocations;
      const std::vector<Tensor> got = run(*launch, {at(x)});
      CHECK(device->launches == launches + static_cast<int>(cache.numKernels()));
      CHECK(device->allocations >= allocations + 3);  // two by `run` above
      const KernelArgumentHolder want = cache.runFusionWithInputs({x});
      REQUIRE(got.size() == 2);
      for (size_t i = 0; i < 2; ++i) {
        CHECK(got[i].toHost<float>() == want[i].tensor().toHost<float>());
      }
    }
  }
}

TEST_CASE("repeated launch: an argument is updated, if it is apart from the others") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache = cacheOf([](Fusion& fusion, TensorView* x) {
      TensorView* other = makeContigTensor(2);
      fusion.addInput(other);
      TensorView* updated = add(x, other);
      fusion.addOutput(neg(updated));
      fusion.aliasOutputToInput(updated, x, AllocationType::ReuseBuffer);
    });
    const Tensor memory = Tensor::ones({10, 64}, DataType::Float, *device);
    const auto rows = [&](int64_t first) { return memory.asStrided({4, 64}, {64, 1}, first * 64); };
    cache.runFusionWithInputs({rows(0), rows(4)});
    const auto launch = launchOf(cache, {rows(0), rows(4)});
    REQUIRE(launch != nullptr);
    CHECK(launch->updated() == std::vector<size_t>{0});
    CHECK(launch->numOutputs() == 1);
    const std::vector<Tensor> got = run(*launch, {at(rows(0)), at(rows(4))});
    REQUIRE(got.size() == 1);
    CHECK(got[0].toHost<float>() == std::vector<float>(256, -3));
    CHECK(rows(0).contiguous().toHost<float>() == std::vector<float>(256, 3));
    CHECK(run(*launch, {at(rows(6)), at(rows(2))}).size() == 1);  // side by side
    const int launches = device->launches;
    CHECK(run(*launch, {at(rows(0)), at(rows(2))}).empty());
    CHECK(run(*launch, {at(rows(2)), at(rows(0))}).empty());
    CHECK(run(*launch, {at(rows(0)), at(rows(0))}).empty());
    CHECK(device->launches == launches);
  }
}

TEST_CASE("repeated launch: only where all is launches and each output has memory of its own") {
  struct Case {
    const char* name;
    Define define;
  };
  const Case cases[] = {
      {"a view", [](Fusion& fusion, TensorView* x) { fusion.addOutput(transpose(x, 0, 1)); }},
      {"an input as output",
       [](Fusion& fusion, TensorView* x) {
         fusion.addOutput(neg(x));
         fusion.addOutput(x);
       }},
      {"an output twice",
       [](Fusion& fusion, TensorView* x) {
         TensorView* y = neg(x);
         fusion.addOutput(y);
         fusion.addOutput(y);
       }},
      {"an update by a copy, since the argument is shown as it was",
       [](Fusion& fusion, TensorView* x) {
         fusion.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
         fusion.addOutput(transpose(x, 0, 1));
       }},
      {"a library's operation",
       [](Fusion& fusion, TensorView* x) { fusion.addOutput(matmul(x, x)); }},
  };
  for (WatchedDevice* device : watchedDevices()) {
    for (const Case& one : cases) {
      CAPTURE(device->properties().name);
      CAPTURE(std::string(one.name));
      FusionExecutorCache cache = cacheOf(one.define);
      const KernelArgumentHolder args{Tensor::randn({8, 8}, DataType::Float, 5, *device)};
      for (int call = 0; call < 2; ++call) {
        cache.runFusionWithInputs(args);
        CHECK(launchOf(cache, args) == nullptr);
        CHECK(!cache.canRepeat());
      }
    }
  }
}

TEST_CASE("repeated launch: it outlives the cache's memory of its key, and draws as a call does") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache =
        cacheOf([](Fusion& fusion, TensorView* x) { fusion.addOutput(add(x, rand_like(x))); });
    const KernelArgumentHolder args{Tensor::ones({2, 3}, DataType::Float, *device)};
    cache.runFusionWithInputs(args);
    const auto launch = launchOf(cache, args);
    REQUIRE(launch != nullptr);
    for (int64_t rows = 3; rows < 270; ++rows) {  // more keys than are kept
      cache.prepare({Tensor::ones({rows, 3}, DataType::Float, *device)});
    }
    CHECK(launchOf(cache, args) == nullptr);
    cache.setRandomState(7, 0);
    const std::vector<float> first = cache.runFusionWithInputs(args)[0].tensor().toHost<float>();
    const std::vector<float> second = cache.runFusionWithInputs(args)[0].tensor().toHost<float>();
    cache.setRandomState(7, 0);
    CHECK(run(*launch, {at(args[0].tensor())}).at(0).toHost<float>() == first);
    CHECK(run(*launch, {at(args[0].tensor())}).at(0).toHost<float>() == second);
  }
}

TEST_CASE("repeated launch: tensors without elements launch nothing") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache =
        cacheOf([](Fusion& fusion, TensorView* x) { fusion.addOutput(exp(neg(x))); });
    const KernelArgumentHolder none{Tensor::empty({0, 8}, DataType::Float, *device)};
    cache.runFusionWithInputs(none);
    const auto launch = launchOf(cache, none);
    REQUIRE(launch != nullptr);
    const int launches = device->launches;
    CHECK(run(*launch, {{.address = nullptr}}).at(0).sizes() == std::vector<int64_t>{0, 8});
    CHECK(device->launches == launches);
  }
}

TEST_CASE("repeated launch: from many threads, beside calls that are not") {
  using Launch = FusionExecutorCache::RepeatedLaunch;
  FusionExecutorCache cache = cacheOf([](Fusion& fusion, TensorView* x) {
    Val* factor = IrBuilder::create<Val>(DataType::Double);
    fusion.addInput(factor);
    fusion.addOutput(mul(x, add(factor, factor)));  // computed in each call
  });
  cache.runFusionWithInputs({Tensor::ones({2, 8}, DataType::Float, cpuDevice()), 1.0});
  std::atomic<int> wrong = 0;
  RecentlyUsed<Launch, 2> known;
  const auto work = [&](int seed) {
    for (int i = 0; i < 200; ++i) {
      const double factor = seed * 1000 + i;
      const int64_t rows = 2 + i / 20 % 2;  // the launches are for two
      const Tensor x = Tensor::ones({rows, 8}, DataType::Float, cpuDevice());
      const std::vector<float> want(static_cast<size_t>(8 * rows), static_cast<float>(2 * factor));
      std::vector<Tensor> got;
      const auto repeat = [&](Launch& launch) {
        got = run(launch, {at(x), {.real = factor}});
        return !got.empty();
      };
      if (rows == 2 && !known.useOne(repeat)) {
        auto launch = launchOf(cache, {x, factor});
        wrong += launch == nullptr || !repeat(*launch) ? 1 : 0;
        known.keep(std::move(launch));
      } else if (rows != 2) {
        got.push_back(cache.runFusionWithInputs({x, factor})[0].tensor());
      }
      wrong += got.size() != 1 || got[0].toHost<float>() != want ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  for (int seed = 1; seed <= 4; ++seed) {
    threads.emplace_back(work, seed);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("repeated launch: through the C interface") {
  nvf_fusion* fusion = nullptr;
  REQUIRE(nvf_fusion_create(&fusion) == NVF_OK);
  int64_t x = 0;
  int64_t y = 0;
  int64_t count = 0;
  REQUIRE(nvf_define_tensor(fusion, 1, nullptr, nullptr, NVF_FLOAT, &x) == NVF_OK);
  nvf_argument operand = {};
  operand.kind = NVF_ARG_VALUE;
  operand.integer = x;
  REQUIRE(nvf_op(fusion, "neg", &operand, 1, &y, 1, &count) == NVF_OK);
  REQUIRE(nvf_add_output(fusion, y) == NVF_OK);
  alignas(64) float values[] = {1, 2, 3, 4};
  int64_t sizes[] = {3};
  int64_t strides[] = {1};
  DLTensor lent{values, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, sizes, strides, 0};
  nvf_argument input = {};
  input.kind = NVF_ARG_TENSOR;
  input.tensor = &lent;
  nvf_launch* launch = nullptr;
  REQUIRE(nvf_launch_create(fusion, &input, 1, &launch) == NVF_OK);
  CHECK(launch == nullptr);  // there is no kernel yet
  ::DLManagedTensor* output = nullptr;
  REQUIRE(nvf_execute(fusion, &input, 1, &output, 1, &count) == NVF_OK);
  auto* managed = reinterpret_cast<nvfuser::DLManagedTensor*>(output);
  managed->deleter(managed);
  lent.strides = nullptr;  // row-major by another name: for the call that copies
  REQUIRE(nvf_launch_create(fusion, &input, 1, &launch) == NVF_OK);
  CHECK(launch == nullptr);
  lent.strides = strides;
  REQUIRE(nvf_launch_create(fusion, &input, 1, &launch) == NVF_OK);
  REQUIRE(launch != nullptr);
  nvf_tensor_form form = {};
  REQUIRE(nvf_launch_output(launch, 0, &form) == NVF_OK);
  CHECK(form.dtype == NVF_FLOAT);
  CHECK(form.device_type == kDLCPU);
  CHECK(form.device_id == 0);
  REQUIRE(form.ndims == 1);
  CHECK(form.sizes[0] == 3);
  CHECK(form.strides[0] == 1);
  CHECK(nvf_launch_output(launch, 1, &form) == NVF_ARGUMENT_ERROR);
  CHECK(std::string(nvf_last_error()) == "launch: there is no output 1; there are 1");
  alignas(64) float result[3] = {};
  void* outputs[] = {result};
  nvf_word word = {values};
  int32_t done = 0;
  REQUIRE(nvf_launch_run(launch, &word, outputs, nullptr, &done) == NVF_OK);
  CHECK(done == 1);
  CHECK(std::vector<float>(result, result + 3) == std::vector<float>{-1, -2, -3});
  word.address = values + 1;
  REQUIRE(nvf_launch_run(launch, &word, outputs, nullptr, &done) == NVF_OK);
  CHECK(done == 0);
  CHECK(nvf_launch_run(launch, nullptr, outputs, nullptr, &done) == NVF_ARGUMENT_ERROR);
  CHECK(nvf_launch_run(nullptr, &word, outputs, nullptr, &done) == NVF_ARGUMENT_ERROR);
  nvf_launch_destroy(launch);
  nvf_launch_destroy(nullptr);
  nvf_fusion_destroy(fusion);
}
