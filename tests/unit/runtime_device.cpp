// The border to devices. Its header comes before ir/type.h here, as some program will include them:
// neither may make the compiler warn of the other.
#include <runtime/device.h>
// Behind it.
#include <doctest/doctest.h>

#include <map>

#include <ir/builder.h>
#include <ir/type.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>

namespace nvfuser {
namespace {

/// The emulated device, with a count of the memory in use.
class CountingDevice final : public Device {
 public:
  int64_t inUse() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t allocations() const { return allocations_; }

  DeviceKind kind() const override { return inner_.kind(); }
  int index() const override { return inner_.index(); }
  const DeviceProperties& properties() const override { return inner_.properties(); }
  void* allocate(size_t bytes, Stream stream) override {
    void* data = inner_.allocate(bytes, stream);
    if (data != nullptr) {
      blocks_[data] = bytes;
      ++allocations_;
    }
    return data;
  }
  void release(void* data, Stream stream) override {
    blocks_.erase(data);
    inner_.release(data, stream);
  }
  void copyFromHost(void* to, const void* from, size_t bytes, Stream stream) override {
    inner_.copyFromHost(to, from, bytes, stream);
  }
  void copyToHost(void* to, const void* from, size_t bytes, Stream stream) override {
    inner_.copyToHost(to, from, bytes, stream);
  }
  void copyWithin(void* to, const void* from, size_t bytes, Stream stream) override {
    inner_.copyWithin(to, from, bytes, stream);
  }
  void fillBytes(void* to, unsigned char value, size_t bytes, Stream stream) override {
    inner_.fillBytes(to, value, bytes, stream);
  }
  void synchronize(Stream stream) override { inner_.synchronize(stream); }
  std::unique_ptr<LoadedKernel> compile(const KernelSource& source) override {
    return inner_.compile(source);
  }
  std::vector<std::unique_ptr<LoadedKernel>> compileEntries(
      const KernelSource& source, std::span<const std::string> entries) override {
    return inner_.compileEntries(source, entries);
  }
  void launch(const LoadedKernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              Stream stream, Cancellation* cancellation) override {
    inner_.launch(kernel, shape, args, stream, cancellation);
  }

 private:
  Device& inner_ = emulatedDevice();
  std::map<void*, size_t> blocks_;
  int64_t allocations_ = 0;
};

TEST_CASE("device: a stream and the parallel type of that name do not meet") {
  const Stream stream = nullptr;
  CHECK(stream == nullptr);
  CHECK(parallelTypeName(ParallelType::Stream).size() > 0);
}

TEST_CASE("device: nothing is allocated for a launch that cannot be planned") {
  // T1[4 blocks, n / 4] = 1, summed across the grid: a workspace of known size comes first, and
  // then n, which is no input, so that nobody knows it.
  CountingDevice device;
  Fusion fusion;
  TensorView* out = nullptr;
  {
    FusionGuard guard(&fusion);
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    Val* n = IrBuilder::create<Val>(DataType::Int);
    TensorView* ones = full({n}, IrBuilder::create<Val>(1.0), DataType::Float);
    TensorView* total = sum(ones, {0});
    out = add(x, broadcast(total, {true}));
    fusion.addOutput(out);
    total->split(0, 4, false);
    total->axis(0)->parallelize(ParallelType::BIDx);
    ones->split(0, 4, false);
    ones->axis(0)->parallelize(ParallelType::BIDx);
    ones->inlineAt(2);
  }
  const KernelArgumentHolder args{Tensor::zeros({5}, DataType::Float, device)};
  const KernelArgumentHolder results{Tensor::zeros({5}, DataType::Float, device)};
  KernelExecutor executor;
  executor.compile(&fusion, args);
  const int64_t used = device.inUse();
  const int64_t allocations = device.allocations();
  CHECK_THROWS_AS(executor.run(args, results), UserError);
  CHECK(device.allocations() == allocations);
  CHECK(device.inUse() == used);
}

}  // namespace
}  // namespace nvfuser
