// Scatters within kernels, with what computes their entries and what reads their results, against
// the reference.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

TensorView* concrete(Fusion& fusion, const std::vector<int64_t>& sizes, DataType dtype) {
  TensorView* tv = makeContigConcreteTensor(sizes, dtype);
  fusion.addInput(tv);
  return tv;
}

/// Places from 0 to `extent`, drawn from numbers.
TensorView* places(TensorView* drawn, int64_t extent) {
  TensorView* whole = castOp(DataType::Int, mul(drawn, IrBuilder::create<Val>(1e4)));
  return remainder(whole, IrBuilder::create<Val>(extent));
}

/// Every seventh place of `extent`, which 7 does not divide, around and around.
TensorView* distinctPlaces(int64_t count, int64_t extent) {
  TensorView* steps = iota(IrBuilder::create<Val>(count), IrBuilder::create<Val>(int64_t{3}),
                           IrBuilder::create<Val>(int64_t{7}), DataType::Int);
  return remainder(steps, IrBuilder::create<Val>(extent));
}

/// As long as `entries`, along `dim`.
TensorView* alongAxis(TensorView* index, TensorView* entries, int64_t dim) {
  std::vector<bool> is_new(static_cast<size_t>(entries->nDims()), true);
  is_new[static_cast<size_t>(dim)] = false;
  return expand_as(broadcast(index, is_new), entries);
}

struct Case {
  std::vector<int64_t> target;
  int64_t dim;
  int64_t entries;
};

/// x + scatter(x · 2, places(k), v · v) along an axis: one kernel.
void checkKernel(const Case& c, DataType dtype, std::optional<BinaryOpType> type) {
  std::vector<int64_t> of_entries = c.target;
  of_entries[static_cast<size_t>(c.dim)] = c.entries;
  check(
      [&](Fusion& fusion) {
        TensorView* x = concrete(fusion, c.target, dtype);
        TensorView* v = concrete(fusion, of_entries, dtype);
        TensorView* k = concrete(fusion, {c.entries}, DataType::Float);
        const int64_t extent = c.target[static_cast<size_t>(c.dim)];
        // Where nothing is combined, threads may write in any order.
        TensorView* index = type ? places(k, extent) : distinctPlaces(c.entries, extent);
        TensorView* entries = mul(v, v);
        TensorView* twice = mul(x, IrBuilder::create<Val>(2.0, dtype));
        fusion.addOutput(
            add(x, scatter(twice, c.dim, alongAxis(index, entries, c.dim), entries, type)));
      },
      {{{c.target, dtype}, {of_entries, dtype}, {{c.entries}, DataType::Float}}}, "scatter");
}

}  // namespace

TEST_CASE("scatters: any axis, rows and points, one task and several") {
  for (const Case& c :
       {Case{{7}, 0, 40}, Case{{300}, 0, 5000}, Case{{9, 3}, 0, 50}, Case{{9, 8}, 0, 33},
        Case{{40, 96}, 0, 2000}, Case{{16, 50}, 1, 3000}, Case{{5, 6, 7}, 1, 12},
        Case{{5, 6, 17}, 1, 12}, Case{{8, 6, 40}, 1, 300}, Case{{3, 4, 5, 6}, 2, 30}}) {
    CAPTURE(text(join(c.target, " "), ", axis ", c.dim, ", ", c.entries, " entries"));
    checkKernel(c, DataType::Float, BinaryOpType::Add);
  }
}

TEST_CASE("scatters: dtypes and what combines") {
  for (DataType dtype : {DataType::Float, DataType::Double}) {
    for (BinaryOpType type : {BinaryOpType::Add, BinaryOpType::Max, BinaryOpType::Min}) {
      checkKernel({{50, 12}, 0, 400}, dtype, type);
      checkKernel({{50}, 0, 400}, dtype, type);
    }
    checkKernel({{50, 12}, 0, 60}, dtype, BinaryOpType::Mul);
    checkKernel({{2000}, 0, 300}, dtype, std::nullopt);
  }
}

TEST_CASE("scatters: blocks add up entries of a few elements, at any and at sorted places") {
  for (DataType dtype : {DataType::Float, DataType::Double, DataType::Int, DataType::Int32}) {
    CAPTURE(dtype);
    checkKernel({{6}, 0, 6000}, dtype, BinaryOpType::Add);
    checkKernel({{13, 5}, 0, 4500}, dtype, BinaryOpType::Add);
    checkKernel({{3, 64}, 0, 1200}, dtype, BinaryOpType::Add);
    check(
        [&](Fusion& fusion) {
          TensorView* v = concrete(fusion, {8192}, dtype);
          TensorView* order =
              iota(IrBuilder::create<Val>(int64_t{8192}), IrBuilder::create<Val>(int64_t{0}),
                   IrBuilder::create<Val>(int64_t{1}), DataType::Int);
          TensorView* index = div(order, IrBuilder::create<Val>(int64_t{1000}));
          TensorView* zeros = full({IrBuilder::create<Val>(int64_t{9})},
                                   IrBuilder::create<Val>(int64_t{0}, dtype), dtype);
          fusion.addOutput(neg(scatter(zeros, 0, index, v, BinaryOpType::Add)));
        },
        {{{{8192}, dtype}}}, "scatter");
  }
}

