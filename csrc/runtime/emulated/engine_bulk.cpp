// Bulk copies, whose bytes mbarriers count (engine_mbarriers.cpp).
//
// A copy's data is in place as soon as it is issued, but its accesses are stamped with an interval
// of its own. An access by a thread that has not waited for the copy (nor met, at a barrier, a
// thread that has) is reported, and so is a copy that no thread waits for. Generic writes that a
// copy reads or overwrites need a fence of the asynchronous proxy by the thread that made them.
#include <algorithm>
#include <cstring>

#include <runtime/emulated/engine.h>
#include <support/error.h>

namespace nvfuser::emulated {

using Kind = EmulationFinding::Kind;

namespace {

constexpr size_t kBulkUnit = 16;  ///< bytes: of addresses and sizes

}  // namespace

// --- order ---------------------------------------------------------------------------------------

Stamp Engine::beginBulk(const void* pc) {
  Thread& thread = *current_;
  const uint32_t interval = next_interval_++;
  owners_.push_back(thread.block->linear);
  bulk_accesses_[interval] = {thread.block->linear, thread.index, pc, 0, {}, {}};
  return {interval, static_cast<uint16_t>(thread.index | Stamp::kBulkFlag), 0};
}

void Engine::observe(uint32_t bulk) {
  BulkAccess& access = bulk_accesses_.at(bulk);
  if (access.observed_in == 0) {
    access.observed_in = current_->block->interval;
  }
  auto& observers = access.observers;
  if (std::find(observers.begin(), observers.end(), current_->index) == observers.end()) {
    observers.push_back(current_->index);
    access.observed_by.push_back(intervalOf(*current_));
  }
}

bool Engine::bulkOrdered(const Stamp& earlier) const {
  auto found = bulk_accesses_.find(earlier.interval);
  if (found == bulk_accesses_.end()) {
    return true;  // of an earlier launch
  }
  const BulkAccess& access = found->second;
  if (access.observed_in == 0) {
    return false;
  }
  const Block& block = *current_->block;
  if (access.block != block.linear) {
    return access.observed_in < grid_floor_ ||
           acquiredFrom({access.observed_in, access.observers[0], 0}, access.block);
  }
  if (block.parted) {
    const PartClock& known = current_->known;
    for (size_t i = 0; i < access.observers.size(); ++i) {
      if (known[access.observers[i]] >= access.observed_by[i]) {
        return true;
      }
    }
  }
  return (!block.parted && block.interval > access.observed_in) ||
         std::find(access.observers.begin(), access.observers.end(), current_->index) !=
             access.observers.end();
}

/// A bulk copy reads or overwrites what a thread of the block wrote: was that thread's write
/// fenced?
void Engine::checkFenced(const Stamp& writer, const Region& region, size_t offset, const void* pc) {
  if (region.space != Region::Space::Shared || writer.isBulk() || writer.interval < wave_first_) {
    return;
  }
  const Block& block = *current_->block;
  const Thread& thread = block.threads[writer.threadIndex()];
  if (thread.unfenced_since == 0 || writer.interval < thread.unfenced_since) {
    return;
  }
  report(Kind::MissingFence, pc, 0,
         text("missing fence: a bulk copy touches ", describe(region, static_cast<int64_t>(offset)),
              ", which ", describeThread(block.linear, thread.index),
              " wrote without a fence.proxy.async behind it; ", describeCurrent()));
}

// --- copies --------------------------------------------------------------------------------------

void Engine::checkBulkSize(unsigned bytes, Region::Space from, const void* source, Region::Space to,
                           const void* target, const void* pc) {
  auto isIn = [&](const void* address, Region::Space space) {
    const Region* region = current_->fiber->owns(address) ? nullptr : locate(address);
    return region != nullptr && region->space == space;
  };
  if (bytes == 0 || bytes % kBulkUnit != 0) {
    fail(Kind::Misaligned, pc, 0,
         text("misaligned: a bulk copy of ", bytes, " bytes; it moves a multiple of ", kBulkUnit,
              "; ", describeCurrent()));
  }
  if (!isIn(source, from) || !isIn(target, to)) {
    fail(Kind::WildAccess, pc, 0,
         text("wild access: a bulk copy whose ", isIn(source, from) ? "target" : "source",
              " is in the wrong memory; ", describeCurrent()));
  }
}

MBarrier& Engine::beginBulkLoad(void* barrier, const void* pc) {
  MBarrier& state = mbarrierAt(barrier, "a bulk load", pc);
  if (!state.fenced) {
    report(
        Kind::MissingFence, pc, 0,
        text("missing fence: an mbarrier was initialised without a fence.proxy.async behind it; ",
             describeCurrent()));
  }
  return state;
}

void Engine::bulkLoad(void* shared, const void* global, unsigned bytes, void* barrier,
                      const void* pc) {
  MBarrier& state = beginBulkLoad(barrier, pc);
  checkBulkSize(bytes, Region::Space::Global, global, Region::Space::Shared, shared, pc);
  const Stamp stamp = beginBulk(pc);
  access(global, bytes, kBulkUnit, Access::Read, pc, &stamp);
  access(shared, bytes, kBulkUnit, Access::Write, pc, &stamp);
  std::memcpy(shared, global, bytes);
  state.delivered += bytes;
  state.running.push_back(stamp.interval);
  current_->block->bulk_loads.push_back(stamp.interval);
  completePhase(barrier, state);
}

void Engine::bulkStore(void* global, const void* shared, unsigned bytes, const void* pc) {
  checkBulkSize(bytes, Region::Space::Shared, shared, Region::Space::Global, global, pc);
  // Its read and its write end at different times; nobody waits for the latter inside a kernel.
  const Stamp read = beginBulk(pc);
  const Stamp write = beginBulk(pc);
  access(shared, bytes, kBulkUnit, Access::Read, pc, &read);
  access(global, bytes, kBulkUnit, Access::Write, pc, &write);
  std::memcpy(global, shared, bytes);
  current_->open_stores.push_back(read.interval);
}

// --- boxes ---------------------------------------------------------------------------------------

void Engine::checkBox(const TensorMapArgument& map, const void* shared, const void* pc) {
  if (map.fits == 0 || map.rank < 1 || map.rank > static_cast<int32_t>(kMaxBoxRank)) {
    fail(Kind::Trap, pc, 0,
         "a box of a tensor that the copy engine does not take; " + describeCurrent());
  }
  const uint64_t unit = map.swizzle == 0 ? 128 : static_cast<uint64_t>(map.swizzle) * 8;
  const int64_t row = int64_t{map.box[0]} * map.element_bytes;
  const Region* region = locate(shared);
  if (region == nullptr || region->space != Region::Space::Shared) {
    fail(Kind::WildAccess, pc, 0,
         "wild access: a box outside of shared memory; " + describeCurrent());
  }
  const auto offset = static_cast<uint64_t>(static_cast<const char*>(shared) - region->data);
  if (offset % unit != 0) {
    fail(Kind::Misaligned, pc, 0,
         text("misaligned: a box at byte ", offset, " of shared memory, no multiple of ", unit,
              "; ", describeCurrent()));
  }
  if (row % static_cast<int64_t>(kBulkUnit) != 0 || (map.swizzle != 0 && row != map.swizzle)) {
    fail(Kind::Misaligned, pc, 0,
         text("misaligned: rows of ", row, " bytes in a box swizzled by ", map.swizzle, "; ",
              describeCurrent()));
  }
}

namespace {

/// Calls visit(offset in the box, its address in the tensor, or null outside) for all elements.
template <typename Visit>
void forEachElement(const TensorMapArgument& map, const int* at, Visit visit) {
  int64_t elements = 1;
  for (int32_t d = 0; d < map.rank; ++d) {
    elements *= map.box[d];
  }
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i;
    uint64_t address = map.address;
    bool inside = true;
    for (int32_t d = 0; d < map.rank; ++d) {
      const int64_t place = at[d] + rest % map.box[d];
      rest /= map.box[d];
      inside = inside && place >= 0 && place < map.sizes[d];
      address += static_cast<uint64_t>(place * map.strides[d]);
    }
    const uint64_t offset =
        swizzled(static_cast<uint64_t>(i) * static_cast<uint64_t>(map.element_bytes), map.swizzle);
    visit(offset, inside ? reinterpret_cast<void*>(address) : nullptr);
  }
}

}  // namespace

