// A caller's stream and memory: everything that a call allocates comes from there and goes back.
#include <doctest/doctest.h>

#include <map>
#include <mutex>

#include <capi/nvfuser_c.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/dlpack.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/run_context.h>
#include <support/error.h>
#include <watched_device.h>

using namespace nvfuser;

namespace {

/// Memory of the device under a watched one, each block with a handle of its own.
class CountingAllocator final : public Allocator {
 public:
  explicit CountingAllocator(Device& under) : under_(under) {}

  Block allocate(size_t bytes, Device& device, Stream stream) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++allocations;
    wrong += device.kind() != under_.kind() || stream != expected_stream || bytes == 0;
    void* data = under_.allocate(bytes, stream);
    live_[data] = ++next_handle_;
    return {data, next_handle_};
  }
  void release(const Block& block, Device&, Stream stream) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(block.data);
    wrong += found == live_.end() || found->second != block.handle || stream != expected_stream;
    if (found != live_.end()) {
      live_.erase(found);
      under_.release(block.data, stream);
    }
  }

  size_t live() const { return live_.size(); }
  int allocations = 0;
  int wrong = 0;
  Stream expected_stream = nullptr;

 private:
  Device& under_;
  std::mutex mutex_;
  std::map<void*, char*> live_;
  char* next_handle_ = nullptr;
};

struct Case {
  const char* name;
  std::function<std::vector<TensorView*>(TensorView*)> define;
  size_t outputs_with_memory;  ///< of their own
  int least_allocations;
};

const Case kCases[] = {
    {"a kernel", [](TensorView* x) { return std::vector{neg(x)}; }, 1, 1},
    {"two kernels and a tensor between them",
     [](TensorView* x) {
       return std::vector{sum(mul(transpose(sum(x, {0}, true)), sum(x, {1}, true)), {0, 1})};
     },
     1, 2},
    {"a library's operation", [](TensorView* x) { return std::vector{matmul(x, x)}; }, 1, 1},
    {"an operation between kernels",
     [](TensorView* x) { return std::vector{neg(matmul(exp(x), x))}; }, 1, 3},
    {"a view", [](TensorView* x) { return std::vector{transpose(x), neg(x)}; }, 1, 1},
};

}  // namespace

TEST_CASE("run context: a call of a cache allocates from the caller alone, and gives all back") {
  int stream = 0;  // an address that is handed on, whatever it means
  for (Device* inner : {&cpuDevice(), &emulatedDevice()}) {
    for (const Case& one : kCases) {
      CAPTURE(inner->properties().name);
      CAPTURE(one.name);
      WatchedDevice& device = WatchedDevice::over(*inner);
      auto fusion = std::make_unique<Fusion>();
      {
        FusionGuard guard(fusion.get());
        TensorView* x = makeContigTensor(2);
        fusion->addInput(x);
        for (TensorView* out : one.define(x)) {
          fusion->addOutput(out);
        }
      }
      FusionExecutorCache cache(std::move(fusion));
      const Tensor x = Tensor::randn({8, 8}, DataType::Float, 3, device);
      const KernelArgumentHolder expected = cache.runFusionWithInputs({x});
      auto allocator = std::make_shared<CountingAllocator>(*inner);
      allocator->expected_stream = &stream;
      const RunContext context{&stream, allocator};
      for (bool is_first : {true, false}) {
        CAPTURE(is_first);
        FusionExecutorCache fresh(std::make_unique<Fusion>(*cache.fusion()));
        FusionExecutorCache& ran = is_first ? fresh : cache;
        const int own = device.allocations;
        const int before = allocator->allocations;
        KernelArgumentHolder results = ran.runFusionWithInputs({x}, {}, nullptr, context);
        CHECK(device.allocations == own);
        CHECK(allocator->allocations - before >= one.least_allocations);
        CHECK(allocator->live() == one.outputs_with_memory);
        if (device.launches > 0) {
          CHECK(device.last_stream == &stream);
        }
        for (size_t i = 0; i < results.size(); ++i) {
          CHECK(results[i].tensor().toHost<float>() == expected[i].tensor().toHost<float>());
        }
        results.clear();
        CHECK(allocator->live() == 0);
        CHECK(allocator->wrong == 0);
      }
      CHECK(allocator.use_count() == 2);  // nothing keeps it but `context`
    }
  }
}

