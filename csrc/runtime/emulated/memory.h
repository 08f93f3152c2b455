/// The memory of the emulated device with what is known about each byte: whether it was ever
/// written, and who touched it last. Nothing here knows about threads; a `Stamp` is a plain value
/// that race_check.h gives its meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nvfuser::emulated {

/// When and by whom a cell was touched. `interval` counts, over the life of the device, the
/// stretches between two barriers of one block; 0 is never.
struct Stamp {
  uint32_t interval = 0;
  uint16_t thread = 0;      ///< linear index in its block, with a flag added for what is below
  uint16_t warp_epoch = 0;  ///< warp barriers of its warp since the interval began

  static constexpr uint16_t kAtomicFlag = 0x8000;
  /// Of a bulk copy; `thread` is the one that issued it, `interval` the copy's own.
  static constexpr uint16_t kBulkFlag = 0x4000;
  unsigned threadIndex() const { return thread & ~unsigned{kAtomicFlag | kBulkFlag}; }
  bool isBulk() const { return (thread & kBulkFlag) != 0; }
};

/// The last write and up to two reads, by different threads, of `granule` bytes.
struct Cell {
  Stamp writer;
  Stamp readers[2];
};

/// A stretch of memory and its shadow.
class Region {
 public:
  enum class Space { Global, Shared };
  enum Byte : unsigned char { Unwritten = 0, Written = 1, Pending = 2 };

  Region(Space its_space, char* its_data, size_t its_bytes)
      : space(its_space), data(its_data), bytes(its_bytes) {}

  Space space;
  char* data;
  size_t bytes;
  bool freed = false;
  bool tracks_init = true;  ///< false: all of it counts as written

  /// Forgets everything; nothing is written then. Races are told apart by interval, so cells may
  /// stay.
  void resetInit(Byte state);
  void setInit(size_t offset, size_t count, Byte state);
  bool allWritten(size_t offset, size_t count) const;
  bool anyPending(size_t offset, size_t count) const;

  /// Cells under [offset, offset + count), made finer if an access needs it.
  Cell* cells(size_t offset, size_t count, size_t& number);
  void clearCells() { cells_.reset(); }

 private:
  void refine(size_t granule);

  struct Free {
    void operator()(Cell* cells) const;
  };
  std::vector<unsigned char> init_;
  std::unique_ptr<Cell[], Free> cells_;
  size_t granule_ = 4;
};

/// All global memory. Fresh memory is poisoned and lies between two margins that belong to nobody;
/// freed memory stays mapped for a while, so that its use is noticed.
class GlobalMemory {
 public:
  static constexpr size_t kMarginBytes = 512;
  static constexpr size_t kKeepFreedBytes = size_t{64} << 20;

  ~GlobalMemory();
  void* allocate(size_t bytes, unsigned char poison);
  void release(void* data);
  void adopt(void* data, size_t bytes);
  void forget(void* data);

  /// The region whose memory or margins hold `address`; null for none.
  Region* find(const void* address);
  void clearCells();
  int64_t bytesInUse() const { return bytes_in_use_; }

 private:
  struct Entry {
    uintptr_t first;  ///< margins included
    uintptr_t last;   ///< one past
    std::unique_ptr<Region> region;
    bool owned;
  };
  void insert(Entry entry);
  void erase(const Region* region);
  Entry* entryOf(const void* address);

  std::vector<Entry> entries_;        ///< sorted, disjoint
  std::vector<const Region*> freed_;  ///< oldest first
  size_t freed_bytes_ = 0;
  int64_t bytes_in_use_ = 0;
  uintptr_t hit_first_ = 1, hit_last_ = 0;
  Region* hit_ = nullptr;
};

}  // namespace nvfuser::emulated
