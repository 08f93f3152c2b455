/// The interpreter's lock, given to other threads for a while, or taken by a thread that may not
/// hold it.
///
/// Where the interpreter ends meanwhile, Python ends other threads than the main one as they ask
/// for the lock: it unwinds them, and a function on the way that may not throw would end the whole
/// process with an error. Here such a thread waits instead until the process is over, as Python
/// 3.14 lets it do.
#pragma once

#include <utility>

#include <Python.h>

namespace nvfuser::python {

/// Calls `ask`, which asks for the lock.
void askForLock(void (*ask)(void* argument), void* argument) noexcept;

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
      askForLock([](void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); },
                 std::exchange(state_, nullptr));
    }
  }

 private:
  PyThreadState* state_ = nullptr;
};

/// Other threads have the lock as long as this lives.
class OthersRun {
 public:
  OthersRun() { lock_.give(); }

 private:
  InterpreterLock lock_;
};

/// This thread has the lock as long as this lives, whether it had it before or not.
class LockHeld {
 public:
  LockHeld() {
    askForLock([](void* state) { *static_cast<PyGILState_STATE*>(state) = PyGILState_Ensure(); },
               &state_);
  }
  ~LockHeld() { PyGILState_Release(state_); }
  LockHeld(const LockHeld&) = delete;
  LockHeld& operator=(const LockHeld&) = delete;

 private:
  PyGILState_STATE state_{};
};

}  // namespace nvfuser::python