TEST_CASE("run context: an allocator is told what tensor memory is for, and gets its block back") {
  struct TensorAllocator final : Allocator {
    Block allocate(size_t, Device&, Stream) override { throw InternalError("it is for a tensor"); }
    Block allocateTensor(const Form& form, size_t bytes, Device& device, Stream stream) override {
      CHECK(form.dtype == DataType::Float);
      CHECK(std::vector<int64_t>(form.sizes.begin(), form.sizes.end()) ==
            std::vector<int64_t>{2, 3});
      CHECK(std::vector<int64_t>(form.strides.begin(), form.strides.end()) ==
            std::vector<int64_t>{1, 2});
      CHECK(bytes == 24);
      return {device.allocate(bytes, stream), this};
    }
    void release(const Block& block, Device& device, Stream stream) noexcept override {
      device.release(block.data, stream);
      ++released;
    }
    int released = 0;
  };
  const auto allocator = std::make_shared<TensorAllocator>();
  const CountingAllocator another(cpuDevice());
  const RunContext context{nullptr, allocator};
  Tensor tensor = Tensor::emptyStrided({2, 3}, {1, 2}, DataType::Float, cpuDevice(), context);
  REQUIRE(tensor.blockOf(allocator.get()) != nullptr);
  CHECK(tensor.blockOf(allocator.get())->handle == allocator.get());
  CHECK(tensor.blockOf(&another) == nullptr);
  CHECK(tensor.blockOf(nullptr) == nullptr);
  CHECK(Tensor::empty({3}, DataType::Float).blockOf(allocator.get()) == nullptr);
  {
    const Tensor view = tensor.transpose(0, 1);
    CHECK(view.sharesStorage(tensor));
    CHECK_FALSE(tensor.takeBlock(allocator.get()));  // the view has it, too
  }
  CHECK(allocator->released == 0);
  const std::optional<Allocator::Block> block = tensor.takeBlock(allocator.get());
  REQUIRE(block);
  CHECK_FALSE(tensor.defined());
  CHECK(allocator->released == 0);
  allocator->release(*block, cpuDevice(), nullptr);
  Tensor::emptyStrided({2, 3}, {1, 2}, DataType::Float, cpuDevice(), context);
  CHECK(allocator->released == 2);
}

TEST_CASE("run context: workspaces of an executor, and outputs that are given") {
  int stream = 0;
  for (Device* inner : {&cpuDevice(), &emulatedDevice()}) {
    CAPTURE(inner->properties().name);
    WatchedDevice& device = WatchedDevice::over(*inner);
    Fusion fusion;
    {
      FusionGuard guard(&fusion);
      TensorView* x = makeContigTensor(1);
      fusion.addInput(x);
      TensorView* y = sum(x, {0});
      fusion.addOutput(y);
      y->split(0, 32);
      y->axis(0)->parallelize(ParallelType::BIDx);
      y->axis(1)->parallelize(ParallelType::TIDx);
    }
    KernelExecutor executor;
    executor.compile(&fusion);
    auto allocator = std::make_shared<CountingAllocator>(*inner);
    allocator->expected_stream = &stream;
    const RunContext context{&stream, allocator};
    const Tensor x = Tensor::ones({64}, DataType::Float, device);
    const Tensor y = Tensor::empty({}, DataType::Float, device);
    const int own = device.allocations;
    const KernelArgumentHolder results = executor.run({x}, {}, LaunchParams(), {}, context);
    CHECK(results[0].tensor().item().as<double>() == 64);
    CHECK(allocator->live() == 1);
    const int with_output = allocator->allocations;
    executor.run({x}, {y}, LaunchParams(), {}, context);
    CHECK(y.item().as<double>() == 64);
    CHECK(allocator->live() == 1);
    CHECK(allocator->allocations == 2 * with_output - 1);
    CHECK(with_output > 1);  // a sum over blocks has workspaces
    CHECK(device.allocations == own);
    CHECK(allocator->wrong == 0);
    CHECK(device.last_stream == &stream);
  }
}

TEST_CASE("run context: what is computed on the host is put into the caller's memory") {
  WatchedDevice& device = WatchedDevice::over(emulatedDevice());
  device.compiler = [](const KernelSource&,
                       std::span<const std::string>) -> std::vector<std::unique_ptr<LoadedKernel>> {
    throw CompileError("refused", "");
  };
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* x = makeContigTensor(2);
    fusion->addInput(x);
    fusion->addOutput(neg(x));
  }
  FusionExecutorCache cache(std::move(fusion));
  auto allocator = std::make_shared<CountingAllocator>(emulatedDevice());
  const Tensor x = Tensor::ones({2, 2}, DataType::Float, device);
  const int own = device.allocations;
  const KernelArgumentHolder results =
      cache.runFusionWithInputs({x}, {}, nullptr, {nullptr, allocator});
  CHECK(results[0].tensor().toHost<float>() == std::vector<float>(4, -1));
  CHECK(allocator->live() == 1);
  CHECK(allocator->allocations == 1);
  CHECK(device.allocations == own);
}

