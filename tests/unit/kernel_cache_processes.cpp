// Many processes, some of them killed, in one folder.
#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include <cache_folder.h>
#include <runtime/kernel_cache/disk_cache.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;

namespace {

/// A payload that tells who wrote it, and whose every byte depends on that.
std::string payloadOf(unsigned writer, unsigned round, size_t size) {
  std::string payload = text(writer, " ", round, " ", size, "\n");
  std::mt19937 random(writer * 1000 + round);
  while (payload.size() < size) {
    payload += static_cast<char>(random());
  }
  return payload;
}

bool isWhole(const std::string& payload) {
  unsigned writer = 0, round = 0;
  size_t size = 0;
  return std::sscanf(payload.c_str(), "%u %u %zu", &writer, &round, &size) == 3 &&
         payload == payloadOf(writer, round, size);
}

pid_t start(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}

/// NVFUSER_TEST_KILLS, else 1000.
unsigned numKills() {
  const char* given = std::getenv("NVFUSER_TEST_KILLS");
  return given == nullptr ? 1000 : static_cast<unsigned>(std::atoi(given));
}

}  // namespace

TEST_CASE("disk cache: 1000 writers killed at random times leave no entry that loads wrongly") {
  CacheFolder folder;
  std::mt19937 random(7);
  constexpr int kKeys = 8;
  DiskCache cache = folder.cache(1'000'000'000);
  int wrong = 0, found = 0;
  auto readAll = [&] {
    for (int key = 0; key < kKeys; key++) {
      if (auto payload = cache.load(text("key ", key))) {
        found++;
        wrong += isWhole(*payload) ? 0 : 1;
      }
    }
  };
  // Payloads are made before, so that the writers write most of the time.
  std::vector<std::string> payloads;
  for (unsigned i = 0; i < 16; i++) {
    payloads.push_back(payloadOf(i, 0, 20'000 + 30'000 * i));
  }
  const unsigned kills = numKills();
  for (unsigned writer = 0; writer < kills; writer++) {
    const pid_t child = start([&] {
      DiskCache own = folder.cache(1'000'000'000);
      for (unsigned round = writer;; round++) {
        own.store(text("key ", round % kKeys), payloads[round * 7 % payloads.size()]);
      }
    });
    usleep(static_cast<useconds_t>(random() % 4000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (writer % 20 == 19) {
      readAll();
    }
  }
  readAll();
  CHECK(wrong == 0);
  CHECK(found > 100);
  int unfinished = 0;
  for (const std::string& name : filesIn(folder.path)) {
    unfinished += name.starts_with(".tmp-") ? 1 : 0;
  }
  CHECK(unfinished > 0);  // else no writer was killed at work
  MESSAGE("of ", kills, " killed writers ", unfinished, " were at work on a file");
  cache.clear();
  CHECK(filesIn(folder.path).empty());
}

TEST_CASE("disk cache: 64 writers of one key, 200 times each, always leave a whole entry") {
  CacheFolder folder;
  std::vector<pid_t> children;
  for (unsigned writer = 0; writer < 64; writer++) {
    children.push_back(start([&] {
      DiskCache own = folder.cache();
      for (unsigned round = 0; round < 200; round++) {
        if (!own.store("key", payloadOf(writer, round, 100 + writer * 10))) {
          _exit(1);
        }
        const auto payload = own.load("key");
        if (!payload || !isWhole(*payload)) {
          _exit(2);
        }
      }
    }));
  }
  int failed = 0;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed += status == 0 ? 0 : 1;
  }
  CHECK(failed == 0);
  DiskCache cache = folder.cache();
  CHECK(cache.list().size() == 1);
  const auto payload = cache.load("key");
  REQUIRE(payload.has_value());
  CHECK(isWhole(*payload));
  CHECK(filesIn(folder.path).size() == 1);
}

TEST_CASE("disk cache: threads of one process share an object") {
  CacheFolder folder;
  DiskCache cache = folder.cache(60'000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 8; thread++) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (unsigned round = 0; round < 100; round++) {
        cache.store(text("key ", random() % 20), payloadOf(thread, round, 100 + random() % 5000));
        const auto payload = cache.load(text("key ", random() % 20));
        wrong += payload && !isWhole(*payload) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
  CHECK(cache.size() <= 60'000);
  CHECK(cache.counts().stores == 800);
  CHECK(cache.counts().hits + cache.counts().misses == 800);
  CHECK(folder.warnings.empty());
}

TEST_CASE("disk cache: writers that evict each other's entries and one that clears them all") {
  CacheFolder folder;
  std::vector<pid_t> children;
  for (unsigned writer = 0; writer < 8; writer++) {
    children.push_back(start([&] {
      DiskCache own = folder.cache(50'000);
      std::mt19937 random(writer);
      for (unsigned round = 0; round < 300; round++) {
        own.store(text("key ", random() % 100), payloadOf(writer, round, 100 + random() % 3000));
        const auto payload = own.load(text("key ", random() % 100));
        if (payload && !isWhole(*payload)) {
          _exit(1);
        }
        if (writer == 0 && round % 50 == 49) {
          own.clear();  // unfinished files of the others too: their stores fail
          rmdir(folder.path.c_str());
        }
      }
      if (!folder.warnings.empty()) {
        _exit(2);
      }
    }));
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  DiskCache cache = folder.cache(50'000);
  REQUIRE(cache.store("last", "payload"));
  CHECK(cache.size() <= 50'000);
}
