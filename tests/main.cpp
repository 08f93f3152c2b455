// Tests compile what they compile, and leave the user's own cache of compiled kernels alone. Those
// of the disk cache make theirs in temporary folders, and their child processes keep what they are
// given.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  if (std::getenv("NVFUSER_TEST_CHILD") == nullptr) {
    setenv("NVFUSER_CACHE_MB", "0", /*overwrite=*/1);
  }
  return doctest::Context(argc, argv).run();
}

#if defined(__SANITIZE_THREAD__)
extern "C" {
/// A forked child starts threads of its own in one test.
const char* __tsan_default_options() { return "die_after_fork=0:second_deadlock_stack=1"; }
/// libstdc++ counts the holders of an exception with atomics that ThreadSanitizer does not see: it
/// was compiled without it. Nor does it see openat(): it takes the close of a folder for one of
/// what had its number before, in another thread.
const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\nrace:closedir\n";
}
}
#endif
