// Which integers no plan depends on.
#include <doctest/doctest.h>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/free_integers.h>

using namespace nvfuser;

TEST_CASE("free integers: those that are computed with, not those that sizes or others take") {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = makeContigTensor(1);
  fusion.addInput(x);
  const auto integer = [&] {
    Val* made = IrBuilder::create<Val>(DataType::Int);
    fusion.addInput(made);
    return made;
  };
  Val* added = integer();
  Val* seed = integer();
  Val* offset = integer();
  Val* size = integer();
  Val* of_size = integer();
  Val* place = integer();
  Val* compared = integer();
  Val* divisor = integer();
  Val* real = IrBuilder::create<Val>(DataType::Double);
  fusion.addInput(real);
  Val* one = IrBuilder::create<Val>(int64_t{1});
  fusion.addOutput(add(mul(x, real), add(added, one)));
  fusion.addOutput(rand({IrBuilder::create<Val>(int64_t{8})}, DataType::Float, seed, offset));
  fusion.addOutput(full({size, add(of_size, one)}, added, DataType::Int));
  fusion.addOutput(select(x, 0, place));
  fusion.addOutput(add(x, mod(added, divisor)));  // an error, if it is 0
  // One element has this many: a size that no axis shows.
  fusion.addOutput(squeeze(reshape(select(x, 0, one), {compared}), {0}));
  const std::vector<bool> expected{false, false, true,  true,  false,
                                   false, false, false, false, false};
  CHECK(freeIntegers(fusion) == expected);
}
