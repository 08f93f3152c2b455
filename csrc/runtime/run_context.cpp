#include <runtime/run_context.h>

#include <support/error.h>

namespace nvfuser {

DeviceMemory::DeviceMemory(size_t bytes, Device& device, const RunContext& context,
                           const Allocator::Form* form)
    : device_(&device), stream_(context.stream) {
  if (bytes == 0) {
    return;
  }
  if (context.allocator == nullptr) {
    block_.data = device.allocate(bytes, stream_);
    return;
  }
  block_ = form != nullptr ? context.allocator->allocateTensor(*form, bytes, device, stream_)
                           : context.allocator->allocate(bytes, device, stream_);
  if (block_.data == nullptr) {
    userError("allocate: the caller's allocator gave no memory of ", device.properties().name,
              " for ", bytes, " bytes; it has to throw or to give some");
  }
  allocator_ = context.allocator;
}

DeviceMemory::~DeviceMemory() {
  if (allocator_ != nullptr) {
    allocator_->release(block_, *device_, stream_);
  } else if (block_.data != nullptr) {
    device_->release(block_.data, stream_);
  }
}

Allocator::Block DeviceMemory::take() {
  allocator_.reset();
  return std::exchange(block_, {});
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  std::swap(allocator_, other.allocator_);
  std::swap(block_, other.block_);
  return *this;
}

}  // namespace nvfuser
