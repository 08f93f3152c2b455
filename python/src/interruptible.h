/// Ctrl-C during a call: Python only notes a signal, and runs its handler when it is asked for it
/// on the main thread. A long call asks now and then, and ends with the handler's exception.
#pragma once

#include <exception>
#include <utility>

#include <support/cancellation.h>

namespace nvfuser::python {

/// Of one call.
class Interruptible {
 public:
  Interruptible() : cancellation_(&handlerRaises, this) {}
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

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

  Cancellation cancellation_;
  std::exception_ptr raised_;
};

}  // namespace nvfuser::python
