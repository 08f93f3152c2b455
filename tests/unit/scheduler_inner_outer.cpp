// What the scheduler of norm gradients takes and plans.
#include <doctest/doctest.h>

#include "planned.h"
#include <id_model/id_graph.h>
#include <ops/all_ops.h>
#include <scheduler/analysis/reductions.h>
#include <scheduler/persistent/inner_outer.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

std::function<void(Fusion&)> rmsGradients(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* dy = input(fusion, 2, dtype);
    TensorView* x = input(fusion, 2, dtype);
    TensorView* rstd = broadcast(input(fusion, 1), {false, true});
    TensorView* w = input(fusion, 1, dtype);
    auto result = rms_norm_backward(dy, x, std::vector<int64_t>{-1}, rstd, w, {true, true});
    fusion.addOutput(castOp(dtype, result.grad_input));
    fusion.addOutput(castOp(dtype, result.grad_weight));
  };
}

std::string planned(const std::function<void(Fusion&)>& define, const Call& call) {
  return planned(innerOuterPersistentScheduler(), define, call);
}

Call rows(int64_t count, int64_t length, bool host = false) {
  return {{{count, length}, {count, length}, {count}, {length}}, host};
}

}  // namespace

TEST_CASE("inner-outer scheduler: rows, registers and resident blocks") {
  const auto bf16 = rmsGradients(DataType::BFloat16);
  has(planned(bf16, rows(16384, 4096)),
      "computed again from inputs, V 8, batches 1, warps 16, rows 1");
  has(planned(bf16, rows(32768, 2048)), "V 8, batches 1, warps 8, rows 2, grid 264, blocks 2");
  has(planned(bf16, rows(8192, 12288)), "V 8, batches 3, warps 16, rows 1, grid 132, blocks 1");
  // Short rows: several in a block.
  has(planned(bf16, rows(131072, 256)), "V 8, batches 1, warps 1, rows 16");
  // Odd rows: no vectors, more of them.
  has(planned(bf16, rows(8192, 5121)), "V 1, batches 12, warps 16");
  // Few rows: no block without one.
  has(planned(bf16, rows(40, 4096)), "grid 32");
}

TEST_CASE("inner-outer scheduler: what is refused, with a reason") {
  const auto f32 = rmsGradients(DataType::Float);
  has(planned(f32, rows(64, 65536)), "refused: rows of 65536 elements do not fit registers");
  has(planned(f32, rows(64, 512, true)), "refused: tasks of the CPU cannot wait for each other");
  has(planned(f32, rows(0, 512)), "refused: there is nothing to reduce");
  auto softmax_alone = [](Fusion& fusion) { fusion.addOutput(softmax(input(fusion, 2), 1)); };
  has(planned(softmax_alone, {{{64, 64}}}), "form: all reductions are over the same axes");
  auto two_sums = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    fusion.addOutput(sum(x, {0}));
    fusion.addOutput(sum(x, {1}));
  };
  has(planned(two_sums, {{{64, 64}}}), "form: nothing is needed both before and behind");
  auto crossed = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* rows_gone = sub(x, broadcast(sum(x, {1}), {false, true}));
    fusion.addOutput(sub(rows_gone, broadcast(sum(x, {0}), {true, false})));
  };
  has(planned(crossed, {{{64, 64}}}), "form: T");
  auto three_axes = [](Fusion& fusion) {
    TensorView* x = input(fusion, 3);
    fusion.addOutput(sub(x, broadcast(sum(x, {2}), {false, false, true})));
    fusion.addOutput(sum(x, {0}));
  };
  has(planned(three_axes, {{{4, 4, 4}}}), "neither over the same axes nor over each other's");
}

TEST_CASE("inner-outer scheduler: rows that are reshaped, in another order in memory") {
  // The rows lie along the input's first axis.
  auto of_columns = [](Fusion& fusion) {
    TensorView* x = permute(input(fusion, 2), std::vector<int64_t>{1, 0});
    TensorView* scale = reshape(input(fusion, 2), {8, 8}, {64});
    TensorView* scaled = mul(x, broadcast(scale, {false, true}));
    fusion.addOutput(sub(scaled, broadcast(sum(scaled, {1}), {false, true})));
    fusion.addOutput(sum(scaled, {0}));
  };
  has(planned(of_columns, {{{64, 64}, {8, 8}}}), "is not reduced over the innermost axes");
  // The input again behind itself is no row of the threads that hold it once.
  auto rows_twice = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* twice = repeat(broadcast(x, {true, false, false}), {2, 1, 1});
    TensorView* flat = reshape(twice, {2, 64, 64}, {128, 64});
    fusion.addOutput(sub(flat, broadcast(sum(x, {0}), {true, false})));
    fusion.addOutput(sum(x, {1}));
  };
  has(planned(rows_twice, {{{64, 64}}}), "has no columns behind the sums of its rows");
}

TEST_CASE("inner-outer scheduler: rows selected of a tensor that has others beside them") {
  auto of_one_half = [](Fusion& fusion) {
    TensorView* x = input(fusion, 3);
    TensorView* both = makeContigConcreteTensor({4, 8, 32});
    fusion.addInput(both);
    TensorView* half =
        select(reshape(both, {4, 8, 32}, {4, 2, 4, 32}), 1, IrBuilder::create<Val>(1L));
    TensorView* scaled = mul(x, half);
    fusion.addOutput(sub(scaled, broadcast(sum(scaled, {2}), {false, false, true})));
    fusion.addOutput(sum(scaled, {0, 1}));
  };
  has(planned(of_one_half, {{{4, 4, 32}, {4, 8, 32}}}), ", that no reduction has");
}

TEST_CASE("inner-outer scheduler: the inner reductions are those that rows read") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* columns = sum(x, {0});
  TensorView* of_row = sum(x, {1});
  fusion.addOutput(mul(columns, columns));
  fusion.addOutput(sub(x, broadcast(of_row, {false, true})));
  const IdGraph permissive(fusion, IdGraph::Mode::Permissive);
  const auto found = std::get<InnerOuterReductions>(innerOuterReductions(fusion, permissive));
  CHECK(found.inner.reductions == std::vector<Expr*>{of_row->definition()});
  CHECK(found.outer == std::vector<Expr*>{columns->definition()});
  CHECK(found.tail.size() == 1);
}
