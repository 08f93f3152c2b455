#include <runtime/emulated/engine.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <runtime/emulated/hooks.h>
#include <support/error.h>

namespace nvfuser::emulated {
namespace {

uint32_t blockCount(const LaunchShape& shape) {
  return static_cast<uint32_t>(shape.grid[0] * shape.grid[1] * shape.grid[2]);
}
uint32_t threadCount(const LaunchShape& shape) {
  return static_cast<uint32_t>(shape.block[0] * shape.block[1] * shape.block[2]);
}

void split(uint32_t linear, const int64_t (&extents)[3], unsigned (&index)[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    index[axis] = static_cast<unsigned>(linear % static_cast<uint64_t>(extents[axis]));
    linear = static_cast<uint32_t>(linear / static_cast<uint64_t>(extents[axis]));
  }
}

/// The grid's linear index of block number `member` of cluster number `cluster` (both x fastest).
uint32_t blockOfCluster(const LaunchShape& shape, uint32_t cluster, uint32_t member) {
  unsigned inside[3], outside[3];
  int64_t clusters[3];
  for (int axis = 0; axis < 3; ++axis) {
    clusters[axis] = shape.grid[axis] / shape.cluster[axis];
  }
  split(member, shape.cluster, inside);
  split(cluster, clusters, outside);
  int64_t index[3];
  for (int axis = 0; axis < 3; ++axis) {
    index[axis] = outside[axis] * shape.cluster[axis] + inside[axis];
  }
  return static_cast<uint32_t>(index[0] + shape.grid[0] * (index[1] + shape.grid[1] * index[2]));
}

}  // namespace

void Engine::run(const LaunchRequest& request, const EmulationSettings& settings) {
  if (next_interval_ > 0xf0000000u) {  // intervals run out: start again with nothing remembered
    memory_.clearCells();
    slots_.clear();
    next_interval_ = 1;
  }
  request_ = &request;
  settings_ = settings;
  random_ = settings.seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  launch_first_ = grid_floor_ = next_interval_;
  owners_.clear();
  locations_.clear();
  barriers_.clear();
  bulk_accesses_.clear();
  findings_.clear();
  findings_dropped_ = 0;
  unfinished_copies_ = 0;
  EngineInUse in_use(*this);
  attached_ = request.module->attach(hookTable());

  const LaunchShape& shape = request.shape;
  uint32_t blocks = blockCount(shape);
  auto members = static_cast<uint32_t>(shape.cluster[0] * shape.cluster[1] * shape.cluster[2]);
  if (shape.cooperative) {
    runWave(0, blocks);
  } else {
    uint32_t waves = blocks / members;
    for (uint32_t i = 0; i < waves; ++i) {
      runWave(position(i, waves, settings.seed), members);
    }
  }
  *attached_.current = nullptr;
  request_ = nullptr;
  current_ = nullptr;
  for (auto& slot : slots_) {
    slot->acquired.clear();
  }
  if (!findings_.empty()) {
    request_ = &request;
    throwFindings();
  }
}

/// A permutation of 0 … count−1: forward, reverse, or a random walk with a stride prime to `count`.
uint32_t Engine::position(uint32_t index, uint32_t count, uint64_t random) const {
  switch (settings_.order) {
    case EmulationOrder::Forward:
      return index;
    case EmulationOrder::Reverse:
      return count - 1 - index;
    case EmulationOrder::Random:
      break;
  }
  uint64_t bits = (random + 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  bits ^= bits >> 32;
  uint64_t stride = (bits >> 8) % count | 1;
  while (std::gcd(stride, uint64_t{count}) != 1) {
    stride += 1;
  }
  return static_cast<uint32_t>((bits % count + index * stride) % count);
}

/// Runs `count` blocks together: the whole grid, or cluster number `first`.
void Engine::runWave(uint32_t first, uint32_t count) {
  const LaunchShape& shape = request_->shape;
  wave_.clear();
  wave_first_ = next_interval_;
  entered_ = nullptr;
  while (slots_.size() < count) {
    slots_.push_back(std::make_unique<Block>());
  }
  for (uint32_t i = 0; i < count; ++i) {
    startBlock(i, shape.cooperative ? i : blockOfCluster(shape, first, i));
    wave_.push_back(slots_[i].get());
  }
  for (bool unfinished = true; unfinished;) {
    unfinished = false;
    bool progress = false;
    for (uint32_t i = 0; i < count; ++i) {
      Block& block = *wave_[position(i, count, settings_.seed)];
      if (block.finished()) {
        continue;
      }
      progress |= runBlock(block);
      unfinished |= !block.finished();
    }
    if (unfinished && !progress) {
      diagnose();
      break;
    }
  }
}

void Engine::startBlock(size_t slot, uint32_t linear) {
  const LaunchShape& shape = request_->shape;
  Block& block = *slots_[slot];
  uint32_t threads = threadCount(shape);
  block.linear = linear;
  block.at_barrier = block.at_grid_barrier = block.done = block.unfenced_writers = 0;
  block.predicate_count = 0;
  block.abandoned = block.parted = false;
  block.acquired.clear();
  block.mbarriers.clear();
  block.bulk_loads.clear();
  block.warp_epochs.assign((threads + kWarpSize - 1) / kWarpSize, 0);
  block.interval = next_interval_++;
  block.frontier = block.interval;
  owners_.push_back(linear);

  auto dynamic_bytes = static_cast<size_t>(shape.shared_bytes);
  if (!block.arena || block.arena_bytes < dynamic_bytes) {
    block.arena_bytes = (dynamic_bytes + 1023) / 1024 * 1024;
    block.arena.reset(
        static_cast<char*>(std::aligned_alloc(1024, block.arena_bytes + 2 * Block::kMargin)));
    if (!block.arena) {
      userError("emulated CUDA: no memory for ", dynamic_bytes, " bytes of shared memory");
    }
    block.dynamic.clearCells();
  }
  if (block.dynamic.bytes != dynamic_bytes ||
      block.dynamic.data != block.arena.get() + Block::kMargin) {
    block.dynamic.clearCells();
    block.dynamic.data = block.arena.get() + Block::kMargin;
    block.dynamic.bytes = dynamic_bytes;
  }
  block.dynamic.resetInit(Region::Unwritten);
  std::memset(block.dynamic.data, settings_.poison, dynamic_bytes);
  if (block.statics.data != attached_.shared || block.statics.bytes != attached_.shared_bytes) {
    block.statics.clearCells();
    block.statics.data = attached_.shared;
    block.statics.bytes = attached_.shared_bytes;
  }
  block.statics.resetInit(Region::Unwritten);
  block.saved_statics.assign(attached_.shared_bytes, static_cast<char>(settings_.poison));

  block.threads.resize(threads);
  for (uint32_t i = 0; i < threads; ++i) {
    Thread& thread = block.threads[i];
    thread.block = &block;
    thread.index = static_cast<uint16_t>(i);
    thread.state = Thread::State::Ready;
    thread.fence_interval = 0;
    thread.wrote_since_fence = false;
    thread.observed.clear();
    thread.open_copies.clear();
    thread.copy_groups.clear();
    thread.unfenced_since = 0;
    thread.registers = 0;
    thread.waited_for_grid = false;
    thread.open_stores.clear();
    thread.store_groups.clear();
    NvfThread& view = thread.view;
    split(i, shape.block, view.thread_index);
    split(linear, shape.grid, view.block_index);
    for (int axis = 0; axis < 3; ++axis) {
      view.block_size[axis] = static_cast<unsigned>(shape.block[axis]);
      view.grid_size[axis] = static_cast<unsigned>(shape.grid[axis]);
      view.cluster_size[axis] = static_cast<unsigned>(shape.cluster[axis]);
    }
    view.lane = i % kWarpSize;
    view.dynamic_shared = block.dynamic.data;
    thread.fiber = &fibers_.at(slot * threads + i);
    thread.fiber->prepare(&Engine::threadMain, &thread);
  }
}

void Engine::threadMain(void* argument) {
  auto* thread = static_cast<Thread*>(argument);
  Engine& engine = engineInUse();
  engine.request_->entry->run(engine.request_->args.data());
  engine.unfinished_copies_ -= thread->open_copies.size();
  for (const auto& group : thread->copy_groups) {
    engine.unfinished_copies_ -= group.size();
  }
  thread->state = Thread::State::Done;
  ++thread->block->done;
  engine.endOfThread(*thread);
  engine.completeWarp(*thread->block, thread->warp(), 0xffffffffu);
  thread->fiber->suspend();
}

/// Puts the block's fixed-size shared variables where the code looks for them.
void Engine::enter(Block& block) {
  if (entered_ == &block || attached_.shared_bytes == 0) {
    return;
  }
  if (entered_) {
    std::memcpy(entered_->saved_statics.data(), attached_.shared, attached_.shared_bytes);
  }
  std::memcpy(attached_.shared, block.saved_statics.data(), attached_.shared_bytes);
  entered_ = &block;
}

void Engine::resume(Thread& thread) {
  current_ = &thread;
  *attached_.current = &thread.view;
  thread.fiber->resume();
}

/// Lets the threads of a block run until each waits for another block or has ended. Whether any
/// ran.
bool Engine::runBlock(Block& block) {
  enter(block);
  auto threads = static_cast<unsigned>(block.threads.size());
  auto warps = static_cast<unsigned>(block.warp_epochs.size());
  bool ran = false;
  for (bool again = true; again;) {
    again = false;
    for (unsigned w = 0; w < warps; ++w) {
      unsigned warp = position(w, warps, random_);
      unsigned first = warp * kWarpSize;
      unsigned lanes = std::min(kWarpSize, threads - first);
      for (bool warp_again = true; warp_again;) {
        warp_again = false;
        for (unsigned l = 0; l < lanes; ++l) {
          Thread& thread = block.threads[first + position(l, lanes, ~random_)];
          if (thread.state != Thread::State::Ready) {
            continue;
          }
          resume(thread);
          warp_again = again = ran = true;
        }
      }
    }
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  }
  return ran;
}

/// Nobody can run any more: says why for each block, and gives the blocks up.
void Engine::diagnose() {
  bool any_failed = false;
  for (Block* block : wave_) {
    for (const Thread& thread : block->threads) {
      any_failed |= thread.state == Thread::State::Failed;
    }
  }
  for (Block* block : wave_) {
    if (block->finished()) {
      continue;
    }
    diagnose(*block, any_failed);
    block->abandoned = true;
  }
}

void Engine::diagnose(Block& block, bool any_failed) {
  using State = Thread::State;
  unsigned counts[8] = {};
  const Thread* waiting[8] = {};
  for (const Thread& thread : block.threads) {
    auto state = static_cast<size_t>(thread.state);
    ++counts[state];
    if (!waiting[state]) {
      waiting[state] = &thread;
    }
  }
  auto count = [&](State state) { return counts[static_cast<size_t>(state)]; };
  if (count(State::Failed) > 0) {
    return;  // the others wait for a thread that was stopped: said already
  }
  std::string where =
      text(" of kernel ", request_->name, ", block ", describeThread(block.linear, ~0u));
  if (count(State::AtMBarrier) > 0) {
    diagnoseMBarrier(*waiting[static_cast<size_t>(State::AtMBarrier)], count(State::AtMBarrier),
                     where);
  } else if (count(State::AtNamedBarrier) > 0) {
    const Thread& thread = *waiting[static_cast<size_t>(State::AtNamedBarrier)];
    report(EmulationFinding::Kind::DivergentBarrier, nullptr, thread.line,
           text("divergent barrier: ", count(State::AtNamedBarrier), " of ", block.threads.size(),
                " threads are at a barrier of a part of the block", where, ", barrier ",
                thread.named_barrier, "; ", count(State::Done), " have ended; the first is ",
                describeThread(block.linear, thread.index)));
  } else if (count(State::AtBlockBarrier) > 0) {
    const Thread& thread = *waiting[static_cast<size_t>(State::AtBlockBarrier)];
    report(EmulationFinding::Kind::DivergentBarrier, nullptr, thread.line,
           text("divergent barrier: ", count(State::AtBlockBarrier), " of ", block.threads.size(),
                " threads are at the barrier", where, "; ", count(State::Done), " have ended, ",
                count(State::AtWarp), " wait for their warp, ", count(State::AtGridBarrier),
                " at a grid barrier; the first at the barrier is ",
                describeThread(block.linear, thread.index)));
  } else if (count(State::AtWarp) > 0) {
    const Thread& thread = *waiting[static_cast<size_t>(State::AtWarp)];
    std::string missing;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      unsigned index = thread.warp() * kWarpSize + lane;
      if (!(thread.mask >> lane & 1) || index >= block.threads.size()) {
        continue;
      }
      const Thread& other = block.threads[index];
      if (other.state != State::AtWarp || other.mask != thread.mask ||
          other.operation != thread.operation) {
        missing += text(missing.empty() ? "" : ", ", lane);
      }
    }
    report(EmulationFinding::Kind::ShuffleMismatch, nullptr, thread.line,
           text("shuffle mismatch: lanes ", missing.empty() ? "(none)" : missing, " of the mask ",
                thread.mask, " do not come to the warp operation", where, ", where ",
                describeThread(block.linear, thread.index), " waits"));
  } else if (!any_failed) {
    const Thread& thread = *waiting[static_cast<size_t>(State::AtGridBarrier)];
    report(
        EmulationFinding::Kind::Deadlock, nullptr, thread.line,
        text("deadlock: ", count(State::AtGridBarrier), " of ", block.threads.size(),
             " threads wait at a grid or cluster barrier", where, "; other blocks never come to it",
             request_->shape.cooperative ? "" : " (the launch is not cooperative)"));
  }
}

void Engine::throwFindings() {
  std::vector<const void*> addresses;
  for (const Finding& finding : findings_) {
    if (finding.pc) {
      addresses.push_back(finding.pc);
    }
  }
  std::vector<CodeLine> lines = request_->module->locate(addresses);
  std::vector<EmulationFinding> result;
  size_t located = 0;
  for (const Finding& finding : findings_) {
    EmulationFinding entry{finding.kind, finding.message, finding.line, finding.count};
    CodeLine line;
    if (finding.pc) {
      line = lines[located++];
    } else if (finding.line > 0) {
      line.line = finding.line;
      line.text = request_->module->lineOf(request_->text, finding.line);
    }
    entry.line = line.line;
    if (finding.count > 1) {
      entry.message += text(" (", finding.count, " times)");
    }
    if (line.line > 0) {
      entry.message += text("\n    at line ", line.line, ": ", line.text);
    }
    if (line.outer_line > 0) {
      entry.message += text("\n    inlined at line ", line.outer_line, ": ", line.outer_text);
    }
    result.push_back(std::move(entry));
  }
  std::string message = text("emulated CUDA: kernel ", request_->name, " broke ", result.size(),
                             result.size() == 1 ? " rule" : " rules");
  for (const EmulationFinding& finding : result) {
    message += "\n  " + finding.message;
  }
  if (findings_dropped_ > 0) {
    message += text("\n  and ", findings_dropped_, " findings more");
  }
  request_ = nullptr;
  throw EmulationError(message, std::move(result));
}

}  // namespace nvfuser::emulated
