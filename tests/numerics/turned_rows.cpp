// Rows of a constant few elements, which the CPU takes as lanes
// (scheduler/reduction/turned_rows.h): of each length to 66, in each dtype; results of rows, of
// whole rows, and of both; weights, numbers of a row, several axes of either kind; and what is left
// to loops along rows.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

const std::vector<DataType> kDtypes{DataType::Float, DataType::Double, DataType::Half,
                                    DataType::BFloat16};

/// Rows of constant sizes, as many of them as the call has.
TensorView* rows(Fusion& fusion, const std::vector<int64_t>& row, DataType dtype,
                 int64_t kept = 1) {
  std::vector<int64_t> sizes(static_cast<size_t>(kept), -1);
  sizes.insert(sizes.end(), row.begin(), row.end());
  TensorView* tv = makeContigConcreteTensor(sizes, dtype);
  fusion.addInput(tv);
  return tv;
}

bool isTurned(Program& program) {
  return program.cache().report().find("rows turned") != std::string::npos;
}

Define softmaxOf(int64_t length, DataType dtype) {
  return [=](Fusion& fusion) {
    output(fusion, softmax(wide(rows(fusion, {length}, dtype)), 1), dtype);
  };
}

/// Mean, variance, greatest and least, beside the row that is normalised and has weights.
Define statisticsOf(int64_t length, DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(rows(fusion, {length}, dtype));
    TensorView* weight = wide(rows(fusion, {length}, dtype, 0));
    TensorView* scale = wide(input(fusion, 1, dtype));
    const VarMeanResult of = variance_mean(x, {1}, 0, true);
    TensorView* normal = mul(sub(x, of.mean), rsqrt(add(of.var, IrBuilder::create<Val>(1e-3))));
    output(fusion, mul(mul(normal, weight), broadcast(tanh(scale), {false, true})), dtype);
    output(fusion, sub(max(x, {1}), min(x, {1})), dtype);
    fusion.addOutput(of.mean);
  };
}

}  // namespace

TEST_CASE("turned rows: softmax of rows of each length") {
  for (int64_t length = 2; length <= 66; length += length < 20 ? 1 : 7) {
    CAPTURE(length);
    for (Device* device : testDevices()) {
      Program program(softmaxOf(length, DataType::Float), *device);
      for (int64_t number : {64, 79, 160, 1001}) {
        program.run({{{number, length}}});
        const bool on_cpu = device->kind() == DeviceKind::Cpu;
        CHECK_MESSAGE((isTurned(program) || !on_cpu || length > 32), program.cache().report());
      }
      program.run({{{3, length}}});  // too few
      CHECK_FALSE(isTurned(program));
      program.run({{{0, length}}});
    }
  }
}

TEST_CASE("turned rows: statistics, weights and numbers of rows in each dtype") {
  for (const DataType& dtype : kDtypes) {
    CAPTURE(DataType(dtype));
    for (int64_t length : {5, 8, 10, 17, 32}) {
      CAPTURE(length);
      Program program(statisticsOf(length, dtype), cpuDevice());
      for (int64_t number : {65, 192, 500}) {
        program.run({{{number, length}, dtype}, {{length}, dtype}, {{number}, dtype}});
        CHECK_MESSAGE(isTurned(program), program.cache().report());
      }
    }
  }
}

TEST_CASE("turned rows: axes of either kind as one") {
  Program program(
      [](Fusion& fusion) {
        TensorView* x = rows(fusion, {5, 6}, DataType::Float, 2);
        TensorView* total = broadcast(sum(exp(x), {2, 3}), {false, false, true, true});
        fusion.addOutput(log(total));
        fusion.addOutput(div(exp(x), total));
      },
      cpuDevice());
  program.run({{{5, 31, 5, 6}}});
  CHECK_MESSAGE(isTurned(program), program.cache().report());
}

TEST_CASE("turned rows: sums of integers and of comparisons") {
  Program program(
      [](Fusion& fusion) {
        TensorView* x = rows(fusion, {11}, DataType::Float);
        fusion.addOutput(sum(gt(x, IrBuilder::create<Val>(0.5)), {1}));
        fusion.addOutput(max(x, {1}));
        fusion.addOutput(sum(castOp(DataType::Int, mul(x, IrBuilder::create<Val>(10.0))), {1}));
      },
      cpuDevice());
  program.run({{{300, 11}}});
}

TEST_CASE("turned rows: what is no run of memory, or has rows for some of them, is left alone") {
  const Define both = [](Fusion& fusion) {
    TensorView* x = rows(fusion, {10}, DataType::Float, 2);
    TensorView* y = TensorViewBuilder().ndims(3).shape({1, -1, 10}).contiguity(true).build();
    fusion.addInput(y);
    fusion.addOutput(softmax(add(x, y), 2));
  };
  Program program(both, cpuDevice());
  program.run({{{8, 20, 10}}, {{1, 20, 10}}});
  CHECK_FALSE(isTurned(program));

  Program strided(
      [](Fusion& fusion) {
        TensorView* x = TensorViewBuilder().ndims(2).shape({-1, 10}).contiguity(false).build();
        fusion.addInput(x);
        fusion.addOutput(softmax(x, 1));
      },
      cpuDevice());
  strided.run({{{200, 10}, DataType::Float, {16, 1}}});
  CHECK_FALSE(isTurned(strided));
  strided.run({{{200, 10}, DataType::Float, {1, 200}}});
}
