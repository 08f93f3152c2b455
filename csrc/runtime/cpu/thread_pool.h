/// The threads of the CPU device: one fixed pool, regions of independent tasks.
///
/// A region costs about 0.2 µs while the workers are awake: they spin for some time after each
/// region before they sleep. The caller works too, and never waits for a worker that has not woken
/// up: it does that worker's tasks. Each thread begins with its own contiguous share of the tasks
/// (the same share in every region of that size, so that data stays in its cache) and then takes
/// what others have left.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace nvfuser {

/// Runs tasks first ≤ t < last. Must not throw.
using TaskRange = void (*)(void* context, int64_t first, int64_t last);

class ThreadPool {
 public:
  /// `threads` counts the caller: 1 starts none. Workers start with the first region that needs
  /// them.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Runs all tasks 0 ≤ t < `tasks` once, and returns when all are done. One region at a time: a
  /// call from inside a task, or while another thread's region runs, runs its tasks in place. After
  /// a fork the child has workers again with its first region.
  void parallelFor(int64_t tasks, TaskRange run, void* context);

  /// The same for a callable `run(first, last)`.
  template <typename Run>
  void parallelFor(int64_t tasks, Run&& run) {
    using Callable = std::remove_reference_t<Run>;
    parallelFor(
        tasks,
        [](void* context, int64_t first, int64_t last) {
          (*static_cast<Callable*>(context))(first, last);
        },
        const_cast<void*>(static_cast<const void*>(&run)));
  }

 private:
  struct State;
  State* liveState();

  int threads_;
  std::unique_ptr<State> state_;  ///< mutable by the owner of the region only
};

/// The pool of this process. NVFUSER_CPU_THREADS sets its size; otherwise the processors this
/// process may use (affinity and the cgroup's quota). Never destroyed: threads may run kernels
/// until the process ends.
ThreadPool& cpuThreadPool();

/// What `cpuThreadPool` takes its size from.
int availableProcessors();

}  // namespace nvfuser
