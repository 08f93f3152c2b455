// The threads of a block that do something together: all of them, or, where some only load (warp
// specialisation), those that have one role. What takes a `Part` is called by all of its threads.
//
//   WholeBlock                          all
//   KnownBlock<X, Y, Z>                 all, where extents are known to the compiler, which keeps
//                                       one of the ways to reduce among these threads
//   BlockPart<Id, First, X, Y, Z>       X·Y·Z threads from the linear index First on, whole warps;
//                                       Id: of their barrier, from 1 on
//   Part::rank(), isLeader(), count()   a thread's number among them, whether it is the first one
//   Part::extent<D>()                   along dimension D (0: x)
//   Part::sync()                        a barrier of these threads
//   leaveRegisters<N>()                 a thread has N registers from here on, fewer than before;
//   takeRegisters<N>()                  or more. All warps of a warpgroup, sm_90a; else nothing
//
// needs: basics.cuh
__device__ __forceinline__ u32 threadOfBlock() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

struct WholeBlock {
  static __device__ __forceinline__ u32 rank() { return threadOfBlock(); }
  static __device__ __forceinline__ bool isLeader() { return threadOfBlock() == 0; }
  static __device__ __forceinline__ u32 count() { return blockDim.x * blockDim.y * blockDim.z; }
  template <int D>
  static __device__ __forceinline__ u32 extent() {
    return D == 0 ? blockDim.x : D == 1 ? blockDim.y : blockDim.z;
  }
  static __device__ __forceinline__ void sync() { __syncthreads(); }
};

template <u32 X, u32 Y, u32 Z>
struct KnownBlock {
  static __device__ __forceinline__ u32 rank() {
    return threadIdx.x + X * (threadIdx.y + Y * threadIdx.z);
  }
  static __device__ __forceinline__ bool isLeader() { return rank() == 0; }
  static __device__ __forceinline__ u32 count() { return X * Y * Z; }
  template <int D>
  static __device__ __forceinline__ u32 extent() {
    return D == 0 ? X : D == 1 ? Y : Z;
  }
  static __device__ __forceinline__ void sync() { __syncthreads(); }
};

template <int Id, u32 First, u32 X, u32 Y = 1, u32 Z = 1>
struct BlockPart {
  static __device__ __forceinline__ u32 rank() { return threadOfBlock() - First; }
  static __device__ __forceinline__ bool isLeader() { return threadOfBlock() == First; }
  static __device__ __forceinline__ u32 count() { return X * Y * Z; }
  template <int D>
  static __device__ __forceinline__ u32 extent() {
    return D == 0 ? X : D == 1 ? Y : Z;
  }
  static __device__ __forceinline__ void sync() {
#if defined(NVFUSER_EMULATED)
    __nvf_named_barrier(Id, X * Y * Z);
#else
    asm volatile("bar.sync %0, %1;" ::"n"(Id), "n"(X * Y * Z) : "memory");
#endif
  }
};

template <int N>
__device__ __forceinline__ void leaveRegisters() {
#if defined(NVFUSER_EMULATED)
  __nvf_set_registers(N);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
#endif
}

template <int N>
__device__ __forceinline__ void takeRegisters() {
#if defined(NVFUSER_EMULATED)
  __nvf_set_registers(N);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
#endif
}
