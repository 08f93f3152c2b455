// The text of a Fusion, from its graph alone: order, names, constants, outputs that are written to
// inputs.

#include <doctest/doctest.h>

#include <capi/fusion_text.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <support/error.h>

using namespace nvfuser;

namespace {

struct Defined {
  Fusion fusion;
  FusionGuard guard{&fusion};

  TensorView* input(int64_t rank, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigTensor(rank, dtype);
    fusion.addInput(tv);
    return tv;
  }
  /// The statements but those of the inputs, a line each.
  std::string text() {
    std::string found;
    for (const std::string& statement : capi::fusionStatements(fusion)) {
      found += statement.find("define_tensor") == statement.npos ? statement + "\n" : "";
    }
    return found;
  }
};

}  // namespace

TEST_CASE("what an output needs, depth first, and nothing that none needs") {
  Defined d;
  TensorView* x = d.input(2);
  TensorView* unused = exp(x);
  TensorView* second = neg(x);
  TensorView* first = sum(mul(x, x), {1}, true);
  d.fusion.addOutput(first);
  d.fusion.addOutput(second);
  CHECK(unused != nullptr);
  CHECK(d.text() ==
        "tv3 = fd.ops.mul(tv0, tv0)\n"
        "tv4 = fd.ops.sum(tv3, dims=[1], dtype=DataType.Float)\n"
        "tv5 = fd.ops.broadcast(tv4, is_broadcast_dim=[False, True])\n"
        "tv2 = fd.ops.neg(tv0)\n"
        "fd.add_output(tv5)\n"
        "fd.add_output(tv2)\n");
}

TEST_CASE("constants stand where they are read, unless Python's number has another dtype") {
  Defined d;
  TensorView* x = d.input(1, DataType::Double);
  Val* two = IrBuilder::create<Val>(PolymorphicValue(2.0));
  Val* half = IrBuilder::create<Val>(PolymorphicValue(0.5), DataType(DataType::Float));
  d.fusion.addOutput(add(mul(x, two), half));
  const std::string name = "c" + std::to_string(half->name());
  CHECK(d.text() == "tv1 = fd.ops.mul(tv0, 2.00000)\n" + name +
                        " = fd.define_scalar(0.500000, dtype=DataType.Float)\ntv2 = "
                        "fd.ops.add(tv1, " +
                        name + ")\nfd.add_output(tv2)\n");
}

TEST_CASE("outputs that are written to inputs") {
  Defined d;
  TensorView* x = d.input(1);
  TensorView* y = relu(x);
  d.fusion.aliasOutputToInput(y, x, AllocationType::ReuseBuffer);
  CHECK(d.text() == "tv1 = fd.ops.relu(tv0)\nfd.add_output(tv1, tv0)\n");
  d.fusion.addOutput(y);
  CHECK(d.text() == "tv1 = fd.ops.relu(tv0)\nfd.add_output(tv1, tv0)\nfd.add_output(tv1)\n");
}

TEST_CASE("a chain of many operations") {
  Defined d;
  TensorView* x = d.input(1);
  for (int i = 0; i < 20000; ++i) {
    x = neg(x);
  }
  d.fusion.addOutput(x);
  const std::string text = d.text();
  CHECK(text.find("tv20000 = fd.ops.neg(tv19999)\nfd.add_output(tv20000)\n") != text.npos);
}

TEST_CASE("a part of a reduction is no operation") {
  Defined d;
  TensorView* total = sum(d.input(2), {1});
  d.fusion.addOutput(total);
  total->split(1, 8);
  total->rFactor({1});
  try {
    d.text();
    FAIL("it was written");
  } catch (const UserError& error) {
    const std::string what = error.what();
    CHECK(what.find("cannot be written as an operation: it is a part of a reduction; translate "
                    "the fusion before it is scheduled") != what.npos);
  }
}