TEST_CASE("run context: an allocator that has no memory") {
  struct Nothing final : Allocator {
    Block allocate(size_t, Device&, Stream) override { return {}; }
    void release(const Block&, Device&, Stream) noexcept override { FAIL("nothing to release"); }
  };
  struct Throwing final : Allocator {
    Block allocate(size_t, Device&, Stream) override { throw UserError("all gone"); }
    void release(const Block&, Device&, Stream) noexcept override { FAIL("nothing to release"); }
  };
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* x = makeContigTensor(1);
    fusion->addInput(x);
    fusion->addOutput(neg(x));
  }
  FusionExecutorCache cache(std::move(fusion));
  const Tensor x = Tensor::ones({4}, DataType::Float);
  auto run = [&](std::shared_ptr<Allocator> allocator) {
    cache.runFusionWithInputs({x}, {}, nullptr, {nullptr, std::move(allocator)});
  };
  CHECK_THROWS_WITH_AS(run(std::make_shared<Throwing>()), "all gone", UserError);
  CHECK_THROWS_WITH_AS(run(std::make_shared<Nothing>()),
                       doctest::Contains("the caller's allocator gave no memory of"), UserError);
  CHECK(cache.runFusionWithInputs({x})[0].tensor().toHost<float>() == std::vector<float>(4, -1));
}

namespace {

/// What the functions of an nvf_allocator are called with.
struct Calls {
  int allocated = 0;
  int released = 0;
  int64_t bytes = 0;
  void* stream = nullptr;
  int status = 0;
};

int allocateFor(void* user, int64_t bytes, int32_t device_type, int32_t device_id, void* stream,
                void** data, void** handle) {
  auto& calls = *static_cast<Calls*>(user);
  if (calls.status != 0 || device_type != kDLCPU || device_id != 0) {
    return calls.status != 0 ? calls.status : 99;
  }
  ++calls.allocated;
  calls.bytes += bytes;
  calls.stream = stream;
  *data = std::aligned_alloc(256, static_cast<size_t>((bytes + 255) / 256 * 256));
  *handle = user;
  return 0;
}

void releaseFor(void* user, void* data, void* handle, int32_t, int32_t, void* stream) {
  auto& calls = *static_cast<Calls*>(user);
  calls.released += handle == user && stream == calls.stream;
  std::free(data);
}

}  // namespace

TEST_CASE("run context: through the C interface") {
  nvf_fusion* fusion = nullptr;
  REQUIRE(nvf_fusion_create(&fusion) == NVF_OK);
  int64_t x = 0, y = 0, count = 0;
  REQUIRE(nvf_define_tensor(fusion, 1, nullptr, nullptr, NVF_FLOAT, &x) == NVF_OK);
  nvf_argument operand{};
  operand.kind = NVF_ARG_VALUE;
  operand.integer = x;
  REQUIRE(nvf_op(fusion, "neg", &operand, 1, &y, 1, &count) == NVF_OK);
  REQUIRE(nvf_add_output(fusion, y) == NVF_OK);

  const Tensor values = Tensor::ones({5}, DataType::Float);
  nvf_argument input{};
  input.kind = NVF_ARG_MANAGED;
  struct ::DLManagedTensor* output = nullptr;
  int place = 0;
  Calls calls;
  {
    nvf_allocator allocator{&calls, allocateFor, releaseFor};
    nvf_run_context context{};
    context.stream = &place;
    context.allocator = &allocator;
    input.tensor = values.toDLPack();
    const int status = nvf_execute_in(fusion, &input, 1, &context, &output, 1, &count);
    CAPTURE(nvf_last_error());
    REQUIRE(status == NVF_OK);
    allocator = {};  // was copied
  }
  CHECK(calls.allocated == 1);
  CHECK(calls.bytes == 20);
  CHECK(calls.stream == &place);
  CHECK(calls.released == 0);
  auto* managed = reinterpret_cast<nvfuser::DLManagedTensor*>(output);
  CHECK(static_cast<float*>(managed->dl_tensor.data)[4] == -1);
  managed->deleter(managed);
  CHECK(calls.released == 1);

  // Without a context, with an allocator that fails, with one that is not whole.
  input.tensor = values.toDLPack();
  REQUIRE(nvf_execute_in(fusion, &input, 1, nullptr, &output, 1, &count) == NVF_OK);
  managed = reinterpret_cast<nvfuser::DLManagedTensor*>(output);
  managed->deleter(managed);
  CHECK(calls.allocated == 1);
  calls.status = 7;
  nvf_allocator allocator{&calls, allocateFor, releaseFor};
  nvf_run_context context{};
  context.allocator = &allocator;
  input.tensor = values.toDLPack();
  CHECK(nvf_execute_in(fusion, &input, 1, &context, &output, 1, &count) == NVF_USER_ERROR);
  CHECK(std::string(nvf_last_error()).find("the caller's allocator gave status 7 for 20 bytes") !=
        std::string::npos);
  allocator.release = nullptr;
  CHECK(nvf_execute_in(fusion, nullptr, 0, &context, &output, 1, &count) == NVF_ARGUMENT_ERROR);
  nvf_fusion_destroy(fusion);
}
