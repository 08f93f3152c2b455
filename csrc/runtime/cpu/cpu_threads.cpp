#include <runtime/cpu/cpu_threads.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <runtime/cpu/forks.h>
#include <runtime/cpu/openmp.h>
#include <support/options.h>

namespace nvfuser {
namespace {

/// Generated kernels keep rows on the stack. A thread with less takes no tasks; the others do its
/// share. (OMP_STACKSIZE may be small.)
constexpr size_t kLeastStack = size_t{2} << 20;

/// This thread is inside a task.
thread_local bool t_inside_region = false;

size_t stackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  return bytes;
}

bool hasRoom() {
  static thread_local const bool room = stackBytes() >= kLeastStack;
  return room;
}

/// The thread's part in a region. The caller's own stack is the caller's choice.
void takePart(WorkShares& shares, int thread, Cancellation* cancellation) {
  if (thread >= shares.threads() || (thread != 0 && !hasRoom())) {
    return;
  }
  t_inside_region = true;
  shares.run(thread, thread == 0 ? cancellation : nullptr);
  t_inside_region = false;
}

/// What a region of OpenMP or the pool gets.
struct Region {
  WorkShares& shares;
  Cancellation* cancellation;  ///< of the calling thread, which is thread 0
  const OpenMp* openmp;
};

void poolMember(void* data, int thread) {
  auto* region = static_cast<Region*>(data);
  takePart(region->shares, thread, region->cancellation);
}

void openMpMember(void* data) {
  auto* region = static_cast<Region*>(data);
  takePart(region->shares, region->openmp->thread_number(), region->cancellation);
}

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

/// Who would run a region of the calling thread.
struct CpuThreads::Team {
  int members = 1;                 ///< that take tasks
  const OpenMp* openmp = nullptr;  ///< null: the pool
  unsigned asked = 0;              ///< threads that OpenMP is asked for; 0: as many as are set
};

CpuThreads::CpuThreads(int threads, Whose whose) : whose_(whose), pool_(threads) {}

CpuThreads::Team CpuThreads::teamNow() const {
  Team team{threads()};
  const OpenMp* const openmp = whose_ == Whose::Own ? nullptr : loadedOpenMp();
  if (openmp == nullptr) {
    return team;
  }
  if (openmp->in_parallel() != 0) {
    return {1};
  }
  const int callers = std::max(openmp->threads(), 1);
  if (whose_ == Whose::Callers) {
    team.members = std::min(team.members, callers);
  }
  if (!lostThreadsInFork()) {
    // A team of another size than the caller's would cost threads that end and begin: a larger one
    // has members that do nothing.
    team.openmp = openmp;
    team.asked = team.members > callers ? static_cast<unsigned>(team.members) : 0;
  }
  return team;
}

int CpuThreads::threadsNow() const { return t_inside_region ? 1 : teamNow().members; }

/// A copy that a fork made of an open region is none: its threads are not here.
bool CpuThreads::openRegion() {
  const uint64_t mark = uint64_t{1} + forksSoFar();
  uint64_t seen = open_.load(std::memory_order_relaxed);
  return seen != mark && open_.compare_exchange_strong(seen, mark, std::memory_order_acquire);
}

void CpuThreads::closeRegion() { open_.store(0, std::memory_order_release); }

void CpuThreads::runAlone(int64_t tasks, TaskRange run, void* context, Cancellation* cancellation) {
  if (tasks <= 0) {
    return;
  }
  if (cancellation == nullptr) {
    return run(context, 0, tasks);
  }
  WorkShares shares(tasks, 1, run, context);
  shares.run(0, cancellation);
  shares.rethrow();
}

void CpuThreads::parallelFor(int64_t tasks, TaskRange run, void* context,
                             Cancellation* cancellation) {
  if (tasks <= 1 || threads() == 1 || t_inside_region) {
    return runAlone(tasks, run, context, cancellation);
  }
  const Team team = teamNow();
  if (team.members == 1 || !openRegion()) {
    // Inside of somebody's region, or the cores are busy with another caller's.
    return runAlone(tasks, run, context, cancellation);
  }
  WorkShares shares(tasks, team.members, run, context);
  Region region{shares, cancellation, team.openmp};
  if (team.openmp != nullptr) {
    team.openmp->parallel(openMpMember, &region, team.asked, 0);
  } else {
    pool_.run(shares.threads(), poolMember, &region);
  }
  closeRegion();
  shares.rethrow();
}

int availableProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int count = 0;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    count = CPU_COUNT(&allowed);
  }
  if (const OpenMp* openmp = loadedOpenMp()) {
    count = std::max(count, openmp->processors());  // threads that it has bound have one each
  }
  if (count == 0) {
    count = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  int granted = cgroupProcessors();
  return granted > 0 ? std::min(count, granted) : count;
}

CpuThreads& cpuThreads() {
  static CpuThreads* threads = [] {
    const auto wanted = static_cast<int>(Options::ofEnvironment().number(Setting::CpuThreads));
    return wanted > 0 ? new CpuThreads(wanted, CpuThreads::Whose::Fixed)
                      : new CpuThreads(availableProcessors(), CpuThreads::Whose::Callers);
  }();
  return *threads;
}

}  // namespace nvfuser