void Engine::boxLoad(void* shared, const TensorMapArgument& map, const int* at, void* barrier,
                     const void* pc) {
  MBarrier& state = beginBulkLoad(barrier, pc);
  checkBox(map, shared, pc);
  const Stamp stamp = beginBulk(pc);
  const auto bytes = static_cast<size_t>(map.element_bytes);
  forEachElement(map, at, [&](uint64_t offset, const void* global) {
    char* to = static_cast<char*>(shared) + offset;
    access(to, bytes, bytes, Access::Write, pc, &stamp);
    if (global == nullptr) {
      std::memset(to, 0, bytes);
      return;
    }
    access(global, bytes, bytes, Access::Read, pc, &stamp);
    std::memcpy(to, global, bytes);
  });
  int64_t total = map.element_bytes;
  for (int32_t d = 0; d < map.rank; ++d) {
    total *= map.box[d];
  }
  state.delivered += total;
  state.running.push_back(stamp.interval);
  current_->block->bulk_loads.push_back(stamp.interval);
  completePhase(barrier, state);
}

void Engine::boxStore(const TensorMapArgument& map, const int* at, const void* shared,
                      const void* pc) {
  checkBox(map, shared, pc);
  const Stamp read = beginBulk(pc);
  const Stamp write = beginBulk(pc);
  const auto bytes = static_cast<size_t>(map.element_bytes);
  forEachElement(map, at, [&](uint64_t offset, void* global) {
    if (global == nullptr) {
      return;
    }
    const char* from = static_cast<const char*>(shared) + offset;
    access(from, bytes, bytes, Access::Read, pc, &read);
    access(global, bytes, bytes, Access::Write, pc, &write);
    std::memcpy(global, from, bytes);
  });
  current_->open_stores.push_back(read.interval);
}

