// mbarriers: arrivals of threads and bytes of bulk copies, counted by phases (engine_bulk.cpp has
// the copies).
#include <runtime/emulated/engine.h>
#include <support/error.h>

namespace nvfuser::emulated {

using Kind = EmulationFinding::Kind;
using State = Thread::State;

namespace {

constexpr size_t kBarrierBytes = 8;

}  // namespace

MBarrier& Engine::mbarrierAt(void* barrier, const char* what, const void* pc) {
  auto& barriers = current_->block->mbarriers;
  auto found = barriers.find(barrier);
  if (found == barriers.end()) {
    fail(Kind::BarrierMisuse, pc, 0,
         text("barrier misuse: ", what, " at an mbarrier that is not initialised; ",
              describeCurrent()));
  }
  access(barrier, kBarrierBytes, kBarrierBytes, Access::Atomic, pc);
  Region& region = *locate(barrier);
  const Stamp& initialised = found->second.initialised;
  if (!ordered(initialised, region)) {
    reportRace(region, static_cast<size_t>(static_cast<char*>(barrier) - region.data), initialised,
               true, Access::Atomic, pc);
  }
  return found->second;
}

void Engine::mbarrierInit(void* barrier, unsigned arrivals, const void* pc) {
  access(barrier, kBarrierBytes, kBarrierBytes, Access::Write, pc);
  if (locate(barrier)->space != Region::Space::Shared || arrivals == 0) {
    fail(Kind::BarrierMisuse, pc, 0,
         text("barrier misuse: an mbarrier of ", arrivals,
              " arrivals; it lies in shared memory and has one arrival at least; ",
              describeCurrent()));
  }
  MBarrier state;
  state.arrivals = state.pending = arrivals;
  if (arrivals > 1) {  // they order what threads do
    beginParts(*current_->block);
  }
  const Thread& thread = *current_;
  state.initialised = {intervalOf(thread), thread.index, thread.block->warp_epochs[thread.warp()]};
  if (!current_->block->mbarriers.emplace(barrier, std::move(state)).second) {
    report(Kind::BarrierMisuse, pc, 0,
           text("barrier misuse: an mbarrier is initialised a second time; ", describeCurrent()));
  }
}

void Engine::mbarrierExpect(void* barrier, unsigned bytes, const void* pc) {
  MBarrier& state = mbarrierAt(barrier, "bytes are announced", pc);
  state.announced += bytes;
}

void Engine::mbarrierArrive(void* barrier, const void* pc) {
  MBarrier& state = mbarrierAt(barrier, "an arrival", pc);
  if (state.pending == 0) {
    fail(Kind::BarrierMisuse, pc, 0,
         text("barrier misuse: more than ", state.arrivals,
              " arrivals at an mbarrier in one phase; ", describeCurrent()));
  }
  --state.pending;
  if (current_->block->parted) {
    release(*current_, state.arrived);
  }
  completePhase(barrier, state);
}

void Engine::completePhase(const void* barrier, MBarrier& state) {
  if (state.pending > 0 || state.announced != state.delivered) {
    return;
  }
  ++state.phases_over;
  state.pending = state.arrivals;
  state.announced = state.delivered = 0;
  Block& block = *current_->block;
  if (block.parted) {
    joinClock(state.released, state.arrived);
    state.arrived.clear();
  }
  // What all have seen, or one before the last barrier of the block, is ordered for all.
  std::erase_if(state.over, [&](uint32_t bulk) {
    const BulkAccess& access = bulk_accesses_.at(bulk);
    return access.observers.size() == block.threads.size() ||
           (!block.parted && access.observed_in != 0 && access.observed_in < block.interval);
  });
  state.over.insert(state.over.end(), state.running.begin(), state.running.end());
  state.running.clear();
  for (Thread& thread : block.threads) {
    if (thread.state == State::AtMBarrier && thread.waits_for == barrier &&
        state.isOver(thread.parity)) {
      thread.state = State::Ready;
    }
  }
}

void Engine::mbarrierWait(void* barrier, unsigned parity, const void* pc) {
  MBarrier& state = mbarrierAt(barrier, "a wait", pc);
  Thread& thread = *current_;
  if (!state.isOver(parity)) {
    thread.waits_for = barrier;
    thread.parity = parity;
    thread.waits_at = pc;
    wait(State::AtMBarrier, 0);
  }
  for (uint32_t bulk : state.over) {
    observe(bulk);
  }
  if (thread.block->parted) {
    acquire(thread, state.released);
  }
}

void Engine::diagnoseMBarrier(const Thread& thread, unsigned count, const std::string& where) {
  const MBarrier& state = thread.block->mbarriers.at(thread.waits_for);
  report(Kind::Deadlock, thread.waits_at, 0,
         text("deadlock: ", count, " of ", thread.block->threads.size(),
              " threads wait at an mbarrier", where, ", for the phase of parity ", thread.parity,
              "; ", state.phases_over, " phases are over, ", state.pending, " of ", state.arrivals,
              " arrivals and ", state.announced - state.delivered, " of ", state.announced,
              " announced bytes are missing; the first is ",
              describeThread(thread.block->linear, thread.index)));
}

void Engine::fenceAsyncProxy() {
  Thread& thread = *current_;
  thread.unfenced_since = 0;
  for (auto& [address, barrier] : thread.block->mbarriers) {
    barrier.fenced |= barrier.initialised.thread == thread.index;
  }
}

}  // namespace nvfuser::emulated
