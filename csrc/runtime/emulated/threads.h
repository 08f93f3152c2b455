/// The state of emulated threads, warps and blocks: plain data that the engine moves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <ir/type.h>
#include <runtime/emulated/fiber.h>
#include <runtime/emulated/hook_table.h>
#include <runtime/emulated/memory.h>

namespace nvfuser::emulated {

inline constexpr auto kWarpSize = static_cast<unsigned>(nvfuser::kWarpSize);

/// What blocks have made known to others through one location (an atomic variable, or a barrier). A
/// release says: everything of `block` in intervals below `frontier` is visible to a block that
/// acquires this version or a later one, and besides everything of `thread` up to interval `own`.
struct SyncLocation {
  struct Release {
    uint32_t version;
    uint32_t frontier;
    uint32_t own;
    uint16_t thread;
    uint32_t reach = 0;  ///< the greatest frontier so far; no `own` exceeds its frontier
  };
  uint32_t version = 0;
  /// In the order of their versions.
  std::unordered_map<uint32_t, std::vector<Release>> by_block;

  void add(uint32_t block, Release release) {
    std::vector<Release>& releases = by_block[block];
    release.reach = std::max(release.frontier, releases.empty() ? 0 : releases.back().reach);
    releases.push_back(release);
  }
};

/// An acquired version of a location. Counts at once for the thread that acquired it, for the rest
/// of its block from the next barrier on.
struct Acquired {
  const SyncLocation* location;
  uint32_t version;
  uint32_t interval;
  uint16_t thread;
};

/// Where the threads of a block part (barriers of some of them, arrivals at an mbarrier), one
/// interval of the block says too little. Then each thread has intervals of its own, and knows of
/// each other thread up to which interval what that one did is ordered before what it does now.
using PartClock = std::vector<uint32_t>;

struct AsyncCopy {
  char* shared;
  unsigned size;
  const void* pc;
  unsigned char bytes[16];
};

/// What a bulk copy reads, or what it writes. It runs beside all threads, so its accesses carry an
/// interval that belongs to it alone. They are ordered before what a thread does that has observed
/// its end, and before everything in the block behind the next barrier.
struct BulkAccess {
  uint32_t block;
  uint16_t issuer;
  const void* pc;
  uint32_t observed_in = 0;  ///< interval of the first observation; 0: nobody has waited yet
  std::vector<uint16_t> observers;
  std::vector<uint32_t> observed_by;  ///< the interval of each
};

/// An mbarrier of a block. A phase is over when all arrivals have come and as many bytes have been
/// delivered as were announced.
struct MBarrier {
  unsigned arrivals = 0;  ///< of each phase
  unsigned pending = 0;
  int64_t announced = 0;
  int64_t delivered = 0;
  uint32_t phases_over = 0;
  Stamp initialised;
  bool fenced = false;            ///< bulk copies may use it
  std::vector<uint32_t> running;  ///< writes of the bulk loads of this phase, by interval
  std::vector<uint32_t> over;     ///< of phases that are over and not yet seen by everybody
  PartClock arrived;              ///< what those knew that arrived in this phase
  PartClock released;             ///< and in the phases that are over
  bool isOver(unsigned parity) const { return (phases_over & 1) != parity; }
};

struct Block;

struct Thread {
  enum class State {
    Ready,
    AtBlockBarrier,
    AtWarp,
    AtGridBarrier,
    AtMBarrier,
    AtNamedBarrier,
    Done,
    Failed
  };
  enum class WarpOperation { Shuffle, Ballot, MatchAny, Sync };

  NvfThread view{};
  Fiber* fiber = nullptr;
  Block* block = nullptr;
  uint16_t index = 0;  ///< in its block, x fastest
  State state = State::Ready;
  int line = 0;  ///< where it waits

  // While it waits for its warp.
  WarpOperation operation{};
  NvfShuffle shuffle{};
  unsigned mask = 0;
  uint64_t value = 0;
  int parameter = 0;
  int width = 0;
  uint64_t result = 0;

  // Memory order.
  uint32_t fence_interval = 0;  ///< of its last fence
  bool wrote_since_fence = false;
  std::vector<Acquired> observed;  ///< by atomics since its last fence

  std::vector<AsyncCopy> open_copies;  ///< not yet in a group
  std::vector<std::vector<AsyncCopy>> copy_groups;

  // Where threads part.
  uint32_t interval = 0;
  PartClock known;
  unsigned named_barrier = 0;    ///< that it waits at
  unsigned registers = 0;        ///< that it asked for; 0: it did not
  bool waited_for_grid = false;  ///< for the kernel in front

  // Bulk copies.
  const void* waits_for = nullptr;  ///< an mbarrier
  unsigned parity = 0;
  const void* waits_at = nullptr;     ///< in the code
  uint32_t unfenced_since = 0;        ///< interval of its first write to shared memory since its
                                      ///< last fence of the asynchronous proxy; 0: none
  std::vector<uint32_t> open_stores;  ///< reads of bulk stores that are in no group yet
  std::vector<std::vector<uint32_t>> store_groups;

  unsigned warp() const { return index / kWarpSize; }
};

struct Block {
  uint32_t linear = 0;  ///< in the grid, x fastest
  std::vector<Thread> threads;
  std::vector<uint16_t> warp_epochs;
  uint32_t interval = 0;
  uint32_t frontier = 0;  ///< everything before this interval is fenced
  unsigned at_barrier = 0;
  int predicate_count = 0;
  unsigned at_grid_barrier = 0;
  unsigned done = 0;
  unsigned unfenced_writers = 0;
  bool abandoned = false;
  bool parted = false;  ///< whether threads have intervals of their own
  std::vector<Acquired> acquired;
  std::unordered_map<const void*, MBarrier> mbarriers;
  std::vector<uint32_t> bulk_loads;  ///< writes of bulk loads, by interval

  // Shared memory: the launch's, between margins; and the fixed-size variables, whose contents lie
  // in `saved_statics` while another block runs.
  static constexpr size_t kMargin = 1024;
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char[], Free> arena;
  size_t arena_bytes = 0;
  Region dynamic{Region::Space::Shared, nullptr, 0};
  Region statics{Region::Space::Shared, nullptr, 0};
  std::vector<char> saved_statics;

  bool finished() const { return abandoned || done == threads.size(); }
};

}  // namespace nvfuser::emulated
