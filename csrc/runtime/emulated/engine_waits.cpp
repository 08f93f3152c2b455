// Barriers, warp operations and asynchronous copies of the engine: where threads meet.
#include <bit>
#include <cstring>

#include <runtime/emulated/engine.h>
#include <support/error.h>

namespace nvfuser::emulated {

using State = Thread::State;
using Kind = EmulationFinding::Kind;

void Engine::wait(State state, int line) {
  Thread& thread = *current_;
  thread.line = line;
  thread.state = state;
  thread.fiber->suspend();
}

/// A barrier of the block ends an interval. What is fenced by every thread that wrote is fenced for
/// the block.
void Engine::beginInterval(Block& block) {
  if (block.unfenced_writers == 0) {
    block.frontier = block.interval + 1;
  }
  block.interval = next_interval_++;
  owners_.push_back(block.linear);
  block.warp_epochs.assign(block.warp_epochs.size(), 0);
  if (block.parted) {
    partAtBlockBarrier(block);
  }
}

int Engine::blockBarrier(int predicate, int line) {
  Thread& thread = *current_;
  Block& block = *thread.block;
  thread.line = line;
  block.predicate_count += predicate != 0;
  if (++block.at_barrier < block.threads.size()) {
    wait(State::AtBlockBarrier, line);
    return static_cast<int>(thread.result);
  }
  for (Thread& other : block.threads) {
    if (other.line != line) {
      report(Kind::DivergentBarrier, nullptr, line,
             text("divergent barrier: threads of one block are at different barriers: ",
                  describeThread(block.linear, thread.index), " at line ", line, ", ",
                  describeThread(block.linear, other.index), " at line ", other.line));
      break;
    }
  }
  for (Thread& other : block.threads) {
    other.result = static_cast<uint64_t>(block.predicate_count);
    other.state = State::Ready;
  }
  block.at_barrier = 0;
  block.predicate_count = 0;
  beginInterval(block);
  return static_cast<int>(thread.result);
}

uint64_t Engine::warpOperation(Thread::WarpOperation operation, NvfShuffle shuffle, unsigned mask,
                               uint64_t value, int parameter, int width, int line) {
  Thread& thread = *current_;
  if (!(mask >> thread.view.lane & 1)) {
    fail(Kind::ShuffleMismatch, nullptr, line,
         text("shuffle mismatch: lane ", thread.view.lane, " is not in the mask ", mask,
              " that it passes; ", describeCurrent()));
  }
  thread.operation = operation;
  thread.shuffle = shuffle;
  thread.mask = mask;
  thread.value = value;
  thread.parameter = parameter;
  thread.width = width;
  thread.line = line;
  thread.state = State::AtWarp;
  completeWarp(*thread.block, thread.warp(), mask);
  if (thread.state == State::AtWarp) {
    thread.fiber->suspend();
  }
  return thread.result;
}

/// Releases the lanes that wait with a mask whose every lane is there. `mask` limits which lanes
/// are looked at.
void Engine::completeWarp(Block& block, unsigned warp, unsigned mask) {
  unsigned first = warp * kWarpSize;
  auto lanes = static_cast<unsigned>(std::min<size_t>(kWarpSize, block.threads.size() - first));
  Thread* warp_threads = block.threads.data() + first;
  unsigned looked_at = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Thread& leader = warp_threads[lane];
    if (!(mask >> lane & 1) || (looked_at >> lane & 1) || leader.state != State::AtWarp) {
      continue;
    }
    unsigned participants = 0;
    bool complete = true;
    for (unsigned other = 0; other < lanes && complete; ++other) {
      const Thread& thread = warp_threads[other];
      if (!(leader.mask >> other & 1) || thread.state == State::Done) {
        continue;
      }
      complete = thread.state == State::AtWarp && thread.mask == leader.mask &&
                 thread.operation == leader.operation && thread.shuffle == leader.shuffle;
      participants |= 1u << other;
    }
    looked_at |= leader.mask;
    if (!complete) {
      continue;
    }
    unsigned ballot = 0;
    for (unsigned other = 0; other < lanes; ++other) {
      if (participants >> other & 1) {
        ballot |= static_cast<unsigned>(warp_threads[other].value != 0) << other;
      }
    }
    for (unsigned other = 0; other < lanes; ++other) {
      if (!(participants >> other & 1)) {
        continue;
      }
      Thread& thread = warp_threads[other];
      switch (thread.operation) {
        case Thread::WarpOperation::Shuffle:
          thread.result = shuffled(thread, participants);
          break;
        case Thread::WarpOperation::Ballot:
          thread.result = ballot;
          break;
        case Thread::WarpOperation::MatchAny:
          thread.result = 0;
          for (unsigned peer = 0; peer < lanes; ++peer) {
            bool equal = (participants >> peer & 1) && warp_threads[peer].value == thread.value;
            thread.result |= static_cast<uint64_t>(equal) << peer;
          }
          break;
        case Thread::WarpOperation::Sync:
          break;
      }
    }
    // Only __syncwarp orders memory; shuffles and votes do not.
    if (leader.operation == Thread::WarpOperation::Sync) {
      ++block.warp_epochs[warp];
      if (block.parted) {
        std::vector<Thread*> met;
        for (unsigned other = 0; other < lanes; ++other) {
          if (participants >> other & 1) {
            met.push_back(&warp_threads[other]);
          }
        }
        joinParts(met);
      }
    }
    for (unsigned other = 0; other < lanes; ++other) {
      if (participants >> other & 1) {
        warp_threads[other].state = State::Ready;
      }
    }
  }
}

