// The text of a Fusion, read back (csrc/ir/fusion_reader.cpp): the same text, an equal Fusion; and
// what is said where it cannot be read. Random programs and schedules: tests/fuzz.
#include <doctest/doctest.h>

#include <functional>

#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

/// The text of what `define` makes, which reads back.
std::string checked(const std::function<void(Fusion&)>& define) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  define(fusion);
  const std::string text = fusion.toString();
  const auto read = Fusion::fromText(text);
  CHECK(read->toString() == text);
  CHECK(read->sameDefinition(fusion));
  CHECK(read->hash() == fusion.hash());
  return text;
}

std::string refusal(std::string_view text) {
  try {
    Fusion::fromText(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "none";
}

/// A Fusion of one operation on T0, whose line is given.
std::string withMath(std::string_view line) {
  return text("Inputs:\n  T0_g_float[iS0{i0}]\nOutputs:\n  T1_g_float[iS1{i0}]\n\n%kernel_math {\n",
              line, "\n}\n");
}

}  // namespace

TEST_CASE("text: a definition reads back") {
  const std::string text = checked([](Fusion& fusion) {
    TensorView* x = makeSymbolicTensor(2, DataType::Half);
    Val* n = IrBuilder::create<Val>(DataType::Int);
    fusion.addInput(x);
    fusion.addInput(n);
    TensorView* y = mul(castOp(DataType::Float, x), n);
    fusion.addOutput(sum(reshape(y, {4, 6}, {2, 12}), {1}));
    fusion.addOutput(scan(y, 1, BinaryOpType::Add, nullptr, true));
  });
  CHECK(text.find("contiguity: (false, false)") != std::string::npos);
  CHECK(text.find(", dim = 1, backward )") != std::string::npos);
  CHECK(text.find(" : int64_t\n") != std::string::npos);
}

TEST_CASE("text: a schedule reads back") {
  const std::string text = checked([](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* total = sum(x, {1});
    TensorView* out = div(x, broadcast(total, {false, true}));
    fusion.addOutput(out);
    TensorView* held = x->cacheAfter();
    held->setMemoryType(MemoryType::Shared);
    out->split(1, 128);
    scheduler_utils::transformPropagateToAllFrom(out);
    total->rFactor({1});
    out->axis(0)->parallelize(ParallelType::BIDx);
    out->axis(0)->setClusteredBlocks();
    out->axis(2)->parallelize(ParallelType::TIDx);
    out->axis(2)->padToMultipleOfWarp();
    scheduler_utils::parallelizeAllLike(out);
    inlineMost();
    held->promoteReuse();
    fusion.kernelHints().most_threads = 256;
    fusion.settleAxes();
  });
  for (const std::string_view part :
       {"Split: ", ", factor = 128 -> ", "iblockIdx.x", "}_p", "c{", "ca_pos( ", "promote reuse",
        "%kernel {\n  axes_are_settled\n  most_threads = 256\n}"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, part, " is missing in\n", text);
  }
}

TEST_CASE("text: literals, outputs in the storage of inputs, required sizes") {
  const std::string text = checked([](Fusion& fusion) {
    TensorView* x = makeContigTensor(1, DataType::ComplexFloat);
    fusion.addInput(x);
    Val* half = IrBuilder::create<Val>(PolymorphicValue(std::complex<double>(0.5, -2.0)));
    TensorView* y = mul(x, half);
    fusion.aliasOutputToInput(y, x, AllocationType::ReuseBuffer);
    Val* n = x->axis(0)->extent();
    fusion.requireSizes(
        {SizeRequirement::Kind::SameCount, n, IrBuilder::mulExpr(n, n), "a \"size\"\nthat \\ is"});
    Val* least = IrBuilder::create<Val>(-std::numeric_limits<double>::infinity());
    TensorView* z =
        full({n}, IrBuilder::create<Val>(PolymorphicValue(3), DataType(DataType::Int32)),
             DataType::Int32);
    fusion.addOutput(
        add(z, IrBuilder::create<Val>(PolymorphicValue(4), DataType(DataType::Int32))));
    fusion.addOutput(full({n}, least, DataType::Double));
  });
  for (const std::string_view part :
       {"(0.5,-2)", " storage( T0 ) hidden", "4:int )", "full( 3 )", "-inf",
        "same_count( i0, ( i0 * i0 ) ) \"a \\\"size\\\"\\nthat \\\\ is\""}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, part, " is missing in\n", text);
  }
}

