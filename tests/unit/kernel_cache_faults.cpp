// Every system call of a store and of a load fails in turn, in every way that a disk can fail. The
// functions below take the C library's place in this program (the loader finds a program's own
// functions first) and pass through unless a test says otherwise.
#include <doctest/doctest.h>

#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>

#include <cache_folder.h>
#include <runtime/kernel_cache/disk_cache.h>

namespace {

struct Faults {
  bool armed = false;
  int calls = 0;
  int fails = -1;  ///< which call
  int error = 0;
  bool partly = false;  ///< reads and writes take one byte at a time instead
};
thread_local Faults faults;

/// Whether this call fails.
bool failsNow() {
  if (faults.armed && faults.calls++ == faults.fails) {
    errno = faults.error;
    return true;
  }
  return false;
}

size_t taken(size_t count) { return faults.armed && faults.partly && count > 1 ? 1 : count; }

}  // namespace

extern "C" {

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
ssize_t read(int fd, void* bytes, size_t count) {
  return failsNow() ? -1 : syscall(SYS_read, fd, bytes, taken(count));
}
ssize_t write(int fd, const void* bytes, size_t count) {
  return failsNow() ? -1 : syscall(SYS_write, fd, bytes, taken(count));
}
int close(int fd) {
  const bool fails = failsNow();
  const auto result = static_cast<int>(syscall(SYS_close, fd));
  if (fails) {
    errno = faults.error;
  }
  return fails ? -1 : result;
}
int renameat(int from, const char* old_name, int to, const char* name) noexcept {
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_renameat2, from, old_name, to, name, 0));
}
int unlinkat(int folder, const char* name, int flags) noexcept {
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int futimens(int fd, const timespec* times) noexcept {
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_utimensat, fd, nullptr, times, 0));
}

}  // extern "C"

using namespace nvfuser;
using namespace nvfuser::cache_test;

namespace {

/// Runs `work` with its n-th system call failing, for every n. Gives how many calls it makes.
template <typename Prepare, typename Work>
int failEach(int error, Prepare prepare, Work work) {
  for (int n = 0;; n++) {
    prepare();
    faults = {.armed = true, .fails = n, .error = error};
    work();
    const int calls = faults.calls;
    faults = {};
    if (calls <= n) {
      return calls;
    }
  }
}

int openDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) {
    count += access(text("/proc/self/fd/", fd).c_str(), F_OK) == 0;
  }
  return count;
}

}  // namespace

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
      const int calls = failEach(
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
            const bool hit = faults.calls > faults.fails;
            faults.armed = false;
            const auto loaded = cache.load(text("key ", key));
            CHECK((!loaded || *loaded == text("payload ", key)));
            CHECK((loaded.has_value() || !stored));  // what it says it kept, it kept
            CHECK((stored || hit));
          });
      CHECK(calls >= 6);
      CHECK(openDescriptors() == descriptors);
    }
    REQUIRE(cache.store("key", "payload"));
    const int calls = failEach(
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
  faults = {.armed = true, .partly = true};
  CHECK(cache.store("key", "payload"));
  CHECK(cache.load("key") == "payload");
  faults = {};
  CHECK(cache.load("key") == "payload");
}

TEST_CASE("disk cache: interrupted reads and writes go on") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  // A store opens the folder, opens the file, writes; a load opens twice, reads.
  faults = {.armed = true, .fails = 2, .error = EINTR};
  CHECK(cache.store("warm", "up") == false);  // the folder was missing: mkdir is not tried again
  faults = {.armed = true, .fails = 2, .error = EINTR};
  CHECK(cache.store("key", "payload"));
  faults = {.armed = true, .fails = 2, .error = EINTR};
  CHECK(cache.load("key") == "payload");
  faults = {};
}

TEST_CASE("disk cache: a full disk leaves nothing behind and is warned of once") {
  CacheFolder folder;
  DiskCache cache = folder.cache();
  REQUIRE(cache.store("key", "payload"));
  for (int i = 0; i < 3; i++) {
    faults = {.armed = true, .fails = 2, .error = ENOSPC};
    CHECK_FALSE(cache.store("other", "payload"));
    faults = {};
  }
  CHECK(filesIn(folder.path).size() == 1);
  REQUIRE(folder.warnings.size() == 1);
  CHECK(folder.warnings[0].find("No space left on device") != std::string::npos);
}
