#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <support/text.h>

namespace nvfuser {
namespace {

struct Axis {
  int id;
  std::string toString() const { return text("i", id); }
};

TEST_CASE("text writes its parts one after the other") {
  CHECK(text() == "");
  CHECK(text("T", 3, '[', true, ']') == "T3[true]");
  CHECK(text("literal") == "literal");  // and not "true": a pointer converts to bool
  CHECK(text(std::string("a"), std::string_view("b"), "c") == "abc");
}

TEST_CASE("text writes numbers exactly and as short as possible") {
  CHECK(text(std::numeric_limits<int64_t>::min()) == "-9223372036854775808");
  CHECK(text(std::numeric_limits<uint64_t>::max()) == "18446744073709551615");
  CHECK(text(0.1) == "0.1");
  CHECK(text(-0.0) == "-0");
  CHECK(text(std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("text writes what has toString, and null pointers as null") {
  const Axis axis{7};
  const Axis* none = nullptr;
  CHECK(text(axis, " ", &axis, " ", none) == "i7 i7 null");
}

TEST_CASE("join puts the separator between items only") {
  CHECK(join(std::vector<int>{}, ", ") == "");
  CHECK(join(std::array{1}, ", ") == "1");
  CHECK(join(std::array{1, 2, 3}, ", ") == "1, 2, 3");
  CHECK(join(std::vector<Axis>{{1}, {2}}, " ") == "i1 i2");
}

TEST_CASE("join shows items through a function") {
  CHECK(join(std::array{1, 2}, "+", [](int i) { return text("x", i); }) == "x1+x2");
}

}  // namespace
}  // namespace nvfuser
