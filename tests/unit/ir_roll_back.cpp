// Fusion::rollBack: what was defined since a mark is gone, and the rest is as it was.
#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ops/all_ops.h>

using namespace nvfuser;

namespace {

TensorView* input(Fusion& fusion) {
  TensorView* tv = TensorViewBuilder().ndims(2).dtype(DataType::Float).build();
  fusion.addInput(tv);
  return tv;
}

}  // namespace

TEST_CASE("fusion: rolled back, a fusion is as it was at the mark") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* tv = input(fusion);
  TensorView* kept = exp(tv);
  const std::string before = fusion.toString();
  const Fusion::Mark mark = fusion.mark();
  TensorView* sums = sum(mul(kept, kept), {0});
  fusion.addOutput(sums);
  fusion.aliasOutputToInput(add(tv, tv), tv, AllocationType::ReuseBuffer);
  fusion.zeroVal(DataType::Int32);  // a constant that the fusion keeps one of
  fusion.rollBack(mark);
  CHECK(fusion.toString() == before);
  CHECK(static_cast<size_t>(fusion.numVals()) == mark.vals);
  CHECK(static_cast<size_t>(fusion.numExprs()) == mark.exprs);
  CHECK(fusion.outputs().empty());
  CHECK(fusion.getOutputAliases().empty());
  CHECK(kept->uses().empty());
  CHECK(tv->uses().size() == 1);
}

TEST_CASE("fusion: what is defined after a roll back has the names that it would have had") {
  auto define = [](bool fails_first) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    TensorView* tv = input(fusion);
    if (fails_first) {
      const Fusion::Mark mark = fusion.mark();
      exp(add(tv, fusion.oneVal(DataType::Int)));
      fusion.rollBack(mark);
    }
    fusion.addOutput(sum(add(tv, fusion.oneVal(DataType::Int)), {1}));
    fusion.verify();
    return fusion.toString();
  };
  CHECK(define(true) == define(false));
}
