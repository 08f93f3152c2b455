#include <capi/callers_context.h>

#include <capi/arguments.h>
#include <runtime/tensor.h>
#include <support/error.h>

namespace nvfuser::capi {

namespace {

/// An nvf_allocator, of which the caller may forget the struct after the call.
class CallersAllocator final : public Allocator {
 public:
  explicit CallersAllocator(const nvf_allocator& functions) : functions_(functions) {
    if (functions.allocate == nullptr || functions.release == nullptr) {
      throw ArgumentError("execute: an allocator needs both functions, allocate and release");
    }
  }

  Block allocate(size_t bytes, Device& device, Stream stream) override {
    Block block;
    const DLDevice where = toDLDevice(device);
    const int status =
        functions_.allocate(functions_.user, static_cast<int64_t>(bytes), where.device_type,
                            where.device_id, stream, &block.data, &block.handle);
    if (status != 0) {
      userError("execute: the caller's allocator gave status ", status, " for ", bytes,
                " bytes on ", device.properties().name);
    }
    return block;
  }
  void release(const Block& block, Device& device, Stream stream) noexcept override {
    const DLDevice where = toDLDevice(device);
    functions_.release(functions_.user, block.data, block.handle, where.device_type,
                       where.device_id, stream);
  }

 private:
  nvf_allocator functions_;
};

}  // namespace

RunContext contextOf(const nvf_run_context* given, bool with_memory) {
  RunContext context;
  if (given != nullptr) {
    context.stream = given->stream;
    if (given->has_random_state != 0) {
      context.draws.emplace(given->random_seed, given->random_offset);
    }
    if (with_memory && given->allocator != nullptr) {
      context.allocator = std::make_shared<CallersAllocator>(*given->allocator);
    }
  }
  return context;
}

}  // namespace nvfuser::capi