TEST_CASE("scatters: results of several scatters, and of what they are read with, are kernels") {
  check(
      [](Fusion& fusion) {
        TensorView* v = concrete(fusion, {500}, DataType::Float);
        TensorView* k = concrete(fusion, {500}, DataType::Float);
        TensorView* zeros = full({IrBuilder::create<Val>(int64_t{40})}, IrBuilder::create<Val>(0.0),
                                 DataType::Float);
        TensorView* index = places(k, 40);
        TensorView* total = scatter(zeros, 0, index, mul(v, v), BinaryOpType::Add);
        TensorView* share = div(v, add(gather(total, 0, index), IrBuilder::create<Val>(1.0)));
        fusion.addOutput(share);
        fusion.addOutput(sqrt(scatter(zeros, 0, index, abs(share), BinaryOpType::Add)));
      },
      {{{{500}}, {{500}}}}, "scatter", 2);
}

// What message passing is made of: x[node, column], edges from `source` to `target`.
TEST_CASE("scatters: messages along edges are one kernel") {
  for (int64_t width : {1, 3, 8, 19, 64}) {
    CAPTURE(width);
    check(
        [&](Fusion& fusion) {
          TensorView* x = concrete(fusion, {37, width}, DataType::Float);
          TensorView* weight = concrete(fusion, {301}, DataType::Float);
          TensorView* k = concrete(fusion, {301}, DataType::Int);
          TensorView* source = remainder(k, IrBuilder::create<Val>(int64_t{37}));
          TensorView* target = remainder(add(k, IrBuilder::create<Val>(int64_t{11})),
                                         IrBuilder::create<Val>(int64_t{37}));
          TensorView* sent = relu(mul(indexSelect(x, 0, source), broadcast(weight, {false, true})));
          TensorView* zeros = full_like(x, IrBuilder::create<Val>(0.0));
          fusion.addOutput(
              add(x, scatter(zeros, 0, alongAxis(target, sent, 0), sent, BinaryOpType::Add)));
        },
        {{{{37, width}}, {{301}}, {{301}, DataType::Int}}}, "scatter");
  }
}

TEST_CASE(
    "scatters: exact numerics leave sums of floats to what has an order, not those of numbers") {
  const OptionsGuard guard(Options::current().enable("exact_numerics"));
  for (DataType dtype : {DataType::Float, DataType::Int}) {
    CAPTURE(dtype);
    Program program(
        [&](Fusion& fusion) {
          TensorView* x = concrete(fusion, {50}, dtype);
          TensorView* v = concrete(fusion, {400}, dtype);
          TensorView* k = concrete(fusion, {400}, DataType::Float);
          fusion.addOutput(scatter(x, 0, places(k, 50), v, BinaryOpType::Add));
        },
        emulatedDevice());
    const KernelArgumentHolder arguments =
        makeInputs({{{50}, dtype}, {{400}, dtype}, {{400}}}, emulatedDevice());
    testValidate(program.cache().fusion(), program.cache().runFusionWithInputs(arguments),
                 arguments, __LINE__, __FILE__);
    CHECK(program.scheduledBy("scatter") == (dtype == DataType::Int));
  }
}

TEST_CASE("scatters: sums divided by how many edges end at a node are two kernels") {
  check(
      [](Fusion& fusion) {
        TensorView* x = concrete(fusion, {37, 16}, DataType::Float);
        TensorView* k = concrete(fusion, {301}, DataType::Int);
        Val* nodes = IrBuilder::create<Val>(int64_t{37});
        TensorView* source = remainder(k, nodes);
        TensorView* target = remainder(add(k, IrBuilder::create<Val>(int64_t{11})), nodes);
        TensorView* zeros = full({nodes}, IrBuilder::create<Val>(0.0), DataType::Float);
        TensorView* ones = full_like(k, IrBuilder::create<Val>(1.0), DataType::Float);
        TensorView* degree = scatter(zeros, 0, target, ones, BinaryOpType::Add);
        TensorView* scale = rsqrt(add(degree, IrBuilder::create<Val>(1.0)));
        TensorView* both = mul(indexSelect(scale, 0, source), indexSelect(scale, 0, target));
        TensorView* sent = mul(indexSelect(x, 0, source), broadcast(both, {false, true}));
        TensorView* none = full_like(x, IrBuilder::create<Val>(0.0));
        fusion.addOutput(scatter(none, 0, alongAxis(target, sent, 0), sent, BinaryOpType::Add));
      },
      {{{{37, 16}}, {{301}, DataType::Int}}}, "scatter", 2);
}
