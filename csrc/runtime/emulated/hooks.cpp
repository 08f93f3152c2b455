#include <runtime/emulated/hooks.h>

#include <runtime/emulated/engine.h>
#include <support/error.h>

namespace nvfuser::emulated {
namespace {

Engine* engine_in_use = nullptr;  // one launch at a time: the device locks

using Operation = Thread::WarpOperation;

uint64_t vote(NvfVote kind, unsigned mask, uint64_t value, int line) {
  Operation operation = kind == NvfVoteBallot     ? Operation::Ballot
                        : kind == NvfVoteMatchAny ? Operation::MatchAny
                                                  : Operation::Sync;
  return engine_in_use->warpOperation(operation, NvfShuffleIndex, mask, value, 0, 32, line);
}

constexpr NvfHooks kHooks = {
    .read = [](const void* p, unsigned n,
               const void* pc) { engine_in_use->access(p, n, n, Engine::Access::Read, pc); },
    .write = [](const void* p, unsigned n,
                const void* pc) { engine_in_use->access(p, n, n, Engine::Access::Write, pc); },
    .read_range = [](const void* p, unsigned long n,
                     const void* pc) { engine_in_use->access(p, n, 1, Engine::Access::Read, pc); },
    .write_range =
        [](const void* p, unsigned long n, const void* pc) {
          engine_in_use->access(p, n, 1, Engine::Access::Write, pc);
        },
    .atomic = [](const void* p, unsigned n,
                 const void* pc) { engine_in_use->access(p, n, n, Engine::Access::Atomic, pc); },
    .fence = [] { engine_in_use->fence(); },
    .block_barrier = [](int predicate,
                        int line) { return engine_in_use->blockBarrier(predicate, line); },
    .shuffle =
        [](NvfShuffle kind, unsigned mask, unsigned long long value, int parameter, int width,
           int line) {
          return static_cast<unsigned long long>(engine_in_use->warpOperation(
              Operation::Shuffle, kind, mask, value, parameter, width, line));
        },
    .vote = [](NvfVote kind, unsigned mask, unsigned long long value,
               int line) { return static_cast<unsigned>(vote(kind, mask, value, line)); },
    .active_mask = [] { return engine_in_use->activeMask(); },
    .grid_barrier = [](const void* key, unsigned expected,
                       int line) { engine_in_use->gridBarrier(key, expected, line); },
    .cluster_barrier = [](int line) { engine_in_use->clusterBarrier(line); },
    .map_shared_rank = [](const void* p, unsigned rank,
                          int line) { return engine_in_use->mapSharedRank(p, rank, line); },
    .async_copy =
        [](void* shared, const void* global, unsigned size, unsigned source_size, const void* pc) {
          engine_in_use->asyncCopy(shared, global, size, source_size, pc);
        },
    .async_commit = [] { engine_in_use->asyncCommit(); },
    .async_wait = [](unsigned groups) { engine_in_use->asyncWait(groups); },
    .mbarrier_init = [](void* barrier, unsigned arrivals,
                        const void* pc) { engine_in_use->mbarrierInit(barrier, arrivals, pc); },
    .mbarrier_expect = [](void* barrier, unsigned bytes,
                          const void* pc) { engine_in_use->mbarrierExpect(barrier, bytes, pc); },
    .mbarrier_arrive = [](void* barrier,
                          const void* pc) { engine_in_use->mbarrierArrive(barrier, pc); },
    .mbarrier_wait = [](void* barrier, unsigned parity,
                        const void* pc) { engine_in_use->mbarrierWait(barrier, parity, pc); },
    .fence_async_proxy = [] { engine_in_use->fenceAsyncProxy(); },
    .named_barrier = [](unsigned id, unsigned threads,
                        int line) { engine_in_use->namedBarrier(id, threads, line); },
    .set_registers = [](unsigned count, int line) { engine_in_use->setRegisters(count, line); },
    .grid_dependency_wait = [] { engine_in_use->gridDependencyWait(); },
    .bulk_load =
        [](void* shared, const void* global, unsigned bytes, void* barrier, const void* pc) {
          engine_in_use->bulkLoad(shared, global, bytes, barrier, pc);
        },
    .bulk_store = [](void* global, const void* shared, unsigned bytes,
                     const void* pc) { engine_in_use->bulkStore(global, shared, bytes, pc); },
    .box_load =
        [](void* shared, const void* map, const int* at, void* barrier, const void* pc) {
          engine_in_use->boxLoad(shared, *static_cast<const TensorMapArgument*>(map), at, barrier,
                                 pc);
        },
    .box_store =
        [](const void* map, const int* at, const void* shared, const void* pc) {
          engine_in_use->boxStore(*static_cast<const TensorMapArgument*>(map), at, shared, pc);
        },
    .bulk_commit = [] { engine_in_use->bulkCommit(); },
    .bulk_wait_read = [](unsigned groups) { engine_in_use->bulkWaitRead(groups); },
    .trap = [](const char* what, int line) { engine_in_use->trap(what, line); },
};

}  // namespace

const NvfHooks& hookTable() { return kHooks; }

Engine& engineInUse() { return *engine_in_use; }

EngineInUse::EngineInUse(Engine& engine) {
  check(engine_in_use == nullptr, "one emulated launch at a time");
  engine_in_use = &engine;
}
EngineInUse::~EngineInUse() { engine_in_use = nullptr; }

}  // namespace nvfuser::emulated
