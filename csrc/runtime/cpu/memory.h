/// Memory of the CPU device: small blocks from the C library, large ones mapped on huge pages and
/// kept for a while when released, because touching fresh pages costs more than a kernel that fills
/// them.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace nvfuser {

class CpuMemory {
 public:
  CpuMemory() = default;
  ~CpuMemory();
  CpuMemory(const CpuMemory&) = delete;
  CpuMemory& operator=(const CpuMemory&) = delete;

  /// Aligned to 256 bytes (large blocks to 2 MiB), contents arbitrary. `UserError` when there is
  /// none left.
  void* allocate(size_t bytes);
  void release(void* data);

  size_t cachedBytes() const;
  void releaseCached();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, size_t> mapped_;  ///< large blocks in use, and their sizes
  std::multimap<size_t, void*> cached_;       ///< large blocks to use again
  size_t cached_bytes_ = 0;
};

}  // namespace nvfuser
