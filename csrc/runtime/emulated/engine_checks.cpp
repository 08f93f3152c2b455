// What the engine checks on every access: where, how aligned, written before, and ordered with what
// others did.
//
// Order ("happens before") is kept per stretch between two barriers of a block, an *interval*:
//   - same thread: program order; same block: ordered exactly if a barrier lies between, i.e. the
//     intervals differ; same warp and interval: ordered exactly if a __syncwarp lies between;
//   - different blocks: ordered by a barrier of the grid, or if the later one acquired what the
//     earlier one released: fence, atomic by the one; atomic on the same variable, fence by the
//     other.
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include <runtime/emulated/engine.h>
#include <support/error.h>

namespace nvfuser::emulated {

using Kind = EmulationFinding::Kind;

namespace {

/// Whether address lies in the memory or its margins.
bool within(const Region& region, size_t margin, const void* address) {
  if (!region.data) {
    return false;
  }
  return reinterpret_cast<uintptr_t>(address) -
             (reinterpret_cast<uintptr_t>(region.data) - margin) <
         region.bytes + 2 * margin;
}

const char* verb(Engine::Access kind) {
  switch (kind) {
    case Engine::Access::Read:
      return "read";
    case Engine::Access::Write:
      return "write";
    case Engine::Access::Atomic:
      return "atomic";
  }
  return "";
}

}  // namespace

Region* Engine::locate(const void* address) {
  Block& block = *current_->block;
  if (within(block.dynamic, Block::kMargin, address)) {
    return &block.dynamic;
  }
  if (block.statics.bytes > 0 && within(block.statics, 0, address)) {
    return &block.statics;
  }
  if (Region* region = memory_.find(address)) {
    return region;
  }
  if (wave_.size() > 1) {
    for (Block* other : wave_) {
      if (within(other->dynamic, Block::kMargin, address)) {
        return &other->dynamic;
      }
    }
  }
  return nullptr;
}

void Engine::access(const void* address, size_t size, size_t alignment, Access kind, const void* pc,
                    const Stamp* bulk) {
  Thread& thread = *current_;
  if (thread.fiber->owns(address)) {
    return;
  }
  Region* region = locate(address);
  if (!region) {
    if (kind == Access::Read && request_->module->holds(address)) {
      return;  // a table of constants
    }
    fail(Kind::WildAccess, pc, 0,
         text("wild access: ", verb(kind), " of ", size, " bytes at an address in no buffer; ",
              describeCurrent()));
  }
  auto offset = reinterpret_cast<const char*>(address) - region->data;
  auto where = [&] {
    return text(verb(kind), " of ", size, " bytes at ", describe(*region, offset), "; ",
                describeCurrent());
  };
  if (region->freed) {
    fail(Kind::UseAfterFree, pc, 0, "use after free: " + where());
  }
  if (offset < 0 || size > region->bytes || static_cast<size_t>(offset) > region->bytes - size) {
    fail(Kind::OutOfBounds, pc, 0, "out of bounds: " + where());
  }
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0) {
    fail(Kind::Misaligned, pc, 0, "misaligned: " + where());
  }

  if (request_->shape.dependent && !thread.waited_for_grid &&
      region->space == Region::Space::Global) {
    report(
        Kind::GlobalRace, pc, 0,
        "global race: before the wait for the kernel in front (griddepcontrol.wait), " + where());
  }
  auto begin = static_cast<size_t>(offset);
  if (unfinished_copies_ > 0 && region->anyPending(begin, size)) {
    report(Kind::UnfinishedCopy, pc, 0,
           "unfinished copy: before the wait of an asynchronous copy, " + where());
  } else if (kind != Access::Write && !region->allWritten(begin, size)) {
    report(Kind::UninitialisedRead, pc, 0,
           "uninitialised: nobody has written what is read: " + where());
  }
  if (kind != Access::Read) {
    region->setInit(begin, size, Region::Written);
  }
  checkRaces(*region, begin, size, kind, pc, bulk);
  if (kind == Access::Atomic) {
    release(address);
  }
}

