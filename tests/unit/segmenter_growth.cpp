/// How much work cutting is for large Fusions: counted, not timed.
#include <segment_checks.h>
#include <segmenter/extract.h>

namespace nvfuser {
namespace {

TakesGroup takesUpTo(size_t most) {
  return [most](const Group& group) { return group.exprs.size() <= most; };
}

TEST_CASE("64 layers are at most 2.1 times the work of 32") {
  for (const TakesGroup& takes : {TakesGroup(takesTrees), takesUpTo(60), TakesGroup(takesAll)}) {
    SegmentCounts counts[2];
    for (int i = 0; i < 2; ++i) {
      Draft draft;
      defineLayers(draft, 32 << i);
      draft.cut(takes);
      counts[i] = draft.counts;
    }
    CAPTURE(counts[0].questions);
    CAPTURE(counts[1].questions);
    CHECK(counts[1].pairs <= counts[0].pairs * 21 / 10);
    CHECK(counts[1].walked <= counts[0].walked * 21 / 10 + 1000);
    CHECK(counts[1].questioned <= counts[0].questioned * 21 / 10 + 1000);
    // Layers of one form are asked about once.
    CHECK(counts[1].questions <= counts[0].questions + 40);
    CHECK(counts[1].questions <= 200);
  }
}

TEST_CASE("a ladder of shared subexpressions is one kernel after one question") {
  Draft draft;
  TensorView* a = draft.input({-1});
  for (int i = 0; i < 64; ++i) {
    a = add(sin(a), cos(a));
  }
  draft.output(a);
  CHECK(draft.cut(takesAll).size() == 1);
  CHECK(draft.counts.questions == 1);
  CHECK(draft.cut(takesUpTo(20)).size() <= 20);
  CHECK(draft.counts.pairs <= 20 * draft.counts.operations);
}

TEST_CASE("2,000 outputs of one input") {
  Draft draft;
  TensorView* x = draft.input({-1});
  for (int i = 0; i < 2000; ++i) {
    draft.output(add(x, IrBuilder::create<Val>(static_cast<double>(i))));
  }
  const size_t groups = draft.cut(takesAll).size();
  CHECK(groups >= 2000 / 255);
  CHECK(groups <= 2000 / 255 + 20);
  CHECK(draft.counts.pairs <= 20 * draft.counts.operations);
  CHECK(draft.counts.walked <= 100 * draft.counts.operations);
}

TEST_CASE("2,000 independent chains into one sum") {
  Draft draft;
  TensorView* total = draft.input({-1});
  TensorView* x = draft.input({-1});
  for (int i = 0; i < 1000; ++i) {
    total = add(total, mul(x, IrBuilder::create<Val>(static_cast<double>(i))));
  }
  draft.output(total);
  CHECK(draft.cut(takesAll).size() <= 6);
  CHECK(draft.counts.pairs <= 20 * draft.counts.operations);
}

TEST_CASE("a chain of 10,000 operations needs no recursion") {
  Draft draft;
  TensorView* x = draft.input({-1});
  for (int i = 0; i < 10000; ++i) {
    x = sin(x);
  }
  draft.output(x);
  const size_t groups = draft.cut(takesUpTo(100)).size();
  CHECK(groups >= 100);
  CHECK(groups <= 200);
  CHECK(draft.counts.pairs <= 20 * draft.counts.operations);
  CHECK(draft.counts.questioned <= 40 * draft.counts.operations);
}

TEST_CASE("a group's own Fusion has what the group needs, under the same names") {
  Draft draft;
  Val* scale = IrBuilder::create<Val>(DataType::Double);
  Val* other = IrBuilder::create<Val>(DataType::Double);
  draft.fusion.addInput(scale);
  draft.fusion.addInput(other);
  TensorView* x = mul(draft.input({-1, 6}), other);
  for (int i = 0; i < 50; ++i) {
    x = sin(x);
  }
  TensorView* y = mul(
      reshape(x, {IrBuilder::create<Val>(int64_t{-1}), IrBuilder::create<Val>(int64_t{3})}), scale);
  TensorView* z = sum(y, {1});
  draft.output(z);
  Group group;
  for (TensorView* tv : {y->definition()->input(0)->as<TensorView>(), y, z}) {
    group.exprs.push_back(tv->definition());
  }
  group.inputs = {x};
  group.outputs = {z};
  const ExtractedGroup part = extractGroup(draft.fusion, group);
  part.fusion->verify();
  CHECK(part.inputs == std::vector<const Val*>{scale, x});
  REQUIRE(part.fusion->inputs().size() == 2);
  CHECK(part.fusion->inputs()[1]->name() == x->name());
  CHECK(part.fusion->outputs()[0]->name() == z->name());
  CHECK(part.fusion->outputs()[0]->as<TensorView>()->definition()->name() ==
        z->definition()->name());
  CHECK(part.fusion->vals().size() < 60);
  CHECK(part.fusion->exprs().size() == 3);

  const ExtractedGroup whole = extractGroup(draft.fusion, wholeGroup(draft.fusion));
  CHECK(whole.fusion->exprs().size() == draft.fusion.exprs().size());
  CHECK(whole.fusion->mathString() == draft.fusion.mathString());
}

}  // namespace

TEST_CASE("selects and slices of an input are read where they are needed") {
  // Steps of a recurrence, in several kernels: none stores a part of an input for another.
  Draft draft;
  TensorView* x = draft.input({4096, 64, 32});
  TensorView* state = draft.input({4096, 32});
  for (int64_t step = 0; step < 64; ++step) {
    TensorView* part = select(x, 1, IrBuilder::create<Val>(step, DataType::Index));
    state = tanh(add(mul(state, part), part));
  }
  draft.output(state);
  const std::vector<Group> groups = draft.cut(takesUpTo(40));
  CHECK(groups.size() > 1);
  for (const Group& group : groups) {
    for (const TensorView* stored : group.outputs) {
      CHECK(!stored->definition()->isA<SelectOp>());
    }
  }
}

TEST_CASE("what kernels may compute again is asked about at once") {
  // Two kernels of hundreds of operations exchange hundreds of casts.
  Draft draft;
  std::vector<TensorView*> wide;
  TensorView* state = draft.input({4096, 32});
  for (int i = 0; i < 200; ++i) {
    state = tanh(state);
    wide.push_back(castOp(DataType::Double, state));
  }
  TensorView* total = castOp(DataType::Double, state);
  for (TensorView* each : wide) {
    total = sin(add(total, each));
  }
  draft.output(total);
  draft.cut(takesUpTo(450));
  CHECK(draft.counts.questions <= draft.counts.operations / 4);
  CHECK(draft.counts.questioned <= 40 * draft.counts.operations);
}

}  // namespace nvfuser
