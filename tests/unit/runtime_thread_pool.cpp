#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <runtime/cpu/thread_pool.h>

using namespace nvfuser;

namespace {

/// How often each task ran.
std::vector<int> countRuns(ThreadPool& pool, int64_t tasks) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
  pool.parallelFor(tasks, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; t++) {
      runs[static_cast<size_t>(t)]++;
    }
  });
  return {runs.begin(), runs.end()};
}

}  // namespace

TEST_CASE("thread pool: every task runs once") {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 64, 1000, 4097}) {
      CHECK(countRuns(pool, tasks) == std::vector<int>(static_cast<size_t>(tasks), 1));
    }
  }
}

TEST_CASE("thread pool: many short regions one after the other") {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 20000; round++) {
    pool.parallelFor(5, [&](int64_t first, int64_t last) { sum += last - first; });
  }
  CHECK(sum == 100000);
}

TEST_CASE("thread pool: regions after workers fell asleep") {
  ThreadPool pool(2);
  for (int round = 0; round < 20; round++) {
    CHECK(countRuns(pool, 10) == std::vector<int>(10, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_CASE("thread pool: tasks do run on several threads") {
  ThreadPool pool(2);
  std::atomic<int> present{0};
  std::atomic<bool> met{false};
  pool.parallelFor(2, [&](int64_t, int64_t) {
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

TEST_CASE("thread pool: a long task does not hold the others back") {
  ThreadPool pool(2);
  std::atomic<int> others{0};
  std::atomic<bool> alone{false};
  pool.parallelFor(64, [&](int64_t first, int64_t last) {
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

TEST_CASE("thread pool: nested calls run in place") {
  ThreadPool pool(2);
  std::atomic<int> inner{0};
  pool.parallelFor(4, [&](int64_t first, int64_t last) {
    for (int64_t t = first; t < last; t++) {
      auto here = std::this_thread::get_id();
      pool.parallelFor(10, [&](int64_t a, int64_t b) {
        CHECK(std::this_thread::get_id() == here);
        inner += static_cast<int>(b - a);
      });
    }
  });
  CHECK(inner == 40);
}

TEST_CASE("thread pool: several callers at once") {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 4; caller++) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; round++) {
        pool.parallelFor(100, [&](int64_t first, int64_t last) { total += last - first; });
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(total == 4 * 500 * 100);
}

TEST_CASE("thread pool: works in a forked child") {
  ThreadPool pool(2);
  countRuns(pool, 10);
  pid_t child = fork();
  if (child == 0) {
    std::vector<int> runs = countRuns(pool, 100);
    _exit(runs == std::vector<int>(100, 1) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(countRuns(pool, 10) == std::vector<int>(10, 1));
}

TEST_CASE("thread pool: the process's pool uses the processors there are") {
  CHECK(availableProcessors() >= 1);
  CHECK(cpuThreadPool().threads() >= 1);
}
