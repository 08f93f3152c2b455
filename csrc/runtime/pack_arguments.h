/// The parameters of one launch in memory: addresses, sizes, strides, scalars, and the workspaces
/// they point to.
#pragma once

#include <deque>
#include <memory>

#include <runtime/compiled_kernel.h>
#include <runtime/launch_values.h>

namespace nvfuser {

class PackedArguments {
 public:
  /// Allocates workspaces and checks what the kernel asks of addresses and sizes (`UserError`).
  PackedArguments(const CompiledKernel& compiled, LaunchValues& values,
                  const KernelArgumentHolder& args, const KernelArgumentHolder& outputs,
                  Device& device, uint64_t seed, uint64_t offset);
  PackedArguments(const PackedArguments&) = delete;
  PackedArguments& operator=(const PackedArguments&) = delete;

  std::span<void* const> pointers() const { return pointers_; }
  /// Frees the workspaces (in stream order).
  void release() { workspaces_.clear(); }

 private:
  struct Release {
    Device* device;
    void operator()(void* data) const { device->release(data, nullptr); }
  };
  void* store(const PolymorphicValue& value, DataType dtype);
  template <typename T>
  void* keep(T value);

  std::deque<std::vector<std::byte>> storage_;
  std::vector<void*> pointers_;
  std::vector<std::unique_ptr<void, Release>> workspaces_;  ///< freed also if the making fails
};

}  // namespace nvfuser
