/// What a caller may bring to a run: the stream to launch on, and where memory comes from. A
/// framework passes its own, so that our kernels stand in line with its own work and our outputs
/// count as its memory.
///
///   RunContext context{stream, std::make_shared<MyAllocator>()};
///   cache.runFusionWithInputs(args, {}, nullptr, context);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <external/communicator.h>
#include <runtime/device.h>

namespace nvfuser {

/// A source of memory of devices. Members may be called from several threads.
class Allocator {
 public:
  struct Block {
    void* data = nullptr;
    void* handle = nullptr;  ///< the allocator's own, given back at release
  };
  /// A tensor that memory is for.
  struct Form {
    DataType dtype;
    std::span<const int64_t> sizes;
    std::span<const int64_t> strides;
  };

  virtual ~Allocator() = default;
  /// Memory of `device`, aligned to 64 bytes (256 on CUDA), that work queued on `stream` from now
  /// on may use; `bytes` > 0. What it throws reaches the caller of the run.
  virtual Block allocate(size_t bytes, Device& device, Stream stream) = 0;
  /// The same for a tensor of so many bytes: a framework makes one of its own, which the handle
  /// then names (`Tensor::takeBlock`).
  virtual Block allocateTensor(const Form& /*form*/, size_t bytes, Device& device, Stream stream) {
    return allocate(bytes, device, stream);
  }
  /// Work that is queued on `stream` by now may still use it. Must not throw. Of outputs this comes
  /// when their last tensor goes, from whichever thread that is.
  virtual void release(const Block& block, Device& device, Stream stream) noexcept = 0;
};

struct RunContext {
  /// Null: the device's default stream. It has to live as long as the outputs of the run, whose
  /// memory is given back in its order. On the CPU and emulated CUDA there is none.
  Stream stream = nullptr;
  /// Of outputs, of tensors between kernels and of workspaces. Null: the device's own. It lives as
  /// long as what it allocated.
  std::shared_ptr<Allocator> allocator = nullptr;
  /// Seed and first offset of random operations without seeds of their own, for this run alone.
  /// None: those of the fusion's own state, which is then behind them.
  std::optional<std::pair<uint64_t, uint64_t>> draws = std::nullopt;
  /// The devices that share what is computed (multidevice/). Null: this one is alone.
  std::shared_ptr<external::Communicator> communicator = nullptr;
  /// Lives as long as the call, which may end with `Cancelled`; then there are no results, but the
  /// next call is like any other. Null: it never does.
  Cancellation* cancellation = nullptr;
};

/// Memory of a device from a context, released with the object.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws `UserError` where there is none left; no bytes need no memory. `form`: the tensor that
  /// it is for.
  DeviceMemory(size_t bytes, Device& device, const RunContext& context,
               const Allocator::Form* form = nullptr);
  /// A block that the context's allocator knows, as if it had been allocated here.
  DeviceMemory(const Allocator::Block& block, Device& device, const RunContext& context)
      : device_(&device), stream_(context.stream), allocator_(context.allocator), block_(block) {}
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  void* data() const { return block_.data; }
  /// Null where there is no memory, or where it is the device's.
  const Allocator* allocator() const { return allocator_.get(); }
  const Allocator::Block& block() const { return block_; }
  /// The block is the caller's now, to be released or kept.
  Allocator::Block take();

 private:
  Device* device_ = nullptr;
  Stream stream_ = nullptr;
  std::shared_ptr<Allocator> allocator_;
  Allocator::Block block_;
};

}  // namespace nvfuser
