#include "interruptible.h"

#include <unistd.h>

#include <chrono>

#include "interpreter_lock.h"
#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

std::atomic<int> Interruptible::running_{0};
std::atomic<std::thread::id> Interruptible::ends_{};

bool Interruptible::handlerRaises(void* self) {
  const LockHeld held;
  const std::thread::id ends = ends_;
  if (ends != std::thread::id() && ends != std::this_thread::get_id()) {
    PyEval_SaveThread();  // for good
    --running_;
    while (true) {
      pause();
    }
  }
  if (PyErr_CheckSignals() == 0) {  // also on any other thread than the main one
    return false;
  }
  static_cast<Interruptible*>(self)->raised_ = std::make_exception_ptr(nb::python_error());
  return true;
}

void Interruptible::stopAll() {
  using namespace std::chrono;
  ends_ = std::this_thread::get_id();
  const OthersRun others;
  const auto until = steady_clock::now() + seconds(5);
  while (running_ > 0 && steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace nvfuser::python
