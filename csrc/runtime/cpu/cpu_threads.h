/// The threads of the CPU device: regions of independent tasks.
///
///   the process has an OpenMP runtime (openmp.h) ─→ the calling thread's own team
///   none, or its threads were lost in a fork      ─→ a pool of ours (thread_pool.h)
///
/// Which tasks there are and what they compute does not depend on who runs them.
///
/// One region at a time: a call from inside a task or a parallel region of OpenMP, or while
/// another thread's region runs, runs its tasks in place.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include <runtime/cpu/thread_pool.h>
#include <runtime/cpu/work_shares.h>

namespace nvfuser {

struct OpenMp;

class CpuThreads {
 public:
  /// Who decides how many threads a region has, at most `threads()`.
  enum class Whose : uint8_t {
    Callers,  ///< the caller's settings of OpenMP, if it has that; its team
    Fixed,    ///< exactly so many, whatever the caller has set; its team all the same
    Own,      ///< so many of our own
  };

  CpuThreads(int threads, Whose whose);

  /// What work is cut for. The calling thread counts.
  int threads() const { return pool_.threads(); }
  /// How many a region of the calling thread would have now.
  int threadsNow() const;

  /// Runs all tasks 0 ≤ t < `tasks` once, and returns when all are done. The first exception of a
  /// task ends the region and is thrown here, as is that of `cancellation` (null: none).
  void parallelFor(int64_t tasks, TaskRange run, void* context, Cancellation* cancellation);

  /// The same for a callable `run(first, last)`.
  template <typename Run>
  void parallelFor(int64_t tasks, Run&& run, Cancellation* cancellation = nullptr) {
    using Callable = std::remove_reference_t<Run>;
    parallelFor(
        tasks,
        [](void* context, int64_t first, int64_t last) {
          (*static_cast<Callable*>(context))(first, last);
        },
        const_cast<void*>(static_cast<const void*>(&run)), cancellation);
  }

  /// In place, on the calling thread.
  static void runAlone(int64_t tasks, TaskRange run, void* context, Cancellation* cancellation);

 private:
  struct Team;
  Team teamNow() const;
  bool openRegion();
  void closeRegion();

  Whose whose_;
  ThreadPool pool_;
  std::atomic<uint64_t> open_{0};  ///< 1 + forks so far, while a region runs
};

/// Those of this process. NVFUSER_CPU_THREADS sets their number; otherwise there are as many as the
/// caller's OpenMP runtime takes, and at most the processors this process may use. Never destroyed:
/// threads may run kernels until the process ends.
CpuThreads& cpuThreads();

/// Processors that this process may use: by affinity and the cgroup's quota.
int availableProcessors();

}  // namespace nvfuser
