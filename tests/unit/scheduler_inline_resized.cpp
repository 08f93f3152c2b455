/// A padded axis is no axis of what is padded, even where a broadcast axis meets both.
#include <doctest/doctest.h>

#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/utils.h>

namespace nvfuser {
namespace {

TEST_CASE("inlining: no loop is shared across a pad, though one broadcast meets both sides") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  TensorView* one = makeConcreteTensor({1});
  fusion.addInput(x);
  fusion.addInput(one);
  TensorView* narrow = add(x, one);
  TensorView* wide = pad(narrow, {IrBuilder::create<Val>(PolymorphicValue(int64_t{3})),
                                  IrBuilder::create<Val>(PolymorphicValue(int64_t{2}))});
  TensorView* out = add(wide, neg(one));
  fusion.addOutput(out);
  out->split(0, 4);
  scheduler_utils::transformPropagateToAllFrom(out);
  inlineMost();
  CHECK(narrow->getComputeAtPosition() == 0);
  CHECK(wide->getComputeAtPosition() == 2);
}

}  // namespace
}  // namespace nvfuser
