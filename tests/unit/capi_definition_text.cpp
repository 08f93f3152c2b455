#include <doctest/doctest.h>

#include <limits>
#include <string>

#include <capi/definition_text.h>

namespace nvfuser::capi {
namespace {

std::string constant(const PolymorphicValue& value) {
  const std::string text = defineConstantText(0, value);
  const std::string before = "S0 = fd.define_constant(";
  REQUIRE(text.starts_with(before));
  return text.substr(before.size(), text.size() - before.size() - 1);
}

TEST_CASE("constants are written so that Python reads the same value") {
  CHECK(constant(PolymorphicValue(3.0)) == "3.00000");
  CHECK(constant(PolymorphicValue(-0.5)) == "-0.500000");
  CHECK(constant(PolymorphicValue(0.1)) == "0.100000");
  CHECK(std::stod(constant(PolymorphicValue(1.0 / 3))) == 1.0 / 3);
  CHECK(std::stod(constant(PolymorphicValue(1e-300))) == 1e-300);
  CHECK(constant(PolymorphicValue(std::numeric_limits<double>::infinity())) == "float('inf')");
  CHECK(constant(PolymorphicValue(std::numeric_limits<double>::quiet_NaN())) == "float('nan')");
  CHECK(constant(PolymorphicValue(int64_t{7})) == "7");
  CHECK(constant(PolymorphicValue(true)) == "True");
  CHECK(constant(PolymorphicValue(std::complex<double>(1, -2))) == "complex(1.00000, -2.00000)");
}

TEST_CASE("a definition is a Python function") {
  const std::int64_t sizes[] = {-1, 1};
  CHECK(defineTensorText(3, sizes, {true, false}, DataType::Half) ==
        "T3 = fd.define_tensor(symbolic_sizes=[-1, 1], contiguous=[True, False], "
        "dtype=DataType.Half)");
  CHECK(defineScalarText(1, DataType::Double) == "S1 = fd.define_scalar(dtype=DataType.Double)");
  CHECK(definitionText(5, {"a = 1", "b = 2"}) ==
        "def nvfuser_fusion_id5(fd : FusionDefinition) -> None :\n    a = 1\n    b = 2\n");
}

}  // namespace
}  // namespace nvfuser::capi
