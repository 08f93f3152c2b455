#include <fuzz/kernel_interpreter/interpreting_device.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <fuzz/kernel_interpreter/kernel_interpreter.h>

namespace nvfuser::fuzz {

namespace {

constexpr size_t kAlignment = 256;

class IrKernel final : public LoadedKernel {
 public:
  explicit IrKernel(const kir::Kernel& kernel) : kernel_(kernel) {}
  const KernelResources& resources() const override { return resources_; }
  std::string assembly(const std::string&) const override { return {}; }
  const kir::Kernel& kernel() const { return kernel_; }

 private:
  const kir::Kernel& kernel_;
  KernelResources resources_;
};

class InterpretingDevice final : public Device {
 public:
  explicit InterpretingDevice(const Device& model) : model_(model) {}

  DeviceKind kind() const override { return model_.kind(); }
  int index() const override { return model_.index(); }
  const DeviceProperties& properties() const override { return model_.properties(); }

  void* allocate(size_t bytes, Stream) override {
    if (bytes == 0) {
      return nullptr;
    }
    void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (data == nullptr) {
      userError("interpreting a kernel: out of memory: ", bytes, " bytes asked for");
    }
    std::memset(data, 0xFF, bytes);
    std::scoped_lock lock(mutex_);
    sizes_[static_cast<const std::byte*>(data)] = bytes;
    return data;
  }
  void release(void* data, Stream) override {
    std::scoped_lock lock(mutex_);
    sizes_.erase(static_cast<const std::byte*>(data));
    std::free(data);
  }
  void copyFromHost(void* dst, const void* src, size_t bytes, Stream) override {
    copy(dst, src, bytes);
  }
  void copyToHost(void* dst, const void* src, size_t bytes, Stream) override {
    copy(dst, src, bytes);
  }
  void copyWithin(void* dst, const void* src, size_t bytes, Stream) override {
    copy(dst, src, bytes);
  }
  void fillBytes(void* dst, unsigned char value, size_t bytes, Stream) override {
    if (bytes > 0) {
      std::memset(dst, value, bytes);
    }
  }
  void synchronize(Stream) override {}

  std::shared_ptr<const LoadedKernel> loadIr(const kir::Kernel& kernel) override {
    return std::make_shared<IrKernel>(kernel);
  }
  bool takesText() const override { return false; }
  std::unique_ptr<LoadedKernel> compile(const KernelSource&) override { hasNoCompiler(); }
  std::vector<std::unique_ptr<LoadedKernel>> compileEntries(const KernelSource&,
                                                            std::span<const std::string>) override {
    hasNoCompiler();
  }
  void launch(const LoadedKernel& kernel, const LaunchShape& shape, std::span<void* const> args,
              Stream, Cancellation*) override {
    interpretKernel(static_cast<const IrKernel&>(kernel).kernel(), shape, args,
                    [&](const void* address) { return bytesAt(address); });
  }

 private:
  [[noreturn]] static void hasNoCompiler() {
    throw InternalError("an interpreting device was asked to compile text");
  }
  static void copy(void* dst, const void* src, size_t bytes) {
    if (bytes > 0) {
      std::memmove(dst, src, bytes);
    }
  }
  size_t bytesAt(const void* address) {
    const auto* at = static_cast<const std::byte*>(address);
    std::scoped_lock lock(mutex_);
    auto region = sizes_.upper_bound(at);
    if (region == sizes_.begin()) {
      return 0;
    }
    --region;
    const auto offset = static_cast<size_t>(at - region->first);
    return offset < region->second ? region->second - offset : 0;
  }

  const Device& model_;
  std::mutex mutex_;
  std::map<const std::byte*, size_t> sizes_;  ///< of what is allocated
};

}  // namespace

// Never destroyed: kernels and tensors may outlive static objects.
Device& interpretingCpu() {
  static auto* device = new InterpretingDevice(cpuDevice());
  return *device;
}
Device& interpretingCuda() {
  static auto* device = new InterpretingDevice(emulatedDevice());
  return *device;
}

}  // namespace nvfuser::fuzz
