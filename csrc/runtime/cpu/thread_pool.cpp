#include <runtime/cpu/thread_pool.h>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <support/options.h>

namespace nvfuser {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a worker looks for the next region before it sleeps. Longer than the gap between two
/// launches of one program, short enough not to burn a core beside the user's own Python. Waking
/// takes 10–40 µs instead of 0.2.
constexpr auto kSpin = std::chrono::microseconds(100);
constexpr int64_t kPiecesOfShare =
    8;  ///< a share is taken in so many pieces; the last ones balance the load
constexpr size_t kStackBytes = size_t{8}
                               << 20;  ///< generated kernels keep row buffers on the stack

void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void futexWait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futexWake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Counts forks: a pool made before the last one has no threads any more.
std::atomic<uint32_t> g_forks{0};

/// This thread is inside a task, of whichever pool.
thread_local bool t_inside_region = false;

/// What is left of one thread's share. Owner and helpers take pieces from the front.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
  int64_t piece = 1;
};

}  // namespace

/// The epoch is odd while a region is open. Notation: a worker *enters* by raising `active` and
/// then reading the epoch; the owner *closes* by making the epoch even and then reading `active`.
/// Both are sequentially consistent, so either the worker sees the closed epoch and leaves without
/// touching the region, or the owner sees it and waits.
struct ThreadPool::State {
  std::mutex region;  ///< held by the thread whose region runs
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<int> active{0};
  alignas(64) std::atomic<int> asleep{0};
  std::atomic<bool> stop{false};

  // The open region: written while it is closed and nobody is active.
  TaskRange run = nullptr;
  void* context = nullptr;
  int shares_used = 0;

  std::vector<Share> shares;
  std::vector<pthread_t> workers;
  bool started = false;
  uint32_t born_at_fork = g_forks.load();

  explicit State(int threads) : shares(static_cast<size_t>(threads)) {}

  void start(int threads);
  void stopAndJoin();
  void work(int thread);
  void runShares(int thread);
};

void ThreadPool::State::start(int threads) {
  started = true;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // Signals are the host's business: workers block them all.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Begin {
    State* state;
    int thread;
  };
  for (int thread = 1; thread < threads; thread++) {
    auto* begin = new Begin{this, thread};
    pthread_t id;
    auto entry = [](void* argument) -> void* {
      Begin given = *static_cast<Begin*>(argument);
      delete static_cast<Begin*>(argument);
      given.state->work(given.thread);
      return nullptr;
    };
    if (pthread_create(&id, &attributes, entry, begin) != 0) {
      delete begin;  // fewer threads then: the others do its share
      break;
    }
    pthread_setname_np(id, "nvfuser-cpu");
    workers.push_back(id);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

void ThreadPool::State::stopAndJoin() {
  stop.store(true);
  epoch.fetch_add(2);
  futexWake(epoch, INT_MAX);
  for (pthread_t worker : workers) {
    pthread_join(worker, nullptr);
  }
}

void ThreadPool::State::work(int thread) {
  t_inside_region = true;
  uint32_t seen = 0;
  for (;;) {
    uint32_t now = epoch.load();
    if (stop.load()) {
      return;
    }
    if ((now & 1) && now != seen) {
      active.fetch_add(1);
      now = epoch.load();
      if (now & 1) {
        runShares(thread);
      }
      active.fetch_sub(1);
      seen = now;
      continue;
    }
    // Nothing to do: spin, then sleep until the epoch moves.
    auto until = Clock::now() + kSpin;
    bool moved = false;
    while (!moved && Clock::now() < until) {
      for (int i = 0; i < 32 && !moved; i++) {
        pauseBriefly();
        moved = epoch.load(std::memory_order_relaxed) != now;
      }
    }
    if (!moved) {
      asleep.fetch_add(1);
      futexWait(epoch, now);
      asleep.fetch_sub(1);
    }
  }
}

void ThreadPool::State::runShares(int thread) {
  int used = shares_used;
  for (int step = 0; step < used; step++) {
    Share& share = shares[static_cast<size_t>((thread + step) % used)];
    for (;;) {
      if (share.next.load(std::memory_order_relaxed) >= share.end) {
        break;
      }
      int64_t first = share.next.fetch_add(share.piece);
      if (first >= share.end) {
        break;
      }
      run(context, first, std::min(first + share.piece, share.end));
    }
  }
}

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)), state_(new State(threads_)) {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

ThreadPool::~ThreadPool() {
  if (state_->born_at_fork != g_forks.load()) {
    static_cast<void>(
        state_.release());  // a fork's copy: its threads and locks belong to the parent
  } else {
    state_->stopAndJoin();
  }
}

/// The state of this process: a fork's copy is abandoned, not destroyed, since its lock may be held
/// by a thread that does not exist here.
ThreadPool::State* ThreadPool::liveState() {
  if (state_->born_at_fork != g_forks.load(std::memory_order_relaxed)) {
    static std::mutex replacing;
    std::lock_guard<std::mutex> lock(replacing);
    if (state_->born_at_fork != g_forks.load()) {
      static_cast<void>(state_.release());
      state_.reset(new State(threads_));
      t_inside_region = false;
    }
  }
  return state_.get();
}

void ThreadPool::parallelFor(int64_t tasks, TaskRange run, void* context) {
  if (tasks <= 0) {
    return;
  }
  if (tasks == 1 || threads_ == 1) {
    return run(context, 0, tasks);
  }
  State& state = *liveState();
  if (t_inside_region) {
    return run(context, 0, tasks);
  }
  std::unique_lock<std::mutex> owner(state.region, std::try_to_lock);
  if (!owner.owns_lock()) {
    return run(context, 0, tasks);  // the cores are busy with another caller's region
  }
  if (!state.started) {
    state.start(threads_);
  }

  state.run = run;
  state.context = context;
  int used = static_cast<int>(std::min<int64_t>(tasks, threads_));
  state.shares_used = used;
  int64_t quotient = tasks / used, remainder = tasks % used, first = 0;
  for (int i = 0; i < used; i++) {
    Share& share = state.shares[static_cast<size_t>(i)];
    int64_t size = quotient + (i < remainder ? 1 : 0);
    share.next.store(first, std::memory_order_relaxed);
    share.end = first + size;
    share.piece = std::max<int64_t>(1, size / kPiecesOfShare);
    first += size;
  }
  state.epoch.fetch_add(1);
  if (state.asleep.load() > 0) {
    futexWake(state.epoch, used - 1);
  }

  t_inside_region = true;
  state.runShares(0);
  t_inside_region = false;

  state.epoch.fetch_add(1);
  for (int spins = 0; state.active.load() != 0; spins++) {
    pauseBriefly();
    if (spins > 10000) {
      sched_yield();  // more threads than processors: let the one we wait for run
    }
  }
}

namespace {

/// Processors' worth of time that the cgroup (version 2) grants; 0: no limit.
int cgroupProcessors() {
  FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!file) {
    return 0;
  }
  long long quota = 0, period = 0;
  int fields = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  return fields == 2 && quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period)
                                                : 0;
}

}  // namespace

int availableProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int count = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    count = CPU_COUNT(&allowed);
  }
  if (count == 0) {
    count = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  int granted = cgroupProcessors();
  return granted > 0 ? std::min(count, granted) : count;
}

ThreadPool& cpuThreadPool() {
  static ThreadPool* pool = [] {
    const auto wanted = static_cast<int>(Options::ofEnvironment().number(Setting::CpuThreads));
    return new ThreadPool(wanted > 0 ? wanted : availableProcessors());
  }();
  return *pool;
}

}  // namespace nvfuser
