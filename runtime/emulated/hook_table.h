// What an emulated kernel and the emulator call each other with. Plain C types only: the file is
// pasted in front of the prelude, and included by csrc/runtime/emulated/. Both sides are always
// built from the same text.
#ifndef NVF_HOOK_TABLE_H
#define NVF_HOOK_TABLE_H

// One thread of the block that runs now, as the kernel sees it.
struct NvfThread {
  unsigned thread_index[3];
  unsigned block_index[3];
  unsigned block_size[3];
  unsigned grid_size[3];
  unsigned cluster_size[3];
  unsigned lane;
  void* dynamic_shared;
};

enum NvfShuffle { NvfShuffleIndex, NvfShuffleUp, NvfShuffleDown, NvfShuffleXor };
enum NvfVote { NvfVoteBallot, NvfVoteMatchAny, NvfVoteSync };

// `pc` is an address inside the kernel's code, from which messages find the line; `line` is the
// line itself.
struct NvfHooks {
  // One access of `size` bytes, which must be aligned to `size`.
  void (*read)(const void* address, unsigned size, const void* pc);
  void (*write)(const void* address, unsigned size, const void* pc);
  // Any number of bytes, any alignment.
  void (*read_range)(const void* address, unsigned long size, const void* pc);
  void (*write_range)(const void* address, unsigned long size, const void* pc);
  // An atomic read-modify-write, load or store.
  void (*atomic)(const void* address, unsigned size, const void* pc);
  void (*fence)();

  // __syncthreads and its variants: the number of threads of the block whose `predicate` is not
  // zero.
  int (*block_barrier)(int predicate, int line);
  unsigned long long (*shuffle)(NvfShuffle kind, unsigned mask, unsigned long long value,
                                int parameter, int width, int line);
  unsigned (*vote)(NvfVote kind, unsigned mask, unsigned long long value, int line);
  unsigned (*active_mask)();

  // Called by all threads of a block; returns when `expected` blocks have come to the barrier of
  // this `key`.
  void (*grid_barrier)(const void* key, unsigned expected, int line);
  void (*cluster_barrier)(int line);
  void* (*map_shared_rank)(const void* address, unsigned rank, int line);

  // cp.async: `size` bytes to shared memory, of which the first `source_size` are read and the
  // others zero. The copy is not visible before a wait of the same thread.
  void (*async_copy)(void* shared, const void* global, unsigned size, unsigned source_size,
                     const void* pc);
  void (*async_commit)();
  void (*async_wait)(unsigned groups_that_may_be_open);

  // mbarriers and cp.async.bulk: copies of `bytes` bytes (a multiple of 16) that run beside all
  // threads. What a load writes may be touched by who has waited for the phase of its barrier; what
  // a store reads may be written again by who has waited for its group.
  void (*mbarrier_init)(void* barrier, unsigned arrivals, const void* pc);
  void (*mbarrier_expect)(void* barrier, unsigned bytes, const void* pc);
  void (*mbarrier_arrive)(void* barrier, const void* pc);
  void (*mbarrier_wait)(void* barrier, unsigned parity, const void* pc);
  void (*fence_async_proxy)();
  // Of `threads` threads of the block, a multiple of 32.
  void (*named_barrier)(unsigned id, unsigned threads, int line);
  // setmaxnreg: warps of a whole warpgroup.
  void (*set_registers)(unsigned count, int line);
  // griddepcontrol.wait: what the kernel in front wrote is there.
  void (*grid_dependency_wait)();
  void (*bulk_load)(void* shared, const void* global, unsigned bytes, void* barrier,
                    const void* pc);
  void (*bulk_store)(void* global, const void* shared, unsigned bytes, const void* pc);
  // A box of the tensor that `map` (tensor_map.cuh) tells of, whose first element is at the
  // coordinates `at`, innermost axis first.
  void (*box_load)(void* shared, const void* map, const int* at, void* barrier, const void* pc);
  void (*box_store)(const void* map, const int* at, const void* shared, const void* pc);
  void (*bulk_commit)();
  void (*bulk_wait_read)(unsigned groups_that_may_be_open);

  void (*trap)(const char* what, int line);
};

// One kernel of the text.
struct NvfKernelEntry {
  void (*run)(void* const* args);
  int parameter_count;
  const unsigned char* is_pointer;  // for each parameter
};

// Called once after loading; `current` receives where the emulator stores the running thread.
typedef void NvfAttach(const NvfHooks* hooks, NvfThread const*** current, void** shared_anchor);

#endif  // NVF_HOOK_TABLE_H