uint64_t Engine::shuffled(const Thread& thread, unsigned participants) {
  auto lane = static_cast<int>(thread.view.lane);
  int width = thread.width;
  if (width <= 0 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) {
    report(Kind::ShuffleMismatch, nullptr, thread.line,
           text("shuffle mismatch: width ", width, " is not a power of two up to 32; ",
                describeThread(thread.block->linear, thread.index)));
    return thread.value;
  }
  int first = lane & ~(width - 1);
  int last = first + width - 1;
  int source = lane;
  bool inside = true;
  switch (thread.shuffle) {
    case NvfShuffleIndex:
      source = first | (thread.parameter & (width - 1));
      break;
    case NvfShuffleUp:
      source = lane - thread.parameter;
      inside = source >= first;
      break;
    case NvfShuffleDown:
      source = lane + thread.parameter;
      inside = source <= last;
      break;
    case NvfShuffleXor:
      source = lane ^ thread.parameter;
      inside = source <= last && source >= 0;
      break;
  }
  if (!inside || source == lane) {
    return thread.value;
  }
  if (!(participants >> source & 1)) {
    report(Kind::ShuffleMismatch, nullptr, thread.line,
           text("shuffle mismatch: lane ", lane, " reads lane ", source,
                ", which is not in the mask, has ended or does not exist; ",
                describeThread(thread.block->linear, thread.index)));
    return 0xffffffffffffffffu;
  }
  return thread.block->threads[thread.warp() * kWarpSize + static_cast<unsigned>(source)].value;
}

unsigned Engine::activeMask() const {
  unsigned mask = 0;
  for (const Thread& thread : current_->block->threads) {
    bool alive = thread.state != State::Done && thread.state != State::Failed;
    if (thread.warp() == current_->warp() && alive) {
      mask |= 1u << thread.view.lane;
    }
  }
  return mask;
}

void Engine::gridBarrier(const void* key, unsigned expected, int line) {
  Block& block = *current_->block;
  if (++block.at_grid_barrier < block.threads.size()) {
    return wait(State::AtGridBarrier, line);
  }
  GridBarrier& barrier = barriers_[key];
  barrier.waiting.push_back(&block);
  if (barrier.waiting.size() < expected) {
    return wait(State::AtGridBarrier, line);
  }
  releaseGridBarrier(locations_[key], barrier);
}

