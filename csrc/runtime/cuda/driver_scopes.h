/// What the driver is asked to undo at the end of a scope.
#pragma once

#include <runtime/cuda/driver.h>

namespace nvfuser::cuda {

/// Makes a context current unless it is, and undoes exactly that.
class ContextScope {
 public:
  ContextScope(const Driver& driver, cuda::Context context) : driver_(driver) {
    cuda::Context current = nullptr;
    throwIfFailed(driver, driver.CtxGetCurrent(&current), "cuCtxGetCurrent");
    if (current == context) {
      return;
    }
    throwIfFailed(driver, driver.CtxPushCurrent(context), "cuCtxPushCurrent");
    pushed_ = true;
  }
  ~ContextScope() {
    cuda::Context popped = nullptr;
    if (pushed_) {
      driver_.CtxPopCurrent(&popped);
    }
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

/// Two events, destroyed at the end of a scope. The context must be current.
struct EventPair {
  const Driver& driver;
  cuda::Event begin = nullptr, end = nullptr;
  explicit EventPair(const Driver& d) : driver(d) {
    throwIfFailed(driver, driver.EventCreate(&begin, cuda::kEventDefault), "cuEventCreate");
    throwIfFailed(driver, driver.EventCreate(&end, cuda::kEventDefault), "cuEventCreate");
  }
  ~EventPair() {
    if (begin) {
      driver.EventDestroy(begin);
    }
    if (end) {
      driver.EventDestroy(end);
    }
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;
};

}  // namespace nvfuser::cuda
