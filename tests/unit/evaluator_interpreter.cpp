#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include <evaluator/interpreter.h>
#include <evaluator/philox.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/indexing.h>
#include <ops/normalization.h>

namespace nvfuser {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// A Fusion, its arguments, and its results as numbers.
struct Run {
  Fusion fusion;
  FusionGuard guard{&fusion};
  std::vector<HostTensor> owned;
  std::vector<InterpreterInput> inputs;
  InterpreterOptions options;

  TensorView* input(const HostTensor& data, TensorView* tv = nullptr) {
    owned.push_back(data);
    return lend(owned.back().ref(), tv);
  }
  TensorView* lend(TensorRef ref, TensorView* tv = nullptr) {
    if (tv == nullptr) {
      tv = makeSymbolicTensor(ref.rank(), ref.dtype);
    }
    fusion.addInput(tv);
    inputs.emplace_back(ref);
    return tv;
  }
  TensorView* floats(std::vector<int64_t> sizes, const std::vector<double>& values,
                     DataType dtype = DataType::Float) {
    HostTensor host(dtype, std::move(sizes));
    REQUIRE(host.numel() == static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      host.setDouble(static_cast<int64_t>(i), values[i]);
    }
    return input(host);
  }
  TensorView* counting(std::vector<int64_t> sizes, DataType dtype = DataType::Float) {
    HostTensor host(dtype, std::move(sizes));
    for (int64_t i = 0; i < host.numel(); ++i) {
      host.setInt(i, i);
    }
    return input(host);
  }
  Val* number(PolymorphicValue value) { return IrBuilder::create<Val>(value); }

  HostTensor result(Val* output) {
    fusion.addOutput(output);
    return interpret(fusion, inputs, options).back();
  }
};

std::vector<double> numbers(const HostTensor& tensor) {
  std::vector<double> all;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    all.push_back(tensor.getDouble(i));
  }
  return all;
}

using Numbers = std::vector<double>;
using Sizes = std::vector<int64_t>;

// ---- pointwise ----

TEST_CASE_FIXTURE(Run, "pointwise operations broadcast, and scalars count in the tensor's dtype") {
  TensorView* x = counting({2, 3});
  TensorView* row = floats({3}, {10, 20, 30});
  TensorView* y = add(mul(x, number(0.1)), broadcast(row, {true, false}));
  const HostTensor out = result(y);
  CHECK(out.sizes() == Sizes{2, 3});
  for (int64_t i = 0; i < 6; ++i) {
    const double expected =
        static_cast<double>(i) * static_cast<double>(0.1f) + 10.0 * static_cast<double>(i % 3 + 1);
    CHECK(out.getDouble(i) == static_cast<double>(static_cast<float>(expected)));
  }
}

TEST_CASE_FIXTURE(Run, "integers wrap in their own width") {
  HostTensor bytes(DataType::Char, {2});
  bytes.setInt(0, 100);
  bytes.setInt(1, -128);
  TensorView* x = input(bytes);
  CHECK(numbers(result(add(x, x))) == Numbers{-56, 0});
  CHECK(numbers(result(neg(x))) == Numbers{-100, -128});
  CHECK(numbers(result(castOp(DataType::Byte, x))) == Numbers{100, 128});
  CHECK(numbers(result(lt(x, number(0)))) == Numbers{0, 1});
}

TEST_CASE_FIXTURE(Run, "unsigned 64-bit numbers are no negative ones") {
  HostTensor words(DataType::UInt64, {2});
  words.setInt(0, -1);
  words.setInt(1, 5);
  TensorView* x = input(words);
  CHECK(numbers(result(gt(x, IrBuilder::create<Val>(7, DataType::UInt64)))) == Numbers{1, 0});
  CHECK(numbers(result(castOp(DataType::Double, x))) == Numbers{18446744073709551615.0, 5});
  CHECK(result(max(x, {0})).getInt(0) == -1);
}

TEST_CASE_FIXTURE(Run, "rounding happens at casts and outputs, or everywhere on request") {
  TensorView* x = floats({1}, {0.1});
  TensorView* tiny = add(sub(add(x, number(1e8)), number(1e8)), number(0.0));
  fusion.addOutput(tiny);
  CHECK(interpret(fusion, inputs)[0].getDouble(0) == doctest::Approx(0.1));
  options.rounding = Rounding::EveryOperation;
  CHECK(interpret(fusion, inputs, options)[0].getDouble(0) == 0.0);
}