void Engine::clusterBarrier(int line) {
  const int64_t (&cluster)[3] = request_->shape.cluster;
  gridBarrier(&wave_, static_cast<unsigned>(cluster[0] * cluster[1] * cluster[2]), line);
}

/// Everything before the barrier, in any of its blocks, is ordered before everything after it.
void Engine::releaseGridBarrier(SyncLocation& location, GridBarrier& barrier) {
  bool whole_grid = request_->shape.cooperative && barrier.waiting.size() == wave_.size();
  if (whole_grid) {
    grid_floor_ = next_interval_;
  }
  uint32_t version = ++location.version;
  for (Block* block : barrier.waiting) {
    if (!whole_grid) {
      location.add(block->linear, {version, block->interval + 1, 0, 0});
      acquire(*block, {&location, version, block->interval, 0});
    }
    block->at_grid_barrier = 0;
    for (Thread& thread : block->threads) {
      thread.state = State::Ready;
    }
    beginInterval(*block);
    block->frontier = block->interval;
  }
  barrier.waiting.clear();
}

void* Engine::mapSharedRank(const void* address, unsigned rank, int line) {
  const Region& own = current_->block->dynamic;
  auto offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(own.data);
  if (offset >= own.bytes || rank >= wave_.size() || request_->shape.cooperative) {
    fail(Kind::OutOfBounds, nullptr, line,
         text("out of bounds: no dynamic shared memory of rank ", rank,
              " at this address in a cluster of ", wave_.size(), " blocks; ", describeCurrent()));
  }
  return wave_[rank]->dynamic.data + offset;
}

void Engine::asyncCopy(void* shared, const void* global, unsigned size, unsigned source_size,
                       const void* pc) {
  Thread& thread = *current_;
  AsyncCopy copy{static_cast<char*>(shared), size, pc, {}};
  if (size > sizeof copy.bytes || source_size > size) {
    fail(Kind::Trap, pc, 0,
         text("asynchronous copy of ", source_size, " of ", size, " bytes; ", describeCurrent()));
  }
  access(shared, size, size, Access::Write, pc);
  if (source_size > 0) {
    access(global, source_size, 1, Access::Read, pc);
    if (reinterpret_cast<uintptr_t>(global) % size != 0) {
      access(global, size, size, Access::Read, pc);
    }
    std::memcpy(copy.bytes, global, source_size);
  }
  Region* region = locate(shared);
  if (region && region->space == Region::Space::Shared) {
    region->setInit(static_cast<size_t>(copy.shared - region->data), size, Region::Pending);
    std::memset(shared, settings_.poison, size);
  }
  thread.open_copies.push_back(copy);
  ++unfinished_copies_;
}

void Engine::asyncCommit() {
  Thread& thread = *current_;
  thread.copy_groups.push_back(std::move(thread.open_copies));
  thread.open_copies.clear();
}

void Engine::asyncWait(unsigned groups_that_may_be_open) {
  Thread& thread = *current_;
  if (thread.copy_groups.size() <= groups_that_may_be_open) {
    return;
  }
  size_t ready = thread.copy_groups.size() - groups_that_may_be_open;
  for (size_t i = 0; i < ready; ++i) {
    finishCopies(thread.copy_groups[i]);
  }
  thread.copy_groups.erase(thread.copy_groups.begin(),
                           thread.copy_groups.begin() + static_cast<std::ptrdiff_t>(ready));
}

void Engine::finishCopies(std::vector<AsyncCopy>& copies) {
  unfinished_copies_ -= copies.size();
  for (const AsyncCopy& copy : copies) {
    if (Region* region = locate(copy.shared)) {
      region->setInit(static_cast<size_t>(copy.shared - region->data), copy.size, Region::Written);
    }
    access(copy.shared, copy.size, copy.size, Access::Write, copy.pc);
    std::memcpy(copy.shared, copy.bytes, copy.size);
  }
  copies.clear();
}

void Engine::trap(const char* what, int line) {
  fail(Kind::Trap, nullptr, line, text("trap: ", what, "; ", describeCurrent()));
}

}  // namespace nvfuser::emulated
