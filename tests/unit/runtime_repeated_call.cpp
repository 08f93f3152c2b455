// Calls that are repeated with arguments that are only lent, and outputs of the caller's making.
#include <doctest/doctest.h>

#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

class TensorsMade final : public OutputMaker {
 public:
  bool make(size_t index, const Allocator::Form& form, Device& device, Stream,
            void** data) override {
    CHECK(index == made.size());
    if (refuses) {
      return false;
    }
    made.push_back(Tensor::emptyStrided({form.sizes.begin(), form.sizes.end()},
                                        {form.strides.begin(), form.strides.end()}, form.dtype,
                                        device, true));
    *data = made.back().data();
    return true;
  }

  bool refuses = false;
  std::vector<Tensor> made;
};

std::unique_ptr<Fusion> fusionOf(const std::function<void(Fusion&, TensorView*)>& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  TensorView* x = makeContigTensor(2);
  fusion->addInput(x);
  define(*fusion, x);
  return fusion;
}

bool repeated(FusionExecutorCache& cache, const KernelArgumentHolder& args, TensorsMade& outputs) {
  LentArguments lent(args);
  return cache.repeat(lent.span(), {}, outputs, Options::current());
}

}  // namespace

TEST_CASE("repeated call: the same results as a call, into tensors that the caller makes") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache(fusionOf([](Fusion& fusion, TensorView* x) {
      Val* factor = IrBuilder::create<Val>(DataType::Double);
      fusion.addInput(factor);
      TensorView* scaled = mul(x, factor);
      fusion.addOutput(scaled);
      fusion.addOutput(exp(neg(scaled)));
    }));
    const KernelArgumentHolder args{Tensor::randn({7, 12}, DataType::Float, 3, *device), 0.5};
    TensorsMade none;
    CHECK(!cache.canRepeat());
    CHECK(!repeated(cache, args, none));
    const KernelArgumentHolder expected = cache.runFusionWithInputs(args);
    CHECK(cache.canRepeat());
    TensorsMade outputs;
    REQUIRE(repeated(cache, args, outputs));
    REQUIRE(outputs.made.size() == 2);
    for (size_t i = 0; i < 2; ++i) {
      CHECK(outputs.made[i].toHost<float>() == expected[i].tensor().toHost<float>());
    }
    // Another number is the same kind of call; other sizes, strides, dtypes and kinds are not.
    TensorsMade doubled;
    const Tensor& x = args[0].tensor();
    REQUIRE(repeated(cache, {x, 1.0}, doubled));
    CHECK(doubled.made[0].toHost<float>() == x.toHost<float>());
    for (const KernelArgumentHolder& other :
         {KernelArgumentHolder{Tensor::randn({7, 13}, DataType::Float, 3, *device), 0.5},
          KernelArgumentHolder{Tensor::randn({12, 7}, DataType::Float, 3, *device).transpose(0, 1),
                               0.5},
          KernelArgumentHolder{Tensor::randn({7, 12}, DataType::Double, 3, *device), 0.5},
          KernelArgumentHolder{x, x}, KernelArgumentHolder{x, x, 0.5}, KernelArgumentHolder{0.5},
          KernelArgumentHolder{x, std::complex<double>(0, 1)}}) {
      CAPTURE(other.toString());
      CHECK(!repeated(cache, other, none));
    }
    CHECK(none.made.empty());
  }
}

TEST_CASE(
    "repeated call: it launches once, allocates nothing, and does nothing if an output is "
    "not made") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache(
        fusionOf([](Fusion& fusion, TensorView* x) { fusion.addOutput(exp(neg(x))); }));
    const KernelArgumentHolder args{Tensor::randn({4, 8}, DataType::Float, 5, *device)};
    const KernelArgumentHolder expected = cache.runFusionWithInputs(args);
    const int launches = device->launches;
    TensorsMade refused;
    refused.refuses = true;
    CHECK(!repeated(cache, args, refused));
    CHECK(device->launches == launches);
    TensorsMade outputs;
    const int allocations = device->allocations;
    CHECK(repeated(cache, args, outputs));
    CHECK(device->launches == launches + 1);
    CHECK(device->allocations == allocations + 1);  // by the maker
    CHECK(outputs.made.at(0).toHost<float>() == expected[0].tensor().toHost<float>());
  }
}

TEST_CASE("repeated call: only where all is one launch and each output has memory of its own") {
  struct Case {
    const char* name;
    std::function<void(Fusion&, TensorView*)> define;
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
      {"an update of an input",
       [](Fusion& fusion, TensorView* x) {
         fusion.aliasOutputToInput(neg(x), x, AllocationType::ReuseBuffer);
       }},
      {"a library's operation",
       [](Fusion& fusion, TensorView* x) { fusion.addOutput(matmul(x, x)); }},
  };
  for (WatchedDevice* device : watchedDevices()) {
    for (const Case& one : cases) {
      CAPTURE(device->properties().name);
      CAPTURE(one.name);
      FusionExecutorCache cache(fusionOf(one.define));
      const KernelArgumentHolder args{Tensor::randn({8, 8}, DataType::Float, 5, *device)};
      for (int call = 0; call < 2; ++call) {
        cache.runFusionWithInputs(args);
        TensorsMade outputs;
        CHECK(!repeated(cache, args, outputs));
        CHECK(!cache.canRepeat());
      }
    }
  }
}

TEST_CASE("repeated call: tensors without elements, and random numbers of the cache's own state") {
  for (WatchedDevice* device : watchedDevices()) {
    CAPTURE(device->properties().name);
    FusionExecutorCache cache(
        fusionOf([](Fusion& fusion, TensorView* x) { fusion.addOutput(add(x, rand_like(x))); }));
    const KernelArgumentHolder none{Tensor::empty({0, 8}, DataType::Float, *device)};
    cache.runFusionWithInputs(none);
    const int launches = device->launches;
    TensorsMade empty;
    CHECK(repeated(cache, none, empty));
    CHECK(device->launches == launches);
    CHECK(empty.made.at(0).sizes() == std::vector<int64_t>{0, 8});
    const KernelArgumentHolder args{Tensor::ones({4, 8}, DataType::Float, *device)};
    cache.setRandomState(7, 0);
    cache.runFusionWithInputs(args);
    const std::vector<float> second = cache.runFusionWithInputs(args)[0].tensor().toHost<float>();
    cache.setRandomState(7, 0);
    cache.runFusionWithInputs(args);
    TensorsMade again;
    CHECK(repeated(cache, args, again));
    CHECK(again.made.at(0).toHost<float>() == second);
  }
}
