// Launches of one kernel that do not wait for each other are one launch with a table.
#include <doctest/doctest.h>

#include <numeric>

#include <codegen/launch_table.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/repeated_launch.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

using Floats = std::vector<float>;

TensorView* input(Fusion& fusion, size_t rank) {
  TensorView* tv = makeContigTensor(rank);
  fusion.addInput(tv);
  return tv;
}

Val* number(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

Tensor filled(const std::vector<int64_t>& sizes, float first, Device& device) {
  const int64_t count =
      std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  Floats values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return Tensor::fromHost(values, sizes, device);
}

/// Calls a fusion twice: as it is planned, and as launches alone; gives how many these were. The
/// arguments are what both calls left of them.
int launchesOf(FusionExecutorCache& cache, const KernelArgumentHolder& args, WatchedDevice& device,
               std::vector<Tensor>* outputs = nullptr) {
  cache.runFusionWithInputs(args);
  LentArguments lent(args);
  const auto launch = cache.repeatedLaunch(lent.span(), Options::current());
  REQUIRE(launch != nullptr);
  std::vector<LentWord> words;
  for (size_t i = 0; i < args.size(); ++i) {
    words.push_back({.address = args[i].tensor().data()});
  }
  REQUIRE(launch->take(words.data()));
  std::vector<Tensor> made;
  std::vector<void*> addresses;
  for (size_t i = 0; i < launch->numOutputs(); ++i) {
    const Allocator::Form form = launch->outputForm(i);
    made.push_back(Tensor::emptyStrided({form.sizes.begin(), form.sizes.end()},
                                        {form.strides.begin(), form.strides.end()}, form.dtype,
                                        device, true));
    addresses.push_back(made.back().data());
  }
  const int before = device.launches;
  launch->run(addresses.data(), {});
  if (outputs != nullptr) {
    *outputs = made;
  }
  return device.launches - before;
}

std::vector<WatchedDevice*> gpus() {
  std::vector<WatchedDevice*> found;
  for (WatchedDevice* device : watchedDevices()) {
    if (device->kind() != DeviceKind::Cpu) {
      found.push_back(device);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("launch groups: an optimizer's step over many tensors, each with its count") {
  constexpr int64_t kTensors = 90;  // more than one table has room for
  for (WatchedDevice* device : gpus()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    KernelArgumentHolder args;
    for (int64_t i = 0; i < kTensors; ++i) {
      TensorView* p = input(*fusion, 1);
      TensorView* count = input(*fusion, 0);
      TensorView* next = add(count, number(1));
      fusion->aliasOutputToInput(add(p, broadcast(next, {true})), p, AllocationType::ReuseBuffer);
      fusion->aliasOutputToInput(next, count, AllocationType::ReuseBuffer);
      args.push(filled({17 * (i % 7) + 300 * (i % 3) + 2}, 0, *device));
      args.push(filled({}, static_cast<float>(i), *device));
    }
    FusionExecutorCache cache(std::move(fusion));
    const int launches = launchesOf(cache, args, *device);
    CHECK(launches <= 12);
    for (int64_t i = 0; i < kTensors; ++i) {
      const float count = static_cast<float>(i);
      CHECK(args[static_cast<size_t>(2 * i + 1)].tensor().toHost<float>() == Floats{count + 2});
      const Floats got = args[static_cast<size_t>(2 * i)].tensor().toHost<float>();
      Floats wanted(got.size());
      std::iota(wanted.begin(), wanted.end(), 2 * count + 3);
      CHECK(got == wanted);
    }
  }
}

TEST_CASE("launch groups: sums of rows, and grids of two dimensions") {
  for (WatchedDevice* device : gpus()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    KernelArgumentHolder args;
    std::vector<std::vector<int64_t>> shapes;
    for (int64_t i = 0; i < 8; ++i) {
      TensorView* x = input(*fusion, 2);
      fusion->addOutput(sum(x, {1}));
      TensorView* row = input(*fusion, 1);
      fusion->addOutput(permute(mul(x, broadcast(row, {true, false})), {1, 0}));
      shapes.push_back({40 + 3 * i, 64});
      args.push(filled(shapes.back(), static_cast<float>(i), *device));
      args.push(Tensor::ones({64}, DataType::Float, *device));
    }
    FusionExecutorCache cache(std::move(fusion));
    std::vector<Tensor> outputs;
    const int launches = launchesOf(cache, args, *device, &outputs);
    CHECK(launches <= 10);
    REQUIRE(outputs.size() == 16);
    for (size_t i = 0; i < 8; ++i) {
      const Floats x = args[2 * i].tensor().toHost<float>();
      const Floats sums = outputs[2 * i].toHost<float>();
      const Floats turned = outputs[2 * i + 1].toHost<float>();
      const auto rows = static_cast<size_t>(shapes[i][0]);
      for (size_t r = 0; r < rows; ++r) {
        CHECK(sums[r] == doctest::Approx(std::accumulate(&x[64 * r], &x[64 * r] + 64, 0.0)));
        for (size_t c = 0; c < 64; c += 9) {
          REQUIRE(turned[c * rows + r] == x[64 * r + c]);
        }
      }
    }
  }
}

TEST_CASE("launch groups: who reads what another one writes stays behind it") {
  for (WatchedDevice* device : gpus()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    // Each is made of the one before, by the same kernel.
    KernelArgumentHolder args;
    TensorView* x = input(*fusion, 1);
    args.push(filled({64}, 0, *device));
    for (int64_t i = 0; i < 10; ++i) {
      x = add(sum(broadcast(x, {true, false}), {0}), number(1));
      fusion->addOutput(x);
      x = segment_set(x);
    }
    FusionExecutorCache cache(std::move(fusion));
    std::vector<Tensor> outputs;
    launchesOf(cache, args, *device, &outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Floats wanted(64);
      std::iota(wanted.begin(), wanted.end(), static_cast<float>(i + 1));
      CHECK(outputs[i].toHost<float>() == wanted);
    }
  }
}

TEST_CASE("launch tables: the form is that of the C++ struct") {
  struct Entry {
    float* a;
    int n;
    double d;
    bool flag;
    unsigned int grid_x, grid_y, grid_z;
  };
  kir::Kernel kernel;
  kernel.index_type = DataType::Int32;
  kir::Buffer buffer;
  kernel.params = {{kir::ParamKind::TensorArg, "a", DataType::Float, &buffer},
                   {kir::ParamKind::IndexArg, "n", DataType::Index},
                   {kir::ParamKind::ScalarArg, "d", DataType::Double},
                   {kir::ParamKind::ScalarArg, "flag", DataType::Bool}};
  const std::optional<LaunchTableForm> form = launchTableForm(kernel);
  REQUIRE(form.has_value());
  CHECK(form->params[1].offset == offsetof(Entry, n));
  CHECK(form->params[2].offset == offsetof(Entry, d));
  CHECK(form->params[3].offset == offsetof(Entry, flag));
  CHECK(form->grid == offsetof(Entry, grid_x));
  CHECK(form->entry_bytes == sizeof(Entry));
  CHECK(form->bytes() <= 4096);
  kernel.params.assign(200, kernel.params[0]);
  CHECK(!launchTableForm(kernel).has_value());
  kernel.params = {{kir::ParamKind::ScalarArg, "z", DataType::ComplexFloat}};
  CHECK(!launchTableForm(kernel).has_value());
}

TEST_CASE("launch groups: chains over small tensors between launches, each step of all in one") {
  constexpr int64_t kChains = 8;
  for (WatchedDevice* device : gpus()) {
    CAPTURE(device->properties().name);
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    KernelArgumentHolder args;
    for (int64_t i = 0; i < kChains; ++i) {
      TensorView* x = input(*fusion, 2);
      TensorView* columns = segment_set(sum(x, {0}));
      TensorView* share = segment_set(div(columns, sum(columns, {0}, true)));
      fusion->addOutput(mul(x, broadcast(share, {true, false})));
      args.push(Tensor::ones({12, 32}, DataType::Float, *device));
    }
    FusionExecutorCache cache(std::move(fusion));
    std::vector<Tensor> outputs;
    CHECK(launchesOf(cache, args, *device, &outputs) <= 3);
    REQUIRE(outputs.size() == kChains);
    for (const Tensor& output : outputs) {
      for (float value : output.toHost<float>()) {
        REQUIRE(value == doctest::Approx(1.0 / 32));
      }
    }
  }
}
