#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <runtime/cpu/cpu_threads.h>
#include <support/cancellation.h>
#include <support/error.h>

using namespace nvfuser;
using enum CpuThreads::Whose;

namespace {

/// How often each task ran.
std::vector<int> countRuns(CpuThreads& threads, int64_t tasks) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
  threads.parallelFor(tasks, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; t++) {
      runs[static_cast<size_t>(t)]++;
    }
  });
  return {runs.begin(), runs.end()};
}

}  // namespace

TEST_CASE("cpu threads: every task runs once") {
  for (int count : {1, 2, 3, 8, 20}) {
    CpuThreads threads(count, Own);
    for (int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 64, 1000, 4097}) {
      CHECK(countRuns(threads, tasks) == std::vector<int>(static_cast<size_t>(tasks), 1));
    }
  }
}

TEST_CASE("cpu threads: many short regions one after the other") {
  CpuThreads threads(4, Own);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 20000; round++) {
    threads.parallelFor(5, [&](int64_t first, int64_t last) { sum += last - first; });
  }
  CHECK(sum == 100000);
}

TEST_CASE("cpu threads: regions after workers fell asleep") {
  CpuThreads threads(2, Own);
  for (int round = 0; round < 20; round++) {
    CHECK(countRuns(threads, 10) == std::vector<int>(10, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_CASE("cpu threads: tasks do run on several threads") {
  CpuThreads threads(2, Own);
  std::atomic<int> present{0};
  std::atomic<bool> met{false};
  threads.parallelFor(2, [&](int64_t, int64_t) {
    present++;
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (present < 2 && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    if (present == 2) {
      met = true;
    }
  });
  CHECK(met);
}

TEST_CASE("cpu threads: a long task does not hold the others back") {
  CpuThreads threads(2, Own);
  std::atomic<int> others{0};
  std::atomic<bool> alone{false};
  threads.parallelFor(64, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; t++) {
      if (t ==
          63) {  // the last of the second share: the first thread must come and help with the rest
        auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (others < 60 && std::chrono::steady_clock::now() < until) {
          std::this_thread::yield();
        }
        alone = others >= 60;
      } else {
        others++;
      }
    }
  });
  CHECK(alone);
  CHECK(others == 63);
}

TEST_CASE("cpu threads: nested calls run in place") {
  CpuThreads threads(2, Own);
  std::atomic<int> inner{0};
  threads.parallelFor(4, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; t++) {
      auto here = std::this_thread::get_id();
      threads.parallelFor(10, [&](int64_t a, int64_t b) {
        CHECK(std::this_thread::get_id() == here);
        inner += static_cast<int>(b - a);
      });
    }
  });
  CHECK(inner == 40);
}

TEST_CASE("cpu threads: several callers at once") {
  CpuThreads threads(3, Own);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 4; caller++) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; round++) {
        threads.parallelFor(100, [&](int64_t first, int64_t last) { total += last - first; });
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(total == 4 * 500 * 100);
}

TEST_CASE("cpu threads: works in a forked child") {
  CpuThreads threads(2, Own);
  countRuns(threads, 10);
  pid_t child = fork();
  if (child == 0) {
    std::vector<int> runs = countRuns(threads, 100);
    _exit(runs == std::vector<int>(100, 1) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(countRuns(threads, 10) == std::vector<int>(10, 1));
}

TEST_CASE("cpu threads: the process uses the processors there are") {
  CHECK(availableProcessors() >= 1);
  CHECK(cpuThreads().threads() >= 1);
}

TEST_CASE("cpu threads: a task's exception ends the region and reaches the caller") {
  CpuThreads threads(3, Own);
  for (int64_t bad : {0, 1, 500, 998, 999}) {
    std::atomic<int64_t> begun{0};
    CHECK_THROWS_WITH_AS(threads.parallelFor(1000,
                                             [&](int64_t first, int64_t last) {
                                               begun += last - first;
                                               if (first <= bad && bad < last) {
                                                 userError("task ", bad, " is wrong");
                                               }
                                             }),
                         doctest::Contains("is wrong"), UserError);
    CHECK(begun <= 1000);
    CHECK(countRuns(threads, 100) == std::vector<int>(100, 1));
  }
}

TEST_CASE("cpu threads: a region ends early when its caller asks for it") {
  for (int count : {1, 2}) {
    CpuThreads threads(count, Own);
    Cancellation cancellation([](void*) { return true; });
    std::atomic<int64_t> done{0};
    auto slow = [&](int64_t first, int64_t last) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2) * (last - first));
      done += last - first;
    };
    CHECK_THROWS_AS(threads.parallelFor(5000, slow, &cancellation), Cancelled);
    CHECK(done < 5000);
    CHECK_THROWS_AS(cancellation.check(), Cancelled);
    CHECK(countRuns(threads, 100) == std::vector<int>(100, 1));
  }
}

TEST_CASE("cpu threads: short work asks its caller nothing") {
  CpuThreads threads(2, Own);
  Cancellation cancellation([](void*) -> bool { throw InternalError("asked"); });
  std::atomic<int64_t> done{0};
  for (int round = 0; round < 10; round++) {
    Cancellation one = cancellation;
    threads.parallelFor(100, [&](int64_t first, int64_t last) { done += last - first; }, &one);
  }
  CHECK(done == 1000);
}