void Engine::checkRaces(Region& region, size_t offset, size_t size, Access kind, const void* pc,
                        const Stamp* bulk) {
  Thread& thread = *current_;
  Block& block = *thread.block;
  Stamp now{intervalOf(thread), thread.index, block.warp_epochs[thread.warp()]};
  if (kind == Access::Atomic) {
    now.thread = static_cast<uint16_t>(now.thread | Stamp::kAtomicFlag);
  }
  if (bulk != nullptr) {
    now = *bulk;
  } else if (kind == Access::Write && region.space == Region::Space::Global) {
    if (!thread.wrote_since_fence) {
      thread.wrote_since_fence = true;
      ++block.unfenced_writers;
    }
  } else if (kind == Access::Write && thread.unfenced_since == 0) {
    thread.unfenced_since = intervalOf(thread);
  }
  size_t count = 0;
  Cell* cells = nullptr;
  try {
    cells = region.cells(offset, size, count);
  } catch (const std::exception& error) {
    fail(Kind::Trap, pc, 0, error.what());
  }
  size_t granule = size / count;
  for (size_t i = 0; i < count; ++i) {
    Cell& cell = cells[i];
    bool both_atomic = kind == Access::Atomic && (cell.writer.thread & Stamp::kAtomicFlag);
    if (!both_atomic && !ordered(cell.writer, region)) {
      reportRace(region, offset + i * granule, cell.writer, true, kind, pc);
    } else if (bulk != nullptr) {
      checkFenced(cell.writer, region, offset + i * granule, pc);
    }
    if (kind == Access::Read) {
      // Keep two readers, of different threads; make room by dropping one that everything now is
      // ordered after.
      Stamp(&readers)[2] = cell.readers;
      bool same[2] = {readers[0].interval == now.interval && readers[0].thread == now.thread,
                      readers[1].interval == now.interval && readers[1].thread == now.thread};
      if (same[0] || (!same[1] && ordered(readers[0], region))) {
        readers[0] = now;
      } else if (same[1] || ordered(readers[1], region)) {
        readers[1] = now;
      } else if (readers[0].interval == readers[1].interval &&
                 readers[0].interval != now.interval) {
        readers[1] = now;
      }
      continue;
    }
    for (const Stamp& reader : cell.readers) {
      if (!ordered(reader, region)) {
        reportRace(region, offset + i * granule, reader, false, kind, pc);
      }
    }
    cell.writer = now;
    cell.readers[0] = cell.readers[1] = Stamp{};
  }
}

bool Engine::ordered(const Stamp& earlier, const Region& region) const {
  if (region.space == Region::Space::Shared && earlier.interval < wave_first_) {
    return true;
  }
  if (earlier.isBulk()) {
    return bulkOrdered(earlier);
  }
  if (earlier.interval < grid_floor_) {
    return true;
  }
  const Thread& thread = *current_;
  const Block& block = *thread.block;
  unsigned other = earlier.threadIndex();
  const uint32_t owner = owners_[earlier.interval - launch_first_];
  const bool parted = block.parted && owner == block.linear;
  if (parted && (other == thread.index || earlier.interval <= thread.known[other])) {
    return true;
  }
  if (earlier.interval == intervalOf(thread)) {
    return other == thread.index || (other / kWarpSize == thread.warp() &&
                                     earlier.warp_epoch != block.warp_epochs[thread.warp()]);
  }
  return (owner == block.linear && !parted) || acquiredFrom(earlier, owner);
}

bool Engine::acquiredFrom(const Stamp& earlier, uint32_t owner) const {
  const Thread& thread = *current_;
  unsigned other = earlier.threadIndex();
  for (const Acquired& acquired : thread.block->acquired) {
    if (acquired.thread != thread.index && acquired.interval >= thread.block->interval) {
      continue;
    }
    auto releases = acquired.location->by_block.find(owner);
    if (releases == acquired.location->by_block.end()) {
      continue;
    }
    auto release = std::upper_bound(
        releases->second.begin(), releases->second.end(), acquired.version,
        [](uint32_t version, const auto& later) { return version < later.version; });
    while (release != releases->second.begin() && (--release)->reach >= earlier.interval) {
      if (earlier.interval < release->frontier) {
        return true;
      }
      if (other == release->thread && earlier.interval <= release->own) {
        return true;
      }
    }
  }
  return false;
}

/// Forgets what is said by a later version of the same location, too: one that counts for all of
/// the block, or one that the same thread acquires now. So a block's list stays as short as the
/// locations are few, however often it waits.
void Engine::acquire(Block& block, const Acquired& added) {
  std::optional<Acquired> for_all;
  std::erase_if(block.acquired, [&](const Acquired& known) {
    if (known.location != added.location) {
      return false;
    }
    const bool is_for_all = known.interval < block.interval;
    if (is_for_all && (!for_all || for_all->version < known.version)) {
      for_all = known;
    }
    return is_for_all || known.thread == added.thread;
  });
  if (for_all) {
    block.acquired.push_back(*for_all);
  }
  block.acquired.push_back(added);
}

