/// The OpenMP runtime of the process, where it has one: PyTorch brings libgomp, other programs
/// LLVM's libomp or Intel's libiomp5. It is looked for and never linked, also again after more was
/// loaded.
///
/// All of them have libgomp's entry points, so these are enough. A region that runs on the calling
/// thread's team stands in line with the caller's own regions: the same threads, as many as the
/// caller wants (`omp_set_num_threads`, OMP_NUM_THREADS, `torch.set_num_threads`), bound as it
/// wants them (OMP_PROC_BIND), and none of them looks for work while another pool of threads has
/// some.
#pragma once

namespace nvfuser {

struct OpenMp {
  using Body = void (*)(void* data);

  /// GOMP_parallel: `body(data)` on each thread of a team; `threads` 0 takes as many as the caller
  /// has set. Returns when all are back. What `body` throws must not leave it.
  void (*parallel)(Body body, void* data, unsigned threads, unsigned flags) = nullptr;
  int (*thread_number)() = nullptr;  ///< omp_get_thread_num
  int (*in_parallel)() = nullptr;    ///< omp_in_parallel
  int (*max_threads)() = nullptr;    ///< omp_get_max_threads
  int (*processors)() = nullptr;     ///< omp_get_num_procs: bound threads count all of them
  /// PyTorch's own number of threads, which it tells the runtime in each thread that asks for it
  /// first. Null without PyTorch.
  int (*torch_threads)() = nullptr;

  /// Threads that a region of the calling thread has.
  int threads() const { return torch_threads != nullptr ? torch_threads() : max_threads(); }
};

/// The runtime that the process has now: the one that PyTorch is bound to, if PyTorch is loaded.
/// Null: none. What was found stays loaded.
const OpenMp* loadedOpenMp();

}  // namespace nvfuser
