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
#include <vector>

#include <runtime/cpu/forks.h>

namespace nvfuser {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a worker looks for the next region before it sleeps. Longer than the gap between two
/// launches of one program, short enough not to burn a core beside the user's own Python. Waking
/// takes 10–40 µs instead of 0.2.
constexpr auto kSpin = std::chrono::microseconds(100);
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

}  // namespace

/// The epoch is odd while a region is open. Notation: a worker *enters* by raising `active` and
/// then reading the epoch; the owner *closes* by making the epoch even and then reading `active`.
/// Both are sequentially consistent, so either the worker sees the closed epoch and leaves without
/// touching the region, or the owner sees it and waits.
struct ThreadPool::State {
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<int> active{0};
  alignas(64) std::atomic<int> asleep{0};
  std::atomic<bool> stop{false};

  // The open region: written while it is closed and nobody is active.
  Member member = nullptr;
  void* context = nullptr;
  int members = 0;

  std::vector<pthread_t> workers;
  bool started = false;
  uint32_t born_at_fork = forksSoFar();

  void start(int threads);
  void stopAndJoin();
  void work(int thread);
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
  uint32_t seen = 0;
  for (;;) {
    uint32_t now = epoch.load();
    if (stop.load()) {
      return;
    }
    if ((now & 1) && now != seen) {
      active.fetch_add(1);
      now = epoch.load();
      if ((now & 1) && thread < members) {
        member(context, thread);
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

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)), state_(new State) {}

ThreadPool::~ThreadPool() {
  if (state_->born_at_fork != forksSoFar()) {
    static_cast<void>(state_.release());  // a fork's copy: its threads belong to the parent
  } else {
    state_->stopAndJoin();
  }
}

void ThreadPool::run(int members, Member member, void* context) {
  if (state_->born_at_fork != forksSoFar()) {  // abandoned, not destroyed: likewise
    static_cast<void>(state_.release());
    state_.reset(new State);
  }
  State& state = *state_;
  if (!state.started) {
    state.start(threads_);
  }
  state.member = member;
  state.context = context;
  state.members = std::min(members, threads_);
  state.epoch.fetch_add(1);
  if (state.asleep.load() > 0) {
    // Who wakes is not ours to choose: where few are wanted, all are woken.
    futexWake(state.epoch, state.members == threads_ ? threads_ - 1 : INT_MAX);
  }

  member(context, 0);

  state.epoch.fetch_add(1);
  for (int spins = 0; state.active.load() != 0; spins++) {
    pauseBriefly();
    if (spins > 10000) {
      sched_yield();  // more threads than processors: let the one we wait for run
    }
  }
}

}  // namespace nvfuser
