/// Threads of our own, for a process without an OpenMP runtime: one fixed pool, one region at a
/// time.
///
/// A region costs about 0.2 µs while the workers are awake: they spin for some time after each
/// region before they sleep. The caller takes part, too, and never waits for a worker that has not
/// woken up.
#pragma once

#include <memory>

namespace nvfuser {

class ThreadPool {
 public:
  /// What thread `thread` of a region does. Must not throw.
  using Member = void (*)(void* context, int thread);

  /// `threads` counts the caller: 1 starts none. Workers start with the first region.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  /// Calls `member(context, i)` on the thread i < `members`, of which the caller is 0, and returns
  /// when all that came are back. Those that come later than that do not begin. By one thread at a
  /// time. After a fork the child has workers again with its first region.
  void run(int members, Member member, void* context);

 private:
  struct State;

  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace nvfuser
