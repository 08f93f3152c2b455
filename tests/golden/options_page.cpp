// docs/options.md is what the table of options says.
#include <doctest/doctest.h>

#include <golden_file.h>
#include <options.h>

TEST_CASE("docs/options.md is up to date") {
  nvfuser::checkGoldenFile("../docs/options.md", nvfuser::optionsPage());
}