// --- groups of stores ----------------------------------------------------------------------------

void Engine::bulkCommit() {
  Thread& thread = *current_;
  thread.store_groups.push_back(std::move(thread.open_stores));
  thread.open_stores.clear();
}

void Engine::bulkWaitRead(unsigned groups_that_may_be_open) {
  auto& groups = current_->store_groups;
  if (groups.size() <= groups_that_may_be_open) {
    return;
  }
  const size_t ready = groups.size() - groups_that_may_be_open;
  for (size_t i = 0; i < ready; ++i) {
    for (uint32_t bulk : groups[i]) {
      observe(bulk);
    }
  }
  groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(ready));
}

/// No copy may outlive the shared memory that it reads or writes.
void Engine::endOfThread(Thread& thread) {
  auto unfinished = [&](uint32_t bulk, const char* what) {
    const BulkAccess& access = bulk_accesses_.at(bulk);
    if (access.observed_in == 0) {
      report(Kind::UnfinishedCopy, access.pc, 0,
             text("unfinished copy: ", describeThread(access.block, access.issuer),
                  " ends before the wait for a bulk ", what, " that it issued; kernel ",
                  request_->name));
    }
  };
  for (uint32_t bulk : thread.open_stores) {
    unfinished(bulk, "store");
  }
  for (const auto& group : thread.store_groups) {
    for (uint32_t bulk : group) {
      unfinished(bulk, "store");
    }
  }
  if (thread.block->done == thread.block->threads.size()) {
    for (uint32_t bulk : thread.block->bulk_loads) {
      unfinished(bulk, "load");
    }
  }
}

}  // namespace nvfuser::emulated
