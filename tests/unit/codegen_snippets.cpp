#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <codegen/snippets.h>
#include <support/error.h>
#include <support/text.h>

namespace nvfuser {
namespace {

TEST_CASE("embedded files are those of runtime, byte for byte") {
  for (std::string_view path : runtimeFiles()) {
    CAPTURE(path);
    std::ifstream file(text(NVFUSER_TESTS_DIR, "/../runtime/", path), std::ios::binary);
    REQUIRE(file);
    const std::string expected{std::istreambuf_iterator<char>(file), {}};
    CHECK((runtimeFile(path) == expected));  // in parentheses: a difference would print both files
  }
}

TEST_CASE("embedded files are sorted, each path once") {
  const std::vector<std::string_view> paths = runtimeFiles();
  CHECK(std::is_sorted(paths.begin(), paths.end()));
  CHECK(std::adjacent_find(paths.begin(), paths.end()) == paths.end());
}

TEST_CASE("an unknown path is our own error and names the path") {
  CHECK_THROWS_AS(runtimeFile("no_such.cuh"), InternalError);
  try {
    runtimeFile("no_such.cuh");
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()).find("runtime/no_such.cuh is not embedded") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace nvfuser
