/// Collectives that are on their way on a GPU, watched by a thread: so that a device which waits
/// for one that has gone does not wait for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <external/sockets.h>
#include <runtime/cuda/driver.h>

namespace nvfuser::cuda {

class CollectivesInFlight {
 public:
  /// `whatFailed` is asked now and then, while any are on their way; `onFailure` is told once, from
  /// the watching thread, where it has an answer or a collective takes longer than `limit_s`.
  CollectivesInFlight(const Driver& driver, Context context, double limit_s,
                      std::function<std::optional<std::string>()> what_failed,
                      std::function<void(const std::string&)> on_failure);
  /// Watches no more; what is on its way goes on.
  ~CollectivesInFlight();
  CollectivesInFlight(const CollectivesInFlight&) = delete;
  CollectivesInFlight& operator=(const CollectivesInFlight&) = delete;

  /// A collective that has just been put on the stream. The context is current.
  void add(std::string what, StreamHandle stream);

 private:
  struct One {
    std::string what;
    Event event;
    external::Deadline deadline;
  };
  void watch();
  void dropFinished();

  const Driver& driver_;
  Context context_;
  double limit_s_;
  std::function<std::optional<std::string>()> what_failed_;
  std::function<void(const std::string&)> on_failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<One> all_;
  std::vector<Event> idle_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace nvfuser::cuda
