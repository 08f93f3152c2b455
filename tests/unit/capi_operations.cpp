#include <doctest/doctest.h>

#include <string>

#include <capi/operations.h>

namespace nvfuser::capi {
namespace {

nvf_argument integer(int64_t value, const char* name = nullptr) {
  nvf_argument argument{};
  argument.kind = NVF_ARG_INT;
  argument.integer = value;
  argument.name = name;
  return argument;
}

TEST_CASE("signatures name types and defaults") {
  CHECK(findOperation("sum").signature() ==
        "sum(arg: Tensor, axes: list[int] | int | None = None, keepdim: bool = False, "
        "dtype: DataType | None = None) -> Tensor");
  CHECK(findOperation("add").signature() ==
        "add(lhs: Tensor | Scalar | number, rhs: Tensor | Scalar | number) -> Tensor | Scalar");
}

TEST_CASE("an unknown operation names those like it") {
  std::string message;
  try {
    findOperation("soft_max");
  } catch (const ArgumentError& error) {
    message = error.what();
  }
  CHECK(message.find("names like it are softmax") != std::string::npos);
}

TEST_CASE("arguments go to parameters by position, by name and by another name") {
  const std::vector<Val*> none;
  const Operation& transpose = findOperation("transpose");
  const nvf_argument arguments[] = {integer(0), integer(5, "dim1")};
  const Call call(transpose.name, transpose.parameters, arguments, none);
  CHECK(call.isGiven(0));
  CHECK_FALSE(call.isGiven(1));
  CHECK(call.get<int64_t>(1) == -2);  // the default
  CHECK(call.get<int64_t>(2) == 5);

  const Operation& sum = findOperation("sum");
  const nvf_argument by_other_name[] = {integer(0), integer(1, "dim")};
  const Call other(sum.name, sum.parameters, by_other_name, none);
  CHECK(other.get<Ints>(1) == Ints{1});
}

}  // namespace
}  // namespace nvfuser::capi