TEST_CASE("text: meshes have their shapes") {
  for (const auto& [devices, shape, shown] :
       std::vector<std::tuple<std::vector<int64_t>, std::vector<int64_t>, std::string>>{
           {{0, 1}, {2}, "DeviceMesh{0 1}"},
           {{0, 1}, {1, 2}, "DeviceMesh{| 0 1}"},
           {{0, 1}, {2, 1}, "DeviceMesh{0 | 1}"},
           {{0, 1}, {1, 1, 2}, "DeviceMesh{|| 0 1}"},
           {{0, 1, 2, 3}, {1, 2, 2}, "DeviceMesh{|| 0 1 | 2 3}"},
           {{0, 1, 2, 3}, {2, 1, 2}, "DeviceMesh{0 1 || 2 3}"}}) {
    const std::string text = checked([&](Fusion& fusion) {
      TensorView* x = makeContigTensor(1);
      fusion.addInput(x);
      x->setDeviceMesh(DeviceMesh(devices, shape));
      fusion.addOutput(neg(x));
    });
    CHECK(text.find("mesh: " + shown) != std::string::npos);
  }
}

TEST_CASE("text: a scalar that is too long to be spelled out has a line of its own") {
  const std::string text = checked([](Fusion& fusion) {
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    Val* size = x->axis(0)->extent();
    for (int i = 0; i < 8; ++i) {
      size = IrBuilder::mulExpr(size, IrBuilder::addExpr(size, fusion.oneVal()));
    }
    fusion.addOutput(full({size}, IrBuilder::create<Val>(1.0), DataType::Float));
  });
  CHECK(text.find("%scalars {\n") != std::string::npos);
}

TEST_CASE("text: what cannot be read is named by line and column") {
  CHECK(refusal(withMath("  T1_g_float[iS1{i0}] = sin( T0 )")) == "none");
  CHECK(refusal(withMath("  T1_g_float[iS1{i0}] = sine( T0 )")) ==
        "Fusion::fromText: line 7: there is no operation 'sine'");
  CHECK(refusal(withMath("  T1_g_float[iS1{i0}] = sin( T5 )")) ==
        "Fusion::fromText: line 7: T5 is read before it is computed; an input stands under "
        "'Inputs:'");
  CHECK(refusal(withMath("  T1_g_float[iS1{i0}] sin( T0 )")) ==
        "Fusion::fromText: line 7, column 23: expected '=' behind what is computed, found "
        "'sin( T0 )'");
  CHECK(refusal(withMath("  T1_g_float[iS1{i0}] = cat( T0, axis = 0 )")) ==
        "Fusion::fromText: line 7, column 34: expected a field, one of: dim, found 'axis = 0 )'");
  CHECK(refusal(withMath("  T1_g_flaot[iS1{i0}] = sin( T0 )")) ==
        "Fusion::fromText: line 7, column 8: expected a data type, found 'flaot[iS1{i0}] = sin( T0 "
        ")'");
  CHECK(refusal(withMath("  T1_g_float[iS1{i4}] = sin( T0 )")).find("axis 1 is another one here") !=
        std::string::npos);
  CHECK(refusal("T0_g_float[iS0{i0}]\n").find("line 1, column 1: expected a section, one of") !=
        std::string::npos);
  CHECK(refusal("%transforms {\n  T0_g_float[iS0{i0}]\n    shape: (iS0{i0})\n}\n") ==
        "Fusion::fromText: line 3: there is no operation 'shape'");
  CHECK(refusal("%scalars {\n  length = 3 * i0 : int\n}\n")
            .find("line 2: 'length' cannot be defined here") != std::string::npos);
}
