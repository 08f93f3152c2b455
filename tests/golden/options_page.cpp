// docs/options.md is what the table of options says.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <options.h>

TEST_CASE("docs/options.md is up to date") {
  const std::string path = std::string(NVFUSER_TESTS_DIR) + "/../docs/options.md";
  const std::string page = nvfuser::optionsPage();
  if (std::getenv("NVFUSER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << page;
    return;
  }
  std::ifstream file(path);
  std::stringstream committed;
  committed << file.rdbuf();
  CHECK_MESSAGE(committed.str() == page,
                "NVFUSER_UPDATE_GOLDEN=1 build/bin/nvfuser_test_golden -tc='docs*' rewrites it");
}
