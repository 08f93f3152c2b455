// What the schedulers of reductions find out about a Fusion, and what they refuse.
#include <doctest/doctest.h>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/analysis/reductions.h>
#include <scheduler/persistent/persistent.h>
#include <scheduler/reduction/reduction.h>

using namespace nvfuser;

namespace {

struct Analysis {
  explicit Analysis(const Fusion& fusion)
      : permissive(fusion, IdGraph::Mode::Permissive),
        signature(std::get<ReductionSignature>(reductionSignature(fusion, permissive))),
        buffers(fusion, permissive, signature) {}
  IdGraph permissive;
  ReductionSignature signature;
  PersistentBuffers buffers;
};

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

bool says(const std::optional<Refusal>& refusal, std::string_view part) {
  return refusal && refusal->why.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("reductions: one signature or a refusal that names both") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* rows = sum(x, {1});
  fusion.addOutput(rows);
  fusion.addOutput(max(exp(x), {1}));
  {
    const IdGraph graph(fusion, IdGraph::Mode::Permissive);
    const auto found = reductionSignature(fusion, graph);
    const auto& signature = std::get<ReductionSignature>(found);
    CHECK(signature.reductions.size() == 2);
    CHECK(signature.reduced.size() == 1);
    CHECK(signature.kept.size() == 1);
    CHECK(signature.source() == x);
    CHECK(signature.spansReduced(x, graph));
    CHECK(!signature.spansReduced(rows, graph));
  }
  TensorView* columns = sum(x, {0});
  fusion.addOutput(columns);
  const IdGraph graph(fusion, IdGraph::Mode::Permissive);
  const auto found = reductionSignature(fusion, graph);
  const std::string why = std::get<Refusal>(found).why;
  CHECK(why.find(text("T", columns->name())) != std::string::npos);
  CHECK(why.find("different axes") != std::string::npos);
}

TEST_CASE("persistent buffers: places, bytes held and computed again") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2, DataType::BFloat16);
  TensorView* wide = castOp(DataType::Float, x);
  TensorView* top = max(wide, {1});
  TensorView* e = exp(sub(wide, broadcast(top, {false, true})));
  TensorView* total = sum(e, {1});
  TensorView* y = div(e, broadcast(total, {false, true}));
  fusion.addOutput(castOp(DataType::BFloat16, y));
  const Analysis analysis(fusion);
  CHECK(analysis.buffers.places() == 3);
  CHECK(analysis.buffers.placeOf(top->definition()) == 0);
  CHECK(analysis.buffers.placeOf(total->definition()) == 1);
  CHECK(analysis.buffers.placeOf(y->definition()) == 2);
  CHECK(analysis.buffers.held() == std::vector<TensorView*>{wide, e});
  CHECK(analysis.buffers.bytesHeld(DataType::Int) == 4);
  CHECK(analysis.buffers.bytesProjected(DataType::Int) == 2);
  CHECK(analysis.buffers.notRecomputable() == nullptr);
  CHECK(analysis.buffers.expensiveRepeated() == 1);

  projectToInputs(&fusion, false);
  fusion.verify();
  const Analysis projected(fusion);
  CHECK(projected.buffers.held() == std::vector<TensorView*>{x});
}

TEST_CASE("persistent buffers: random numbers are not drawn again") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = input(fusion, 2);
  TensorView* dropped = dropout(x, IrBuilder::create<Val>(0.5)).output;
  fusion.addOutput(div(dropped, broadcast(sum(dropped, {1}), {false, true})));
  const Analysis analysis(fusion);
  REQUIRE(analysis.buffers.notRecomputable() != nullptr);
  CHECK(analysis.buffers.notRecomputable()->definition()->isA<RNGOp>());
}

TEST_CASE("reduction schedulers: who takes what") {
  Fusion sums;
  {
    FusionGuard guard(&sums);
    TensorView* x = input(sums, 2);
    TensorView* y = relu(x);
    sums.addOutput(y);
    sums.addOutput(sum(y, {1}));
  }
  CHECK(!reductionScheduler().refusesForm(sums));
  CHECK(says(innerPersistentScheduler().refusesForm(sums), "nothing is needed both before"));

  Fusion norm;
  {
    FusionGuard guard(&norm);
    norm.addOutput(softmax(input(norm, 2), 1));
  }
  CHECK(says(reductionScheduler().refusesForm(norm), "needed both before and behind"));
  CHECK(!innerPersistentScheduler().refusesForm(norm));
  CHECK(!outerPersistentScheduler().refusesForm(norm));

  Fusion turned;
  {
    FusionGuard guard(&turned);
    TensorView* x = input(turned, 2);
    turned.addOutput(sum(add(x, transpose(x, 0, 1)), {1}));
  }
  CHECK(says(reductionScheduler().refusesForm(turned), "not read at the element"));

  Fusion repeated;
  {
    FusionGuard guard(&repeated);
    TensorView* x = neg(input(repeated, 1));
    TensorView* row = reshape(repeat(broadcast(x, {true, false}), {3, 1}), {3, 13}, {39});
    repeated.addOutput(sub(x, broadcast(max(row, {0}), {true})));
  }
  CHECK(says(reductionScheduler().refusesForm(repeated), "has a row of other elements"));

  Fusion plain;
  {
    FusionGuard guard(&plain);
    plain.addOutput(exp(input(plain, 2)));
  }
  CHECK(says(reductionScheduler().refusesForm(plain), "nothing is reduced"));
}
