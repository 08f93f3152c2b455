/// Ctrl-C during a call: Python only notes a signal, and runs its handler when it is asked for it
/// on the main thread. A long call asks now and then, and ends with the handler's exception.
///
/// Where the interpreter ends while calls of other threads run, those go no further than to where
/// they ask next: what they use is about to be destroyed.
#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <utility>

#include <support/cancellation.h>

namespace nvfuser::python {

/// Of one call.
class Interruptible {
 public:
  Interruptible() : cancellation_(&handlerRaises, this) { ++running_; }
  ~Interruptible() { --running_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// To be called before the interpreter ends: comes back when all calls have ended or stopped, or
  /// after some seconds.
  static void stopAll();
  /// To be passed down with the call.
  Cancellation* cancellation() { return &cancellation_; }

  /// `work()`, with or without the interpreter's lock; throws what the signal's handler raised, as
  /// `nb::python_error`.
  template <typename Work>
  auto run(Work&& work) {
    try {
      return std::forward<Work>(work)();
    } catch (const Cancelled&) {
      std::rethrow_exception(raised_);
    }
  }

 private:
  static bool handlerRaises(void* self);

  static std::atomic<int> running_;
  static std::atomic<std::thread::id> ends_;  ///< who ends the interpreter: it may call still
  Cancellation cancellation_;
  std::exception_ptr raised_;
};

}  // namespace nvfuser::python
