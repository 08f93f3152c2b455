#include <runtime/cuda/collectives_in_flight.h>

#include <support/error.h>

namespace nvfuser::cuda {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks(20);
/// Looks that find the same failure before it counts: a process may end while what it has given is
/// still on its way to others.
constexpr int kLooksThatCount = 25;

}  // namespace

CollectivesInFlight::CollectivesInFlight(const Driver& driver, Context context, double limit_s,
                                         std::function<std::optional<std::string>()> what_failed,
                                         std::function<void(const std::string&)> on_failure)
    : driver_(driver),
      context_(context),
      limit_s_(limit_s),
      what_failed_(std::move(what_failed)),
      on_failure_(std::move(on_failure)),
      thread_([this] { watch(); }) {}

CollectivesInFlight::~CollectivesInFlight() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const One& one : all_) {
    driver_.EventDestroy(one.event);
  }
  for (const Event event : idle_) {
    driver_.EventDestroy(event);
  }
}

void CollectivesInFlight::add(std::string what, StreamHandle stream) {
  int captures = 0;
  if (driver_.StreamIsCapturing(stream, &captures) != kSuccess || captures != 0) {
    return;  // it runs when the graph does
  }
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    dropFinished();
  }
  Event event = nullptr;
  if (idle_.empty()) {
    throwIfFailed(driver_, driver_.EventCreate(&event, kEventDisableTiming), "cuEventCreate");
  } else {
    event = idle_.back();
    idle_.pop_back();
  }
  throwIfFailed(driver_, driver_.EventRecord(event, stream), "cuEventRecord", what);
  const bool sleeps = all_.empty();
  all_.push_back({std::move(what), event, external::deadlineIn(limit_s_)});
  if (sleeps) {
    changed_.notify_all();
  }
}

/// With the mutex held.
void CollectivesInFlight::dropFinished() {
  while (!all_.empty() && driver_.EventQuery(all_.front().event) != kErrorNotReady) {
    idle_.push_back(all_.front().event);
    all_.pop_front();
  }
}

void CollectivesInFlight::watch() {
  driver_.CtxSetCurrent(context_);
  std::unique_lock lock(mutex_);
  int failed_looks = 0;
  while (!ends_) {
    if (all_.empty()) {
      changed_.wait(lock, [this] { return ends_ || !all_.empty(); });
      continue;
    }
    changed_.wait_for(lock, kBetweenLooks, [this] { return ends_; });
    const size_t before = all_.size();
    dropFinished();
    if (ends_ || all_.empty() || all_.size() < before) {
      failed_looks = 0;
      continue;
    }
    const std::string what = all_.front().what;
    const bool is_late = std::chrono::steady_clock::now() > all_.front().deadline;
    lock.unlock();
    std::optional<std::string> failure = what_failed_();
    failed_looks = failure ? failed_looks + 1 : 0;
    if (failed_looks >= kLooksThatCount || is_late) {
      on_failure_(text(what, ": ",
                       failure ? *failure
                               : text("it has not ended within ", limit_s_,
                                      " s; another device may have stopped")));
      return;
    }
    lock.lock();
  }
}

}  // namespace nvfuser::cuda