/// An atomic by a thread that fenced before publishes what the fence covers; and it may acquire
/// what is published.
void Engine::release(const void* address) {
  Thread& thread = *current_;
  Block& block = *thread.block;
  auto found = locations_.find(address);
  if (thread.fence_interval == 0 && found == locations_.end()) {
    return;
  }
  SyncLocation& location = found != locations_.end() ? found->second : locations_[address];
  // What was published before is what the atomic reads.
  if (location.version > 0) {
    if (!thread.observed.empty() && thread.observed.back().location == &location) {
      thread.observed.pop_back();
    }
    thread.observed.push_back({&location, location.version, block.interval, thread.index});
  }
  if (thread.fence_interval == 0) {
    return;
  }
  SyncLocation::Release release{++location.version, std::max(block.frontier, thread.fence_interval),
                                thread.wrote_since_fence ? 0 : thread.fence_interval, thread.index};
  const auto& releases = location.by_block[block.linear];
  bool repeats = !releases.empty() && releases.back().frontier == release.frontier &&
                 releases.back().own == release.own && releases.back().thread == release.thread;
  if (!repeats) {
    location.add(block.linear, release);
  }
}

void Engine::fence() {
  Thread& thread = *current_;
  Block& block = *thread.block;
  thread.fence_interval = block.interval;
  if (thread.wrote_since_fence) {
    --block.unfenced_writers;
  }
  thread.wrote_since_fence = false;
  for (Acquired& acquired : thread.observed) {
    acquired.interval = block.interval;
    acquire(block, acquired);
  }
  thread.observed.clear();
}

// --- words ---------------------------------------------------------------------------------------

std::string Engine::describeThread(uint32_t block, unsigned thread) const {
  auto triple = [](uint64_t linear, const int64_t (&extents)[3]) {
    auto x = static_cast<uint64_t>(extents[0]), y = static_cast<uint64_t>(extents[1]);
    return text("(", linear % x, ",", linear / x % y, ",", linear / x / y, ")");
  };
  std::string where = triple(block, request_->shape.grid);
  if (thread == ~0u) {
    return where;
  }
  return text("thread ", triple(thread, request_->shape.block), " of block ", where);
}

std::string Engine::describeCurrent() const {
  return text("kernel ", request_->name, ", ",
              describeThread(current_->block->linear, current_->index));
}

std::string Engine::describe(const Region& region, int64_t offset) const {
  std::string name;
  if (region.space == Region::Space::Shared) {
    name = &region == &current_->block->dynamic   ? "dynamic shared memory"
           : &region == &current_->block->statics ? "the shared variables"
                                                  : "shared memory of another block";
  } else {
    name = "a buffer that is no parameter";
    for (int i = 0; i < request_->entry->parameter_count; ++i) {
      if (!request_->entry->is_pointer[i]) {
        continue;
      }
      char* value = nullptr;
      std::memcpy(&value, request_->args[static_cast<size_t>(i)], sizeof value);
      if (value >= region.data && value < region.data + region.bytes) {
        name = text("the buffer of parameter ", i);
        break;
      }
    }
  }
  return text("byte ", offset, " of ", name, " (", region.bytes, " bytes)");
}

void Engine::reportRace(Region& region, size_t offset, const Stamp& earlier, bool earlier_writes,
                        Access kind, const void* pc) {
  bool shared = region.space == Region::Space::Shared;
  unsigned other = earlier.threadIndex();
  const uint32_t owner = owners_[earlier.interval - launch_first_];
  if (earlier.isBulk()) {
    report(Kind::UnfinishedCopy, pc, 0,
           text("unfinished copy: ", verb(kind), " at ",
                describe(region, static_cast<int64_t>(offset)), " before the wait for the bulk ",
                earlier_writes ? "copy that writes it" : "store that reads it", ", issued by ",
                describeThread(owner, other), "; ", describeCurrent()));
    return;
  }
  const char* what = (earlier.thread & Stamp::kAtomicFlag) ? "an atomic"
                     : earlier_writes                      ? "a write"
                                                           : "a read";
  report(shared ? Kind::SharedRace : Kind::GlobalRace, pc, 0,
         text(shared ? "shared" : "global", " race: ", verb(kind), " at ",
              describe(region, static_cast<int64_t>(offset)), " is not ordered after ", what,
              " by ", describeThread(owner, other), "; ", describeCurrent()));
}

void Engine::report(Kind kind, const void* pc, int line, std::string message) {
  for (Finding& finding : findings_) {
    if (finding.kind == kind && finding.pc == pc && finding.line == line) {
      ++finding.count;
      return;
    }
  }
  if (findings_.size() >= settings_.finding_limit) {
    ++findings_dropped_;
    return;
  }
  findings_.push_back({kind, std::move(message), pc, line, 1});
}

/// Reports, and stops the thread for good: going on would fault, or only repeat the mistake.
void Engine::fail(Kind kind, const void* pc, int line, std::string message) {
  report(kind, pc, line, std::move(message));
  current_->state = Thread::State::Failed;
  current_->fiber->suspend();
}

}  // namespace nvfuser::emulated
