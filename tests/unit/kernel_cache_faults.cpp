// Every system call of a store and of a load fails in turn, in every way that a disk can fail.
#include <doctest/doctest.h>

#include <cerrno>

#include "failing_calls.h"
#include <cache_folder.h>
#include <runtime/kernel_cache/disk_cache.h>

using namespace nvfuser;
using namespace nvfuser::cache_test;

TEST_CASE("disk cache: any failing system call is a miss or a store that was not") {
  for (int error : {ENOSPC, EDQUOT, EIO, EACCES, EROFS, EMFILE, ENFILE, EINTR, ENOENT, ESTALE,
                    EBUSY, ENOTDIR, ENOMEM}) {
    CacheFolder folder;
    const int descriptors = openDescriptors();
    int64_t key = 0;
    bool stored = false;
    DiskCache cache = folder.cache();
    // With the folder there and without it.
    for (bool there : {true, false}) {
      const int calls = failEachSystemCall(
          error,
          [&] {
            cache.clear();
            if (!there) {
              rmdir(folder.path.c_str());
            }
            key++;
          },
          [&] {
            stored = cache.store(text("key ", key), text("payload ", key));
            const bool hit = system_calls.calls > system_calls.fails;
            system_calls.armed = false;
            const auto loaded = cache.load(text("key ", key));
            CHECK((!loaded || *loaded == text("payload ", key)));
            CHECK((loaded.has_value() || !stored));  // what it says it kept, it kept
            CHECK((stored || hit));
          });
      CHECK(calls >= 6);
      CHECK(openDescriptors() == descriptors);
    }
    REQUIRE(cache.store("key", "payload"));
    const int calls = failEachSystemCall(
        error, [] {},
        [&] {
          const auto loaded = cache.load("key");
          CHECK((!loaded || *loaded == "payload"));
        });
    CHECK(calls >= 4);
    CHECK(openDescriptors() == descriptors);
    CHECK(cache.load("key") == "payload");
    CHECK(folder.warnings.size() <= 1);
  }
}

TEST_CASE("disk cache: bytes may come and go one by one") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  system_calls = {.armed = true, .partly = true};
  CHECK(cache.store("key", "payload"));
  CHECK(cache.load("key") == "payload");
  system_calls = {};
  CHECK(cache.load("key") == "payload");
}

TEST_CASE("disk cache: interrupted reads and writes go on") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  // A store opens the folder, opens the file, writes; a load opens twice, reads.
  system_calls = {.armed = true, .fails = 2, .error = EINTR};
  CHECK(cache.store("warm", "up") == false);  // the folder was missing: mkdir is not tried again
  system_calls = {.armed = true, .fails = 2, .error = EINTR};
  CHECK(cache.store("key", "payload"));
  system_calls = {.armed = true, .fails = 2, .error = EINTR};
  CHECK(cache.load("key") == "payload");
  system_calls = {};
}

TEST_CASE("disk cache: a full disk leaves nothing behind and is warned of once") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  for (int i = 0; i < 3; i++) {
    system_calls = {.armed = true, .fails = 2, .error = ENOSPC};
    CHECK_FALSE(cache.store("other", "payload"));
    system_calls = {};
  }
  CHECK(filesIn(folder.path).size() == 1);
  REQUIRE(folder.warnings.size() == 1);
  CHECK(folder.warnings[0].find("No space left on device") != std::string::npos);
}

TEST_CASE("disk cache: a disk that tells at the end that it is full keeps no entry") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  // Opens the folder, opens the file, writes, sets its time, closes.
  system_calls = {.armed = true, .fails = 4, .error = ENOSPC};
  CHECK_FALSE(cache.store("other", "payload"));
  system_calls = {};
  CHECK_FALSE(cache.load("other").has_value());
  CHECK(filesIn(folder.path).size() == 1);
}
