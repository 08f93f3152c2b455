#include <doctest/doctest.h>

#include <limits>
#include <string>

#include <capi/definition_text.h>

namespace nvfuser::capi {
namespace {

TEST_CASE("constants are written so that Python reads the same value") {
  CHECK(constantText(PolymorphicValue(3.0)) == "3.00000");
  CHECK(constantText(PolymorphicValue(-0.5)) == "-0.500000");
  CHECK(constantText(PolymorphicValue(0.1)) == "0.100000");
  CHECK(std::stod(constantText(PolymorphicValue(1.0 / 3))) == 1.0 / 3);
  CHECK(std::stod(constantText(PolymorphicValue(1e-300))) == 1e-300);
  CHECK(constantText(PolymorphicValue(std::numeric_limits<double>::infinity())) == "float('inf')");
  CHECK(constantText(PolymorphicValue(std::numeric_limits<double>::quiet_NaN())) == "float('nan')");
  CHECK(constantText(PolymorphicValue(int64_t{7})) == "7");
  CHECK(constantText(PolymorphicValue(true)) == "True");
  CHECK(constantText(PolymorphicValue(std::complex<double>(1, -2))) ==
        "complex(1.00000, -2.00000)");
}

TEST_CASE("a definition is a Python function") {
  const std::int64_t sizes[] = {-1, 1};
  CHECK(defineTensorText(sizes, {true, false}, DataType::Half) ==
        "fd.define_tensor(symbolic_sizes=[-1, 1], contiguous=[True, False], dtype=DataType.Half)");
  CHECK(defineScalarText(DataType::Double) == "fd.define_scalar(dtype=DataType.Double)");
  CHECK(definitionText("nvfuser_fusion_id5", {"a = 1", "b = 2"}) ==
        "def nvfuser_fusion_id5(fd : FusionDefinition) -> None :\n    a = 1\n    b = 2\n");
}

TEST_CASE("a definition keeps its values by id, and its text names them") {
  Definition definition;
  const int64_t x = definition.defineTensor({-1, 1}, {true, true}, NVF_FLOAT);
  const int64_t two = definition.defineConstant(PolymorphicValue(2.0));
  nvf_argument operands[2] = {};
  operands[0].kind = operands[1].kind = NVF_ARG_VALUE;
  operands[0].integer = x;
  operands[1].integer = two;
  const std::vector<int64_t> product = definition.call("mul", operands);
  REQUIRE(product.size() == 1);
  definition.addOutput(product.front());
  CHECK(definition.idOf(definition.valueOf(two)) == two);
  CHECK(definition.idOf(nullptr) == -1);
  CHECK_THROWS_AS(definition.valueOf(17), ArgumentError);
  CHECK(definition.graph.outputs().size() == 1);
  CHECK(definition.statements.back() == "fd.add_output(T2)");
  CHECK(definition.statements[2] == "T2 = fd.ops.mul(T0, S1)");
  CHECK(definition.pythonText("f").ends_with("fd.add_output(T2)\n"));
}

TEST_CASE("a definition whose text comes from its graph keeps what it was before a schedule") {
  Definition definition(TextOf::Graph);
  const int64_t x = definition.defineTensor({-1, -1}, {true, true}, NVF_FLOAT);
  nvf_argument operands[2] = {};
  operands[0].kind = NVF_ARG_VALUE;
  operands[0].integer = x;
  operands[1].kind = NVF_ARG_INT;
  operands[1].integer = 1;
  definition.addOutput(definition.call("sum", operands).front());
  CHECK(definition.statements.empty());
  const std::string before = definition.pythonText("f");
  CHECK(before.find("tv1 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)\n") != before.npos);
  definition.beforeScheduling();
  FusionGuard guard(&definition.graph);
  auto* total = definition.graph.outputs()[0]->as<TensorView>();
  total->split(1, 8);
  total->rFactor({1});
  CHECK(definition.pythonText("f") == before);
}

TEST_CASE("an input tensor of any memory order") {
  CHECK(
      defineTensorText(InputTensor{{-1, 1}, {std::nullopt, true}, DataType::Half, false, {0, 1}}) ==
      "fd.define_tensor(shape=[-1, 1], contiguity=[None, True], dtype=DataType.Half, "
      "is_cpu=False, stride_order=[0, 1])");
}

}  // namespace
}  // namespace nvfuser::capi