TEST_CASE_FIXTURE(Run, "a cast to a narrower type rounds even if it is undone") {
  TensorView* x = floats({3}, {1.0 / 3, 70000, -2.0 / 3});
  TensorView* y = castOp(DataType::Float, castOp(DataType::Half, x));
  CHECK(numbers(result(y)) == Numbers{0.333251953125, kInf, -0.66650390625});
  TensorView* wide = castOp(DataType::Double, div(x, number(3.0)));
  CHECK(result(wide).getDouble(0) ==
        static_cast<double>(static_cast<float>(static_cast<double>(1.0f / 3) / 3.0)));
}

TEST_CASE_FIXTURE(Run, "complex numbers") {
  HostTensor z(DataType::ComplexFloat, {2});
  z.setComplex(0, {3, 4});
  z.setComplex(1, {0, -2});
  TensorView* x = input(z);
  CHECK(numbers(result(abs(x))) == Numbers{5, 2});
  CHECK(result(mul(x, x)).getComplex(0) == std::complex<double>(-7, 24));
  CHECK(numbers(result(imag(x))) == Numbers{4, -2});
  CHECK(result(sum(x, {0})).getComplex(0) == std::complex<double>(3, 2));
  TensorView* parts = IrBuilder::create<TensorView>(
      IrBuilder::create<TensorDomain>(
          std::vector<IterDomain*>{x->axis(0)->cloneWithoutRFactor(),
                                   IterDomainBuilder(fusion.zeroVal(DataType::Index),
                                                     IrBuilder::create<Val>(2, DataType::Index))
                                       .iter_type(IterType::VectorComponent)
                                       .build()}),
      DataType::Float);
  IrBuilder::create<ViewAsScalar>(parts, x);
  CHECK(numbers(result(parts)) == Numbers{3, 4, 0, -2});
  CHECK(result(complex(real(x), imag(x))).getComplex(1) == std::complex<double>(0, -2));
}

TEST_CASE_FIXTURE(Run, "bits read as another dtype") {
  TensorView* x = floats({2}, {1.0, -0.0});
  const HostTensor bits = result(bitCastOp(DataType::Int32, x));
  CHECK(bits.getInt(0) == 0x3F800000);
  CHECK(bits.getInt(1) == std::numeric_limits<int32_t>::min());
}

TEST_CASE_FIXTURE(Run, "NaN and choice") {
  TensorView* x = floats({3}, {kNan, -1, 2});
  TensorView* y = floats({3}, {0, kNan, 1});
  const HostTensor larger = result(maximum(x, y));
  CHECK(std::isnan(larger.getDouble(0)));
  CHECK(std::isnan(larger.getDouble(1)));
  CHECK(larger.getDouble(2) == 2);
  CHECK(numbers(result(where(isnan(x), y, x))) == Numbers{0, -1, 2});
}

// ---- layout ----

TEST_CASE_FIXTURE(Run, "inputs of any strides, also expanded and 0-dim ones") {
  std::vector<float> memory(24);
  std::iota(memory.begin(), memory.end(), 0.0f);
  TensorView* x = lend(
      {.data = memory.data() + 1, .dtype = DataType::Float, .sizes = {3, 2}, .strides = {2, 9}});
  CHECK(numbers(result(set(x))) == Numbers{1, 10, 3, 12, 5, 14});
  Val* wide = IrBuilder::create<Val>(DataType::Index);
  TensorView* expanded =
      lend({.data = memory.data(), .dtype = DataType::Float, .sizes = {2, 3}, .strides = {0, 1}},
           TensorViewBuilder()
               .shape(std::vector<Val*>{wide, IrBuilder::create<Val>(DataType::Index)})
               .expanded({true, false})
               .build());
  CHECK(numbers(result(add(expanded, number(1)))) == Numbers{1, 2, 3, 1, 2, 3});
  CHECK(numbers(result(sum(expanded, {0}))) == Numbers{0, 2, 4});
  TensorView* zero_dim =
      lend({.data = memory.data() + 7, .dtype = DataType::Float, .sizes = {}, .strides = {}});
  CHECK(numbers(result(mul(zero_dim, x))) == Numbers{7, 70, 21, 84, 35, 98});
}

