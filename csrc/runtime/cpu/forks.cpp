#include <runtime/cpu/forks.h>

#include <pthread.h>
#include <sys/stat.h>

#include <atomic>

namespace nvfuser {
namespace {

std::atomic<uint32_t> g_forks{0};
std::atomic<bool> g_lost_threads{false};
std::atomic<bool> g_has_threads{false};  ///< of the process that forks, right before

/// The folder of threads has two links more than threads; without /proc there may be some.
bool hasOtherThreads() {
  struct stat folder;
  return stat("/proc/self/task", &folder) != 0 || folder.st_nlink != 3;
}

void beforeFork() { g_has_threads.store(hasOtherThreads(), std::memory_order_relaxed); }

void inChild() {
  g_forks.fetch_add(1, std::memory_order_relaxed);
  if (g_has_threads.load(std::memory_order_relaxed)) {
    g_lost_threads.store(true, std::memory_order_relaxed);
  }
}

// When the library is loaded: a fork before its first use counts as well.
[[maybe_unused]] const int g_registered = pthread_atfork(beforeFork, nullptr, inChild);

}  // namespace

uint32_t forksSoFar() { return g_forks.load(std::memory_order_relaxed); }

bool lostThreadsInFork() { return g_lost_threads.load(std::memory_order_relaxed); }

}  // namespace nvfuser
