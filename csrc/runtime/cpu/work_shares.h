/// How the tasks of one region are shared out among its threads, ours or an OpenMP runtime's: each
/// begins with a contiguous share of its own (the same one in every region of that size, so that
/// data stays in its cache) and then takes what others have left. All tasks are done as soon as one
/// thread comes back from `run`, but for the pieces that others are at.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

namespace nvfuser {

class Cancellation;

/// Runs tasks first ≤ t < last.
using TaskRange = void (*)(void* context, int64_t first, int64_t last);

class WorkShares {
 public:
  /// `tasks` and `threads` are positive; of more threads than tasks the last ones have no share.
  WorkShares(int64_t tasks, int threads, TaskRange task, void* context);
  WorkShares(const WorkShares&) = delete;
  WorkShares& operator=(const WorkShares&) = delete;

  int threads() const { return threads_; }

  /// The part of thread 0 ≤ `thread` < `threads()`, each of which calls it at most once. Does not
  /// throw: what a task throws ends the region and is kept. `cancellation` is looked at between
  /// pieces, by the thread that it belongs to; null: by nobody.
  void run(int thread, Cancellation* cancellation) noexcept;

  /// After all threads are back: throws the first exception of a task, if there was one.
  void rethrow() const;

 private:
  /// What is left of one thread's share. Owner and helpers take pieces from the front.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
    int64_t piece = 1;
  };
  static constexpr int kFewThreads = 16;

  void runShare(Share& share, int64_t& most, Cancellation* cancellation);

  int threads_;
  TaskRange run_;
  void* context_;
  /// Of few threads; made as far as there are some, since a region of them is short.
  alignas(Share) std::array<std::byte, sizeof(Share) * kFewThreads> few_;
  std::unique_ptr<Share[]> many_;
  Share* shares_;
  std::atomic<bool> stopped_{false};
  std::mutex failing_;
  std::exception_ptr failure_;
};

}  // namespace nvfuser
