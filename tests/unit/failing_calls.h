/// Calls that fail one at a time, as a machine at its limits lets them fail: system calls
/// (failing_system_calls.cpp) and allocations (failing_allocations.cpp). The functions there take
/// the place of the C and the C++ library's in this program, for the loader finds a program's own
/// functions first, and pass through unless a test says otherwise.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include <support/text.h>

namespace nvfuser {

/// Of the system calls of this thread.
struct FailingSystemCalls {
  bool armed = false;
  int calls = 0;
  int fails = -1;  ///< which call
  int error = 0;
  bool partly = false;  ///< reads and writes take one byte at a time instead
};
extern thread_local FailingSystemCalls system_calls;

/// Of the memory that any thread asks `operator new` for.
struct FailingAllocations {
  std::atomic<bool> armed{false};
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> fails{-1};    ///< which call
  std::atomic<bool> lasting{false};  ///< all calls behind it fail, too
  /// Which callers are meant, by their address; null: all.
  bool (*callers)(const void* address) = nullptr;
  std::atomic<int64_t> live{0};  ///< blocks that nobody has freed
};
extern FailingAllocations allocations;

/// Runs `work` with its n-th system call failing, for every n, after `prepare`. Gives how many
/// calls it makes.
template <typename Prepare, typename Work>
int failEachSystemCall(int error, Prepare prepare, Work work) {
  for (int n = 0;; n++) {
    prepare();
    system_calls = {.armed = true, .fails = n, .error = error};
    work();
    const int calls = system_calls.calls;
    system_calls = {};
    if (calls <= n) {
      return calls;
    }
  }
}

/// Runs `work` with its n-th allocation failing. False if it makes fewer.
template <typename Work>
bool failAllocation(int64_t n, bool lasting, Work work) {
  struct Armed {
    Armed(int64_t n, bool lasting) {
      allocations.calls = 0;
      allocations.fails = n;
      allocations.lasting = lasting;
      allocations.armed = true;
    }
    ~Armed() { allocations.armed = false; }
  } const armed(n, lasting);
  work();
  return allocations.calls > n;
}

inline int openDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) {
    count += access(text("/proc/self/fd/", fd).c_str(), F_OK) == 0;
  }
  return count;
}

}  // namespace nvfuser
