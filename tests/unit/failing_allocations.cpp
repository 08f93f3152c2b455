#include <algorithm>
#include <cstdlib>
#include <new>

#include "failing_calls.h"

namespace nvfuser {

FailingAllocations allocations;

namespace {

void* allocated(size_t bytes, size_t alignment, const void* caller) {
  if (allocations.armed.load(std::memory_order_relaxed) &&
      (allocations.callers == nullptr || allocations.callers(caller))) {
    const int64_t call = allocations.calls++;
    const int64_t fails = allocations.fails;
    if (call == fails || (call > fails && allocations.lasting)) {
      throw std::bad_alloc();
    }
  }
  bytes = std::max<size_t>(bytes, 1);
  void* const data =
      alignment == 0
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data == nullptr) {
    throw std::bad_alloc();
  }
  allocations.live.fetch_add(1, std::memory_order_relaxed);
  return data;
}

void freed(void* data) noexcept {
  if (data != nullptr) {
    allocations.live.fetch_sub(1, std::memory_order_relaxed);
  }
  std::free(data);
}

}  // namespace
}  // namespace nvfuser

// All other forms call these.
void* operator new(size_t bytes) {
  return nvfuser::allocated(bytes, 0, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return nvfuser::allocated(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* data) noexcept { nvfuser::freed(data); }
void operator delete(void* data, size_t) noexcept { nvfuser::freed(data); }
void operator delete(void* data, std::align_val_t) noexcept { nvfuser::freed(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { nvfuser::freed(data); }
