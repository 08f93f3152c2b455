#include <runtime/emulated/memory.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <support/error.h>

namespace nvfuser::emulated {

// --- Region --------------------------------------------------------------------------------------

void Region::Free::operator()(Cell* cells) const { std::free(cells); }

void Region::resetInit(Byte state) { init_.assign(tracks_init ? bytes : 0, state); }

void Region::setInit(size_t offset, size_t count, Byte state) {
  if (!tracks_init) {
    return;
  }
  std::memset(init_.data() + offset, state, count);
}

bool Region::allWritten(size_t offset, size_t count) const {
  if (!tracks_init) {
    return true;
  }
  const unsigned char* state = init_.data() + offset;
  if (count == 4) {
    uint32_t word;
    std::memcpy(&word, state, 4);
    return word == 0x01010101u;
  }
  for (size_t i = 0; i < count; ++i) {
    if (state[i] != Written) {
      return false;
    }
  }
  return true;
}

bool Region::anyPending(size_t offset, size_t count) const {
  if (!tracks_init) {
    return false;
  }
  return std::memchr(init_.data() + offset, Pending, count) != nullptr;
}

Cell* Region::cells(size_t offset, size_t count, size_t& number) {
  size_t wanted = granule_;
  while ((offset | count) & (wanted - 1)) {
    wanted /= 2;
  }
  if (wanted < granule_) {
    refine(wanted);
  }
  if (!cells_) {
    cells_.reset(static_cast<Cell*>(std::calloc(bytes / granule_ + 1, sizeof(Cell))));
    if (!cells_) {
      userError("emulated CUDA: no memory for the race check of a buffer of ", bytes, " bytes");
    }
  }
  number = count / granule_;
  return cells_.get() + offset / granule_;
}

void Region::refine(size_t granule) {
  if (cells_) {
    size_t copies = granule_ / granule;
    size_t old_count = bytes / granule_ + 1;
    std::unique_ptr<Cell[], Free> finer(
        static_cast<Cell*>(std::calloc(old_count * copies, sizeof(Cell))));
    if (!finer) {
      userError("emulated CUDA: no memory for the race check of a buffer of ", bytes, " bytes");
    }
    for (size_t i = 0; i < old_count * copies; ++i) {
      finer[i] = cells_[i / copies];
    }
    cells_ = std::move(finer);
  }
  granule_ = granule;
}

// --- GlobalMemory --------------------------------------------------------------------------------

GlobalMemory::~GlobalMemory() {
  for (Entry& entry : entries_) {
    if (entry.owned) {
      std::free(reinterpret_cast<void*>(entry.first));
    }
  }
}

void* GlobalMemory::allocate(size_t bytes, unsigned char poison) {
  if (bytes == 0) {
    return nullptr;
  }
  size_t rounded = (bytes + 255) / 256 * 256;
  if (rounded < bytes || rounded > SIZE_MAX - 2 * kMarginBytes) {
    userError("emulated CUDA: cannot allocate ", bytes, " bytes");
  }
  size_t total = rounded + 2 * kMarginBytes;
  char* base = static_cast<char*>(std::aligned_alloc(256, total));
  if (!base) {
    userError("emulated CUDA: out of memory: cannot allocate ", bytes, " bytes");
  }
  std::memset(base, poison, total);
  Entry entry;
  entry.first = reinterpret_cast<uintptr_t>(base);
  entry.last = entry.first + total;
  entry.region = std::make_unique<Region>(Region::Space::Global, base + kMarginBytes, bytes);
  entry.region->resetInit(Region::Unwritten);
  entry.owned = true;
  insert(std::move(entry));
  bytes_in_use_ += static_cast<int64_t>(bytes);
  return base + kMarginBytes;
}

void GlobalMemory::release(void* data) {
  if (!data) {
    return;
  }
  Entry* entry = entryOf(data);
  if (!entry || entry->region->data != data || !entry->owned || entry->region->freed) {
    userError(
        "emulated CUDA: release of an address that this device did not allocate, or released "
        "before");
  }
  Region* region = entry->region.get();
  region->freed = true;
  region->clearCells();
  bytes_in_use_ -= static_cast<int64_t>(region->bytes);
  freed_.push_back(region);
  freed_bytes_ += region->bytes;
  size_t gone = 0;
  while (gone < freed_.size() && (freed_bytes_ > kKeepFreedBytes || freed_.size() - gone > 1024)) {
    const Region* oldest = freed_[gone++];
    freed_bytes_ -= oldest->bytes;
    erase(oldest);
  }
  freed_.erase(freed_.begin(), freed_.begin() + static_cast<std::ptrdiff_t>(gone));
}

void GlobalMemory::adopt(void* data, size_t bytes) {
  if (!data || bytes == 0) {
    return;
  }
  Entry entry;
  entry.first = reinterpret_cast<uintptr_t>(data);
  entry.last = entry.first + bytes;
  entry.region = std::make_unique<Region>(Region::Space::Global, static_cast<char*>(data), bytes);
  entry.region->tracks_init = false;
  entry.owned = false;
  insert(std::move(entry));
}

void GlobalMemory::forget(void* data) {
  if (!data) {
    return;
  }
  Entry* entry = entryOf(data);
  if (!entry || entry->region->data != data || entry->owned) {
    userError("emulated CUDA: asked to forget memory that was never registered");
  }
  erase(entry->region.get());
}

Region* GlobalMemory::find(const void* address) {
  auto a = reinterpret_cast<uintptr_t>(address);
  if (a - hit_first_ < hit_last_ - hit_first_ && hit_) {
    return hit_;
  }
  Entry* entry = entryOf(address);
  if (!entry) {
    return nullptr;
  }
  hit_first_ = entry->first;
  hit_last_ = entry->last;
  hit_ = entry->region.get();
  return hit_;
}

void GlobalMemory::clearCells() {
  for (Entry& entry : entries_) {
    entry.region->clearCells();
  }
}

GlobalMemory::Entry* GlobalMemory::entryOf(const void* address) {
  auto a = reinterpret_cast<uintptr_t>(address);
  auto after =
      std::upper_bound(entries_.begin(), entries_.end(), a,
                       [](uintptr_t value, const Entry& entry) { return value < entry.first; });
  if (after == entries_.begin()) {
    return nullptr;
  }
  Entry& entry = *(after - 1);
  return a < entry.last ? &entry : nullptr;
}

void GlobalMemory::insert(Entry entry) {
  auto at =
      std::upper_bound(entries_.begin(), entries_.end(), entry.first,
                       [](uintptr_t value, const Entry& other) { return value < other.first; });
  bool overlaps = (at != entries_.end() && at->first < entry.last) ||
                  (at != entries_.begin() && (at - 1)->last > entry.first);
  if (overlaps) {
    userError("emulated CUDA: the memory to register overlaps memory that is known already");
  }
  entries_.insert(at, std::move(entry));
  hit_ = nullptr;
}

void GlobalMemory::erase(const Region* region) {
  auto at = std::find_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.region.get() == region; });
  check(at != entries_.end(), "a region to erase is listed");
  if (at->owned) {
    std::free(reinterpret_cast<void*>(at->first));
  }
  entries_.erase(at);
  hit_ = nullptr;
}

}  // namespace nvfuser::emulated
