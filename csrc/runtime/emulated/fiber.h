/// Stacks that take turns on one host thread: each emulated CUDA thread is one.
///
/// Switching costs about ten instructions on x86-64 (no system call); elsewhere `ucontext` does it.
/// Stacks lie below a guard page and are kept for the next launch. ThreadSanitizer is told of each
/// switch: it takes a fiber for a thread that its host waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nvfuser::emulated {

/// One suspended or running stack. Made by a `FiberPool`.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// Makes the next `resume` start `entry(argument)` on an empty stack; whatever ran before is
  /// forgotten without unwinding. `entry` must not return: it ends with a last `suspend`.
  void prepare(Entry entry, void* argument);
  /// Runs it until it suspends. Only from outside any fiber.
  void resume();
  /// Returns to `resume`'s caller. Only from inside.
  void suspend();

  bool owns(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(stack_) < kStackBytes;
  }

  static constexpr size_t kStackBytes = 60 * 1024;

 private:
  friend class FiberPool;
  char* stack_ = nullptr;
  void* fiber_context_ = nullptr;  ///< its stack pointer, or a ucontext_t
  void* host_context_ = nullptr;
  void* sanitizer_fiber_ = nullptr;  ///< ThreadSanitizer's idea of it, in its build
  void* sanitizer_host_ = nullptr;
};

/// Owns fibers; grows, never shrinks.
class FiberPool {
 public:
  FiberPool() = default;
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// The i-th fiber; made, with those before it, at first use. `UserError` when memory runs out.
  Fiber& at(size_t index);

 private:
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

}  // namespace nvfuser::emulated
