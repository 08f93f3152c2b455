/// Texts that are kept: what a test makes has to be what the file of that name holds.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace nvfuser {

/// Compares with a file below `tests/`; with NVFUSER_UPDATE_GOLDEN set it is written instead.
inline void checkGoldenFile(const std::string& file_name, const std::string& got) {
  const std::string path = std::string(NVFUSER_TESTS_DIR) + "/" + file_name;
  if (std::getenv("NVFUSER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << got;
    return;
  }
  std::ifstream file(path);
  if (!file) {
    FAIL("there is no ", path,
         "; to make it: NVFUSER_UPDATE_GOLDEN=1 build/bin/nvfuser_test_golden");
  }
  std::stringstream expected;
  expected << file.rdbuf();
  CHECK_MESSAGE(got == expected.str(), "differs from ", path,
                "; if it should, NVFUSER_UPDATE_GOLDEN=1 build/bin/nvfuser_test_golden rewrites "
                "it. The text:\n",
                got);
}

}  // namespace nvfuser
