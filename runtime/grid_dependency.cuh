// Kernels that start before the one in front of them in the stream has ended (programmatic
// dependent launch, sm_90 and later; before, and where the launch did not ask for it, nothing).
//
//   gridDependencyWait()     until the kernel in front has ended; what it wrote is visible. Each
//                            thread waits before it touches memory that others may write
//   gridDependencyLaunch()   the kernel behind may start when all blocks have come here
//
// needs: basics.cuh
__device__ __forceinline__ void gridDependencyWait() {
#if defined(NVFUSER_EMULATED)
  __nvf_grid_dependency_wait();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void gridDependencyLaunch() {
#if !defined(NVFUSER_EMULATED) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
