#include <doctest/doctest.h>

#include <clocale>
#include <cstdio>
#include <string>

#include <support/decimal.h>

namespace nvfuser {
namespace {

TEST_CASE("decimal separators become points") {
  CHECK(withPoint("1,50000", ",") == "1.50000");
  CHECK(withPoint("-2,5e-07", ",") == "-2.5e-07");
  CHECK(withPoint("1\u066b5", "\u066b") == "1.5");  // of two bytes
  CHECK(withPoint("1.50000", ".") == "1.50000");
  CHECK(withPoint("17", ",") == "17");
  CHECK(withPoint("nan", ",") == "nan");
  CHECK(withPoint("1.5", "") == "1.5");
}

TEST_CASE("numbers have a point in each locale of the machine") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name :
       {"C", "de_DE", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ps_AF.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) {
      continue;
    }
    char digits[64];
    std::snprintf(digits, sizeof digits, "%#.6g", 1.5);
    CHECK_MESSAGE(withPoint(digits) == "1.50000", name);
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}

}  // namespace
}  // namespace nvfuser