TEST_CASE_FIXTURE(Run, "empty tensors") {
  TensorView* x = counting({0, 3});
  CHECK(result(add(x, number(1))).numel() == 0);
  CHECK(numbers(result(sum(x, {0}))) == Numbers{0, 0, 0});
  CHECK(result(sum(x, {1})).numel() == 0);
  CHECK(result(permute(x, {1, 0})).sizes() == Sizes{3, 0});
  CHECK(numbers(result(prod(x, {0, 1}))) == Numbers{1});
}

// ---- shape ----

TEST_CASE_FIXTURE(Run, "permute, squeeze, expand, reshape") {
  TensorView* x = counting({2, 3});
  CHECK(numbers(result(transpose(x, 0, 1))) == Numbers{0, 3, 1, 4, 2, 5});
  CHECK(numbers(result(squeeze(unsqueeze(x, 1), {1}))) == Numbers{0, 1, 2, 3, 4, 5});
  const HostTensor wide = result(expand(unsqueeze(x, 0), {number(2), number(-1), number(-1)}));
  CHECK(wide.sizes() == Sizes{2, 2, 3});
  CHECK(numbers(wide) == Numbers{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  const HostTensor flat = result(flatten(transpose(x, 0, 1)));
  CHECK(numbers(flat) == Numbers{0, 3, 1, 4, 2, 5});
  const HostTensor shaped = result(reshape(x, {2, 3}, {3, -1}));
  CHECK(shaped.sizes() == Sizes{3, 2});
  CHECK(numbers(shaped) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE_FIXTURE(Run, "repeat") {
  TensorView* x = counting({1, 3});
  CHECK(numbers(result(repeat(x, {2, 2}))) == Numbers{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
}

TEST_CASE_FIXTURE(Run, "slice, pad and cat") {
  TensorView* x = counting({2, 4});
  CHECK(numbers(result(slice(x, {0, 1}, {2, 3}))) == Numbers{1, 2, 5, 6});
  const HostTensor padded = result(pad(x, {number(1), number(-1)}, number(9.0)));
  CHECK(padded.sizes() == Sizes{2, 4});
  CHECK(numbers(padded) == Numbers{9, 0, 1, 2, 9, 4, 5, 6});
  TensorView* y = floats({2, 2}, {-0.0, kNan, kInf, -1});
  const HostTensor joined = result(cat({x, y, x}, 1));
  CHECK(joined.sizes() == Sizes{2, 10});
  CHECK(std::signbit(joined.getDouble(4)));
  CHECK(std::isnan(joined.getDouble(5)));
  CHECK(joined.getDouble(14) == static_cast<double>(kInf));
  CHECK(joined.getDouble(6) == 0);
  CHECK(joined.getDouble(19) == 7);
}

TEST_CASE_FIXTURE(Run, "tensors made from nothing") {
  CHECK(numbers(result(full({number(2), number(2)}, number(1.5), DataType::Half))) ==
        Numbers{1.5, 1.5, 1.5, 1.5});
  CHECK(numbers(result(iota(number(4), number(3), number(-2)))) == Numbers{3, 1, -1, -3});
  CHECK(numbers(result(arange(number(0.0), number(1.0), number(0.25), DataType::Double))) ==
        Numbers{0, 0.25, 0.5, 0.75});
  CHECK(numbers(result(eye(number(2), number(3), DataType::Int))) == Numbers{1, 0, 0, 0, 1, 0});
}

// ---- reductions ----

TEST_CASE_FIXTURE(Run, "sums, products and extremes") {
  TensorView* x = counting({2, 3});
  CHECK(numbers(result(sum(x, {1}))) == Numbers{3, 12});
  CHECK(numbers(result(sum(x, {0}, true))) == Numbers{3, 5, 7});
  CHECK(numbers(result(sum(x, {0, 1}))) == Numbers{15});
  CHECK(numbers(result(prod(x, {0}))) == Numbers{0, 4, 10});
  CHECK(numbers(result(max(x, {1}))) == Numbers{2, 5});
  CHECK(numbers(result(min(x, {0}))) == Numbers{0, 1, 2});
  TensorView* odd = floats({2, 2}, {kNan, 1, -kInf, 2});
  const HostTensor least = result(min(odd, {1}));
  CHECK(std::isnan(least.getDouble(0)));
  CHECK(least.getDouble(1) == -static_cast<double>(kInf));
  TensorView* half = floats({4096}, std::vector<double>(4096, 1.0), DataType::Half);
  CHECK(numbers(result(sum(half, {0}))) == Numbers{4096});
}

TEST_CASE_FIXTURE(Run, "integer sums wrap at 64 bits, truth values are counted") {
  HostTensor large(DataType::Int, {2});
  large.setInt(0, std::numeric_limits<int64_t>::max());
  large.setInt(1, 1);
  CHECK(result(sum(input(large), {0})).getInt(0) == std::numeric_limits<int64_t>::min());
  HostTensor truth(DataType::Bool, {3});
  truth.setInt(0, 1);
  truth.setInt(2, 1);
  CHECK(numbers(result(sum(input(truth), {0}))) == Numbers{2});
}

TEST_CASE_FIXTURE(Run, "moments of plain data and of rFactor'd groups") {
  const Numbers data{1, 5, -2, 8, 0, 3, 3, 3, 3, 3};
  TensorView* x = floats({2, 5}, data);
  WelfordResult moments = Welford(x, {1});
  fusion.addOutput(moments.avg);
  fusion.addOutput(moments.var_sum);
  fusion.addOutput(moments.n);
  auto outs = interpret(fusion, inputs);
  CHECK(outs[0].getDouble(0) == doctest::Approx(2.4));
  CHECK(outs[0].getDouble(1) == doctest::Approx(3));
  CHECK(outs[1].getDouble(0) == doctest::Approx(65.2));
  CHECK(outs[1].getDouble(1) == doctest::Approx(0));
  CHECK(outs[2].getInt(0) == 5);
}

/// What rFactor makes of sum(x, {1}) for [i, r]: sums over r inside of chunks of `factor`, then
/// over the chunks.
TensorView* sumInChunks(TensorView* x, int64_t factor) {
  auto reduction = [](Val* extent, IterType type) {
    return IterDomainBuilder(extent->fusion()->zeroVal(DataType::Index), extent)
        .iter_type(type)
        .build();
  };
  IterDomain* i = x->axis(0)->cloneWithoutRFactor();
  IterDomain* r = reduction(x->axis(1)->extent(), IterType::Reduction);
  auto [outer, inner] = IterDomain::split(r, IrBuilder::create<Val>(factor, DataType::Index), true,
                                          true, IterType::Iteration, IterType::Reduction);
  std::vector<IterDomain*> logical{i, outer, inner};
  auto* part = IrBuilder::create<TensorView>(
      IrBuilder::create<TensorDomain>(std::vector<IterDomain*>{i, r}, logical, logical),
      x->dtype());
  Val* zero = IrBuilder::create<Val>(0.0, x->dtype());
  IrBuilder::create<ReductionOp>(BinaryOpType::Add, zero, part, x);
  auto* whole = IrBuilder::create<TensorView>(
      IrBuilder::create<TensorDomain>(std::vector<IterDomain*>{
          i->cloneWithoutRFactor(), reduction(outer->extent(), IterType::Reduction)}),
      x->dtype());
  IrBuilder::create<ReductionOp>(BinaryOpType::Add, zero, whole, part);
  return whole;
}

TEST_CASE_FIXTURE(Run, "an rFactor'd sum pads its last chunk with nothing") {
  TensorView* x = counting({2, 7});
  CHECK(numbers(result(sumInChunks(x, 4))) == Numbers{21, 70});
}

TEST_CASE_FIXTURE(Run, "softmax and layer norm are what their formulas say") {
  TensorView* x = floats({2, 3}, {1, 2, 3, -1, 0, 500});
  const HostTensor y = result(softmax(x, 1));
  const double total = 1 + std::exp(-1) + std::exp(-2);
  CHECK(y.getDouble(2) == doctest::Approx(1 / total));
  CHECK(y.getDouble(0) == doctest::Approx(std::exp(-2) / total));
  CHECK(y.getDouble(5) == 1);
  auto norm = layer_norm(x, std::vector<int64_t>{3}, nullptr, nullptr, number(0.0));
  CHECK(result(norm.output).getDouble(0) == doctest::Approx(-std::sqrt(1.5)));
}

// ---- indexing ----

TEST_CASE_FIXTURE(Run, "select, index_select, gather and scatter") {
  TensorView* x = counting({3, 4});
  HostTensor picked(DataType::Int, {2});
  picked.setInt(0, 2);
  TensorView* index = input(picked);
  CHECK(numbers(result(select(x, 1, number(-1)))) == Numbers{3, 7, 11});
  CHECK(numbers(result(indexSelect(x, 0, index))) == Numbers{8, 9, 10, 11, 0, 1, 2, 3});
  HostTensor table(DataType::Int32, {2, 2});
  for (int64_t i = 0; i < 4; ++i) {
    table.setInt(i, (i + 1) % 3);
  }
  TensorView* where = input(table);
  CHECK(numbers(result(gather(x, 0, where))) == Numbers{4, 9, 0, 5});
  CHECK(numbers(result(scatter(x, 0, where, number(-1.0)))) ==
        Numbers{-1, 1, 2, 3, -1, -1, 6, 7, 8, -1, 10, 11});
  HostTensor beyond(DataType::Int, {1});
  beyond.setInt(0, 3);
  CHECK_THROWS_AS(result(indexSelect(x, 0, input(beyond))), UserError);
}

TEST_CASE_FIXTURE(Run, "takeAlongAxis broadcasts the other axes") {
  TensorView* x = counting({2, 3});
  HostTensor table(DataType::Int, {1, 2});
  table.setInt(0, 2);
  TensorView* index =
      input(table, TensorViewBuilder().shape(Sizes{1, -1}).dtype(DataType::Int).build());
  CHECK(numbers(result(takeAlongAxis(x, index, 1))) == Numbers{2, 0, 5, 3});
}

// ---- random ----

TEST_CASE("Philox-4x32-10 gives its published words") {
  using Block = std::array<uint32_t, 4>;
  CHECK(philoxBlock(0, 0, 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philoxBlock(~0ull, ~0ull, ~0ull) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philoxBlock(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE_FIXTURE(Run, "uniform numbers are the words of their block") {
  options.philox_seed = 12345;
  options.philox_offset = 7;
  TensorView* first = rand({number(2), number(3)}, DataType::Float);
  TensorView* second = rand({number(5)}, DataType::Double);
  fusion.addOutput(first);
  fusion.addOutput(second);
  auto outs = interpret(fusion, inputs, options);
  for (int64_t e = 0; e < 6; ++e) {
    const auto word =
        philoxBlock(12345, static_cast<uint64_t>(e / 4), 7)[static_cast<size_t>(e % 4)];
    CHECK(outs[0].getDouble(e) == (word >> 8) * 0x1p-24);
  }
  for (int64_t e = 0; e < 5; ++e) {
    const auto words = philoxBlock(12345, static_cast<uint64_t>(e / 2), 8);
    const size_t low = static_cast<size_t>(e % 2) * 2;
    const uint64_t bits = words[low] | uint64_t{words[low + 1]} << 32;
    CHECK(outs[1].getDouble(e) == static_cast<double>(bits >> 11) * 0x1p-53);
  }
}

TEST_CASE_FIXTURE(Run, "a draw with its own seed and offset equals the executor's") {
  options.philox_seed = 99;
  options.philox_offset = 4;
  TensorView* drawn = uniform({number(9)}, number(-1.0), number(3.0), DataType::Float);
  TensorView* given =
      uniform({number(9)}, number(-1.0), number(3.0), DataType::Float, number(99), number(4));
  fusion.addOutput(drawn);
  fusion.addOutput(given);
  auto outs = interpret(fusion, inputs, options);
  CHECK(numbers(outs[0]) == numbers(outs[1]));
  for (double x : numbers(outs[0])) {
    CHECK(x >= -1);
    CHECK(x < 3);
  }
}

TEST_CASE_FIXTURE(Run, "normal numbers have their moments") {
  for (DataType dtype : {DataType(DataType::Float), DataType(DataType::Double)}) {
    const HostTensor out = result(normal({number(100000)}, number(2.0), number(3.0), dtype));
    double mean = 0;
    double squares = 0;
    for (double x : numbers(out)) {
      mean += x / 1e5;
      squares += x * x / 1e5;
    }
    CHECK(mean == doctest::Approx(2).epsilon(0.02));
    CHECK(squares - mean * mean == doctest::Approx(9).epsilon(0.02));
  }
}

// ---- roundings made on purpose ----

TEST_CASE_FIXTURE(Run, "normal numbers are rounded where they are drawn, uniform ones are exact") {
  fusion.addOutput(rand({number(8)}, DataType::Float));
  fusion.addOutput(normal({number(8)}, number(-3.0), number(3.0), DataType::Float));
  const std::vector<HostTensor> exact = interpret(fusion, inputs, options);
  options.rounding = Rounding::Disturbed;
  const std::vector<HostTensor> moved = interpret(fusion, inputs, options);
  CHECK(numbers(moved[0]) == numbers(exact[0]));
  for (int64_t i = 0; i < 8; ++i) {
    const double distance = std::abs(moved[1].getDouble(i) - exact[1].getDouble(i));
    const double drawn = std::abs(exact[1].getDouble(i) + 3);
    CHECK(distance <= 0x1p-22 * (drawn + 3));
    CHECK(distance >= 0x1p-26 * drawn);
  }
}

TEST_CASE_FIXTURE(Run, "a sum that overflows in some order may be any number") {
  const double greatest = std::numeric_limits<float>::max();
  TensorView* x = floats({2, 3}, {greatest, -greatest, 2, 1, -1, 2});
  fusion.addOutput(unaryOp(UnaryOpType::Atanh, sum(x, {1})));
  options.rounding = Rounding::Disturbed;
  int undetermined = 0;
  for (options.disturbance = 0; options.disturbance < 4; ++options.disturbance) {
    const HostTensor out = interpret(fusion, inputs, options).front();
    undetermined += isUndetermined(out.getDouble(0)) ? 1 : 0;
    CHECK(std::isnan(out.getDouble(1)));
    CHECK_FALSE(isUndetermined(out.getDouble(1)));  // atanh(2)
  }
  CHECK(undetermined == 2);
}

TEST_CASE_FIXTURE(Run, "numbers that are added again and again are rounded the same way") {
  constexpr int64_t kCount = 6000;
  Numbers few;
  Numbers many;
  for (int64_t i = 0; i < kCount; ++i) {
    few.push_back(1.0 / static_cast<double>(3 + i % 3));
    many.push_back(1.0 / static_cast<double>(3 + i));
  }
  // In roundings of the sum.
  auto error = [&](const Numbers& terms) {
    Run run;
    TensorView* out = sum(run.floats({kCount}, terms), {0});
    run.fusion.addOutput(out);
    const double exact = interpret(run.fusion, run.inputs, run.options).front().getDouble(0);
    run.options.rounding = Rounding::Disturbed;
    const double moved = interpret(run.fusion, run.inputs, run.options).front().getDouble(0);
    return std::abs(moved - exact) / exact * 0x1p24;
  };
  CHECK(error(few) > kCount / 8);
  CHECK(error(many) < kCount / 64);
}

// ---- the whole ----

TEST_CASE_FIXTURE(Run, "a scalar becomes a 0-dim tensor") {
  Val* a = IrBuilder::create<Val>(DataType::Double);
  fusion.addInput(a);
  inputs.emplace_back(PolymorphicValue(2.5));
  const HostTensor out = result(tensor(mul(a, number(2.0))));
  CHECK(out.sizes().empty());
  CHECK(out.getDouble(0) == 5);
}

TEST_CASE_FIXTURE(Run, "a schedule changes nothing") {
  TensorView* x = counting({3, 70});
  TensorView* y = sum(mul(x, x), {1});
  WelfordResult moments = Welford(x, {1});
  fusion.addOutput(y);
  fusion.addOutput(moments.avg);
  fusion.addOutput(moments.var_sum);
  fusion.addOutput(transpose(x, 0, 1));
  const std::vector<HostTensor> before = interpret(fusion, inputs);

  x->cacheAfter();
  fusion.outputs()[3]->as<TensorView>()->cacheBefore();
  y->split(1, 32);
  y->split(1, 2);
  TensorView* part = y->rFactor({1, 3});
  part->axis(0)->parallelize(ParallelType::BIDx);
  moments.avg->split(1, 16);
  moments.avg->rFactor({2}, {moments.avg, moments.var_sum, moments.n});
  const std::vector<HostTensor> after = interpret(fusion, inputs);
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(before[i].sizes() == after[i].sizes());
    for (int64_t e = 0; e < before[i].numel(); ++e) {
      CHECK(after[i].getDouble(e) == doctest::Approx(before[i].getDouble(e)).epsilon(1e-12));
    }
  }
}

TEST_CASE_FIXTURE(Run, "operands of different sizes are an error") {
  TensorView* x = counting({2, 3});
  TensorView* y = counting({2, 4});
  CHECK_THROWS_WITH_AS(result(add(x, y)), doctest::Contains("sizes"), UserError);
}

}  // namespace
}  // namespace nvfuser
