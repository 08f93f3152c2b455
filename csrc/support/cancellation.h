/// Ending long work early because its caller asks for it (Ctrl-C): the library's caller makes a
/// `Cancellation`, each call passes it down, and long work looks at it between its steps.
#pragma once

#include <chrono>

namespace nvfuser {

/// Thrown where the caller's wish was seen. No std::exception, since it is no failure: no handler
/// may try the work in another way because of it, and what is half done is dropped.
class Cancelled {};

/// Belongs to one call, and to the thread that makes it.
class Cancellation {
 public:
  /// Whether the work shall end; it may take locks and be slow.
  using Asked = bool (*)(void* data);
  explicit Cancellation(Asked asked, void* data = nullptr) : asked_(asked), data_(data) {}

  /// The time between two questions: at most a third of the time in which a wish is to be seen.
  static constexpr std::chrono::milliseconds kPeriod{50};

  /// Throws `Cancelled` if the caller wishes that, from then on always. Costs a look at the clock.
  void check() {
    const Clock::time_point now = Clock::now();
    if (now >= next_) {
      ask(now);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void ask(Clock::time_point now) {
    // The first look only starts the clock: short work never asks.
    const bool first = next_ == Clock::time_point{};
    next_ = now + kPeriod;
    if (!first && (wished_ || asked_(data_))) {
      wished_ = true;
      next_ = now;
      throw Cancelled();
    }
  }

  Asked asked_;
  void* data_;
  Clock::time_point next_{};
  bool wished_ = false;
};

/// `check` where there may be none.
inline void checkCancelled(Cancellation* cancellation) {
  if (cancellation != nullptr) {
    cancellation->check();
  }
}

}  // namespace nvfuser
