// Threads of a block with different roles: barriers of some of them, and what they know of each
// other. See `PartClock` (threads.h).
//
// From the first barrier of a part of the block on (or the first mbarrier at which several threads
// arrive) each thread has intervals of its own:
//   - a barrier, of all or some threads, gives them a new one, and each knows what all of them
//   knew;
//   - an arrival at an mbarrier ends the interval of its thread; a thread that waited for the phase
//     knows what the threads knew that arrived in it.
#include <algorithm>

#include <runtime/emulated/engine.h>
#include <support/error.h>

namespace nvfuser::emulated {

using Kind = EmulationFinding::Kind;
using State = Thread::State;

namespace {

constexpr unsigned kWarpgroupThreads = 128;
constexpr unsigned kNamedBarriers = 16;

}  // namespace

void Engine::joinClock(PartClock& clock, const PartClock& other) {
  clock.resize(std::max(clock.size(), other.size()), 0);
  for (size_t i = 0; i < other.size(); ++i) {
    clock[i] = std::max(clock[i], other[i]);
  }
}

void Engine::beginParts(Block& block) {
  if (block.parted) {
    return;
  }
  block.parted = true;
  for (Thread& thread : block.threads) {
    thread.interval = block.interval;
    thread.known.assign(block.threads.size(), block.interval - 1);
  }
}

void Engine::beginPart(Thread& thread) {
  thread.interval = next_interval_++;
  owners_.push_back(thread.block->linear);
}

/// Threads that have met: what each did is ordered before what all of them do from now on.
void Engine::joinParts(std::span<Thread* const> threads) {
  PartClock joined;
  for (const Thread* thread : threads) {
    joinClock(joined, thread->known);
    joined[thread->index] = std::max(joined[thread->index], thread->interval);
  }
  const uint32_t next = next_interval_++;
  owners_.push_back(threads.front()->block->linear);
  for (Thread* thread : threads) {
    thread->known = joined;
    thread->interval = next;
  }
}

/// Behind a barrier of the block, whose interval has begun.
void Engine::partAtBlockBarrier(Block& block) {
  for (Thread& thread : block.threads) {
    thread.interval = block.interval;
    thread.known.assign(block.threads.size(), block.interval - 1);
  }
}

void Engine::release(Thread& thread, PartClock& clock) {
  joinClock(clock, thread.known);
  clock[thread.index] = std::max(clock[thread.index], thread.interval);
  beginPart(thread);
}

void Engine::acquire(Thread& thread, const PartClock& clock) { joinClock(thread.known, clock); }

void Engine::namedBarrier(unsigned id, unsigned threads, int line) {
  Thread& thread = *current_;
  Block& block = *thread.block;
  beginParts(block);
  if (id == 0 || id >= kNamedBarriers || threads == 0 || threads % kWarpSize != 0) {
    fail(Kind::BarrierMisuse, nullptr, line,
         text("barrier misuse: barrier ", id, " of ", threads, " threads; there are those of 1 to ",
              kNamedBarriers - 1, ", of whole warps; ", describeCurrent()));
  }
  std::vector<Thread*> met{&thread};
  for (Thread& other : block.threads) {
    if (other.state == State::AtNamedBarrier && other.named_barrier == id) {
      met.push_back(&other);
    }
  }
  if (met.size() < threads) {
    thread.named_barrier = id;
    return wait(State::AtNamedBarrier, line);
  }
  joinParts(met);
  for (Thread* other : met) {
    other->state = State::Ready;
  }
}

void Engine::setRegisters(unsigned count, int line) {
  Thread& thread = *current_;
  thread.registers = count;
  if (count < 24 || count > 256 || count % 8 != 0) {
    fail(Kind::Trap, nullptr, line,
         text("trap: setmaxnreg of ", count, "; it takes multiples of 8 from 24 to 256; ",
              describeCurrent()));
  }
  // All threads of a warpgroup take the same, and together they have no more than the block.
  const Block& block = *thread.block;
  const unsigned first = thread.index / kWarpgroupThreads * kWarpgroupThreads;
  if (first + kWarpgroupThreads > block.threads.size()) {
    fail(Kind::Trap, nullptr, line,
         text("trap: setmaxnreg by a warpgroup of less than ", kWarpgroupThreads, " threads; ",
              describeCurrent()));
  }
  for (unsigned i = first; i < first + kWarpgroupThreads; ++i) {
    const unsigned other = block.threads[i].registers;
    if (other != 0 && other != count) {
      fail(Kind::Trap, nullptr, line,
           text("trap: threads of one warpgroup set ", other, " and ", count, " registers; ",
                describeCurrent()));
    }
  }
}

}  // namespace nvfuser::emulated
