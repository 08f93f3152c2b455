#include <runtime/cpu/work_shares.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <type_traits>

#include <support/cancellation.h>

namespace nvfuser {
namespace {

/// A share is taken in so many pieces; the last ones balance the load.
constexpr int64_t kPiecesOfShare = 8;
/// Nothing is looked at before the end of a piece: none takes longer, unless a single task does. A
/// thread's first piece is one task, which tells how many the next ones may have.
constexpr std::chrono::milliseconds kLongestPiece{20};
constexpr int64_t kMostOfPiece = 64;

using Clock = std::chrono::steady_clock;

}  // namespace

WorkShares::WorkShares(int64_t tasks, int threads, TaskRange task, void* context)
    : threads_(static_cast<int>(std::min<int64_t>(tasks, threads))), run_(task), context_(context) {
  static_assert(std::is_trivially_destructible_v<Share>);
  if (threads_ > kFewThreads) {
    many_ = std::make_unique<Share[]>(static_cast<size_t>(threads_));
    shares_ = many_.get();
  } else {
    shares_ = reinterpret_cast<Share*>(few_.data());
    std::uninitialized_default_construct_n(shares_, threads_);
  }
  const int64_t quotient = tasks / threads_;
  const int64_t remainder = tasks % threads_;
  int64_t first = 0;
  for (int i = 0; i < threads_; i++) {
    const int64_t size = quotient + (i < remainder ? 1 : 0);
    shares_[i].next.store(first, std::memory_order_relaxed);
    shares_[i].end = first + size;
    shares_[i].piece = std::clamp<int64_t>(size / kPiecesOfShare, 1, kMostOfPiece);
    first += size;
  }
}

void WorkShares::run(int thread, Cancellation* cancellation) noexcept {
  try {
    int64_t most = 1;
    for (int step = 0; step < threads_; step++) {
      runShare(shares_[(thread + step) % threads_], most, cancellation);
    }
  } catch (...) {
    stopped_.store(true, std::memory_order_relaxed);
    const std::lock_guard<std::mutex> lock(failing_);
    if (failure_ == nullptr) {
      failure_ = std::current_exception();
    }
  }
}

/// `most`: tasks of a piece, as the pieces before tell.
void WorkShares::runShare(Share& share, int64_t& most, Cancellation* cancellation) {
  Clock::time_point begin = Clock::now();
  while (share.next.load(std::memory_order_relaxed) < share.end &&
         !stopped_.load(std::memory_order_relaxed)) {
    const int64_t piece = std::min(share.piece, most);
    const int64_t first = share.next.fetch_add(piece, std::memory_order_relaxed);
    if (first >= share.end) {
      return;
    }
    run_(context_, first, std::min(first + piece, share.end));
    const Clock::time_point end = Clock::now();
    const Clock::duration a_task = std::max((end - begin) / piece, Clock::duration(1));
    most = std::clamp<int64_t>(kLongestPiece / a_task, 1, kMostOfPiece);
    begin = end;
    if (cancellation != nullptr) {
      cancellation->check();
    }
  }
}

void WorkShares::rethrow() const {
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
}

}  // namespace nvfuser
