/// Runs launches: gives every thread its turn, keeps barriers and warps together, checks every
/// access, and collects what is wrong. One launch at a time.
///
/// Blocks of an ordinary launch run one after the other, blocks of a cluster or of a cooperative
/// launch together. A thread runs until it waits for others, so the interleaving is coarse; races
/// are found from the order that barriers, fences and atomics establish (happens-before), not from
/// the interleaving.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <runtime/device.h>
#include <runtime/emulated/emulated.h>
#include <runtime/emulated/errors.h>
#include <runtime/emulated/memory.h>
#include <runtime/emulated/module.h>
#include <runtime/emulated/threads.h>
#include <runtime/tensor_map.h>

namespace nvfuser::emulated {

struct LaunchRequest {
  const Module* module;
  size_t text;  ///< number of the text in its module
  const NvfKernelEntry* entry;
  std::string name;
  LaunchShape shape;
  std::span<void* const> args;
};

class Engine {
 public:
  explicit Engine(GlobalMemory& memory) : memory_(memory) {}

  /// Runs to the end; throws `EmulationError` if anything was found.
  void run(const LaunchRequest& request, const EmulationSettings& settings);

  // What the kernel's code asks for; on the fiber of the thread that asks (engine_waits.cpp,
  // engine_checks.cpp).
  enum class Access { Read, Write, Atomic };
  void access(const void* address, size_t size, size_t alignment, Access kind, const void* pc) {
    access(address, size, alignment, kind, pc, nullptr);
  }
  void fence();
  int blockBarrier(int predicate, int line);
  uint64_t warpOperation(Thread::WarpOperation operation, NvfShuffle shuffle, unsigned mask,
                         uint64_t value, int parameter, int width, int line);
  unsigned activeMask() const;
  void gridBarrier(const void* key, unsigned expected, int line);
  void clusterBarrier(int line);
  void* mapSharedRank(const void* address, unsigned rank, int line);
  void asyncCopy(void* shared, const void* global, unsigned size, unsigned source_size,
                 const void* pc);
  void asyncCommit();
  void asyncWait(unsigned groups_that_may_be_open);
  // engine_bulk.cpp
  void mbarrierInit(void* barrier, unsigned arrivals, const void* pc);
  void mbarrierExpect(void* barrier, unsigned bytes, const void* pc);
  void mbarrierArrive(void* barrier, const void* pc);
  void mbarrierWait(void* barrier, unsigned parity, const void* pc);
  void fenceAsyncProxy();
  void bulkLoad(void* shared, const void* global, unsigned bytes, void* barrier, const void* pc);
  void bulkStore(void* global, const void* shared, unsigned bytes, const void* pc);
  void boxLoad(void* shared, const TensorMapArgument& map, const int* at, void* barrier,
               const void* pc);
  void boxStore(const TensorMapArgument& map, const int* at, const void* shared, const void* pc);
  void bulkCommit();
  void bulkWaitRead(unsigned groups_that_may_be_open);
  void trap(const char* what, int line);
  // engine_roles.cpp
  void namedBarrier(unsigned id, unsigned threads, int line);
  void setRegisters(unsigned count, int line);
  void gridDependencyWait() { current_->waited_for_grid = true; }

 private:
  struct Finding {
    EmulationFinding::Kind kind;
    std::string message;
    const void* pc;
    int line;
    int64_t count;
  };
  struct GridBarrier {
    std::vector<Block*> waiting;
  };

  // engine.cpp: taking turns.
  void runWave(uint32_t first_block, uint32_t count);
  void startBlock(size_t slot, uint32_t linear);
  bool runBlock(Block& block);
  void resume(Thread& thread);
  void enter(Block& block);
  void diagnose();
  void diagnose(Block& block, bool others_failed);
  static void threadMain(void* thread);
  uint32_t position(uint32_t index, uint32_t count, uint64_t random) const;
  [[noreturn]] void throwFindings();

