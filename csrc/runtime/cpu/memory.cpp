#include <runtime/cpu/memory.h>

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include <support/error.h>

namespace nvfuser {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLargeBytes = size_t{1} << 20;  ///< from here on a block is mapped
constexpr size_t kMostCachedBytes = size_t{512} << 20;

size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Maps whole huge pages at an address that is a multiple of their size; null when refused. (Not
/// with MAP_NORESERVE: more than the machine has is then granted, and the process killed later.)
void* mapHugePages(size_t bytes) {
  void* base =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return nullptr;
  }
  auto address = reinterpret_cast<uintptr_t>(base);
  uintptr_t aligned = roundUp(address, kHugePage);
  if (aligned != address) {
    munmap(base, aligned - address);
  }
  size_t tail = address + kHugePage - aligned;
  if (tail != 0) {
    munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  }
  void* data = reinterpret_cast<void*>(aligned);
  madvise(data, bytes, MADV_HUGEPAGE);  // advice: without huge pages it works all the same
  return data;
}

}  // namespace

void* CpuMemory::allocate(size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  if (bytes > SIZE_MAX / 2) {
    userError("allocate: ", bytes, " bytes on the CPU is more than the address space");
  }
  if (bytes < kLargeBytes) {
    void* data = std::aligned_alloc(kAlignment, roundUp(bytes, kAlignment));
    if (!data) {
      userError("allocate: no memory left on the CPU for ", bytes, " bytes");
    }
    return data;
  }
  size_t size = roundUp(bytes, kHugePage);
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = cached_.lower_bound(size);
  // A block up to a quarter larger is used as it is; a larger one would waste more than it saves.
  if (found != cached_.end() && found->first <= size + size / 4) {
    auto [cached_size, data] = *found;
    cached_.erase(found);
    cached_bytes_ -= cached_size;
    mapped_.emplace(data, cached_size);
    return data;
  }
  void* data = mapHugePages(size);
  if (!data) {
    userError("allocate: no memory left on the CPU for ", bytes, " bytes");
  }
  mapped_.emplace(data, size);
  return data;
}

void CpuMemory::release(void* data) {
  if (!data) {
    return;
  }
  if (reinterpret_cast<uintptr_t>(data) % kHugePage == 0) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = mapped_.find(data);
    if (found != mapped_.end()) {
      size_t size = found->second;
      mapped_.erase(found);
      if (cached_bytes_ + size <= kMostCachedBytes) {
        cached_.emplace(size, data);
        cached_bytes_ += size;
      } else {
        munmap(data, size);
      }
      return;
    }
  }
  std::free(data);
}

size_t CpuMemory::cachedBytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return cached_bytes_;
}

void CpuMemory::releaseCached() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto [size, data] : cached_) {
    munmap(data, size);
  }
  cached_.clear();
  cached_bytes_ = 0;
}

CpuMemory::~CpuMemory() { releaseCached(); }

}  // namespace nvfuser
