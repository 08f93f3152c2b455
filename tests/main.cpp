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