  // engine_waits.cpp
  void wait(Thread::State state, int line);
  void beginInterval(Block& block);
  void completeWarp(Block& block, unsigned warp, unsigned mask);
  uint64_t shuffled(const Thread& thread, unsigned participants);
  void releaseGridBarrier(SyncLocation& location, GridBarrier& barrier);

  // engine_checks.cpp
  Region* locate(const void* address);
  bool ordered(const Stamp& earlier, const Region& region) const;
  static void acquire(Block& block, const Acquired& added);
  bool acquiredFrom(const Stamp& earlier, uint32_t owner) const;
  /// `bulk`: by a bulk copy that the thread issues now.
  void access(const void* address, size_t size, size_t alignment, Access kind, const void* pc,
              const Stamp* bulk);
  void checkRaces(Region& region, size_t offset, size_t size, Access kind, const void* pc,
                  const Stamp* bulk);
  void reportRace(Region& region, size_t offset, const Stamp& earlier, bool earlier_writes,
                  Access kind, const void* pc);
  void release(const void* address);
  void finishCopies(std::vector<AsyncCopy>& copies);

  // engine_bulk.cpp
  Stamp beginBulk(const void* pc);
  void observe(uint32_t bulk);
  bool bulkOrdered(const Stamp& earlier) const;
  MBarrier& beginBulkLoad(void* barrier, const void* pc);
  void checkBox(const TensorMapArgument& map, const void* shared, const void* pc);
  void checkFenced(const Stamp& writer, const Region& region, size_t offset, const void* pc);
  void checkBulkSize(unsigned bytes, Region::Space from, const void* source, Region::Space to,
                     const void* target, const void* pc);
  MBarrier& mbarrierAt(void* barrier, const char* what, const void* pc);
  void completePhase(const void* barrier, MBarrier& state);
  void endOfThread(Thread& thread);
  void diagnoseMBarrier(const Thread& thread, unsigned count, const std::string& where);

  // engine_roles.cpp
  static uint32_t intervalOf(const Thread& thread) {
    return thread.block->parted ? thread.interval : thread.block->interval;
  }
  static void joinClock(PartClock& clock, const PartClock& other);
  static void beginParts(Block& block);
  void beginPart(Thread& thread);
  void joinParts(std::span<Thread* const> threads);
  void partAtBlockBarrier(Block& block);
  void release(Thread& thread, PartClock& clock);
  static void acquire(Thread& thread, const PartClock& clock);

  std::string describe(const Region& region, int64_t offset) const;
  std::string describeThread(uint32_t block, unsigned thread) const;
  std::string describeCurrent() const;
  void report(EmulationFinding::Kind kind, const void* pc, int line, std::string message);
  void fail(EmulationFinding::Kind kind, const void* pc, int line, std::string message);

  GlobalMemory& memory_;
  FiberPool fibers_;
  std::vector<std::unique_ptr<Block>> slots_;
  uint32_t next_interval_ = 1;

  // Of the launch that runs.
  const LaunchRequest* request_ = nullptr;
  EmulationSettings settings_;
  Module::Attached attached_{};
  std::vector<Block*> wave_;
  Thread* current_ = nullptr;
  Block* entered_ = nullptr;      ///< whose fixed-size shared variables are in place
  uint32_t launch_first_ = 0;     ///< first interval of this launch
  uint32_t wave_first_ = 0;       ///< and of this wave
  uint32_t grid_floor_ = 0;       ///< everything before is ordered (a barrier of the whole grid)
  std::vector<uint32_t> owners_;  ///< block of interval launch_first_ + i
  std::unordered_map<const void*, SyncLocation> locations_;
  std::map<const void*, GridBarrier> barriers_;
  std::unordered_map<uint32_t, BulkAccess> bulk_accesses_;  ///< by interval
  size_t unfinished_copies_ = 0;
  uint64_t random_ = 0;
  std::deque<Finding> findings_;
  int64_t findings_dropped_ = 0;
};

}  // namespace nvfuser::emulated
