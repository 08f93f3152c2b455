/// The interpreter's lock, given to other threads for a while.
#pragma once

#include <utility>

#include <Python.h>

namespace nvfuser::python {

/// Made where the lock is held, and holds it again when it goes.
class InterpreterLock {
 public:
  InterpreterLock() = default;
  ~InterpreterLock() { take(); }
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;

  bool isGiven() const { return state_ != nullptr; }
  /// Until `take`; nothing where it is given already.
  void give() {
    if (state_ == nullptr) {
      state_ = PyEval_SaveThread();
    }
  }
  /// Nothing where it is held.
  void take() {
    if (state_ != nullptr) {
      PyEval_RestoreThread(std::exchange(state_, nullptr));
    }
  }

 private:
  PyThreadState* state_ = nullptr;
};

}  // namespace nvfuser::python
