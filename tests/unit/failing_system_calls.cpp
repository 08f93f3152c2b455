#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include "failing_calls.h"

namespace nvfuser {

thread_local FailingSystemCalls system_calls;

namespace {

/// Whether this call fails.
bool failsNow() {
  if (system_calls.armed && system_calls.calls++ == system_calls.fails) {
    errno = system_calls.error;
    return true;
  }
  return false;
}

size_t taken(size_t count) {
  return system_calls.armed && system_calls.partly && count > 1 ? 1 : count;
}

/// The C library's own function.
template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace nvfuser

using nvfuser::failsNow;

extern "C" {

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t read(int fd, void* bytes, size_t count) {
  return failsNow() ? -1 : syscall(SYS_read, fd, bytes, nvfuser::taken(count));
}
ssize_t write(int fd, const void* bytes, size_t count) {
  return failsNow() ? -1 : syscall(SYS_write, fd, bytes, nvfuser::taken(count));
}
int close(int fd) {
  const bool fails = failsNow();
  const int error = errno;
  const auto result = static_cast<int>(syscall(SYS_close, fd));
  if (fails) {
    errno = error;
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
int pipe2(int* ends, int flags) noexcept {
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_pipe2, ends, flags));
}
int memfd_create(const char* name, unsigned flags) noexcept {
  return failsNow() ? -1 : static_cast<int>(syscall(SYS_memfd_create, name, flags));
}
char* mkdtemp(char* pattern) noexcept {
  return failsNow() ? nullptr : nvfuser::next<char* (*)(char*)>("mkdtemp")(pattern);
}
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* argv, char* const* environment) {
  return failsNow() ? errno
                    : nvfuser::next<decltype(&posix_spawn)>("posix_spawn")(
                          pid, path, actions, attributes, argv, environment);
}

}  // extern "C"
