// What the CPU keeps of a row between its passes: exponentials, as long as a core's own cache (of
// which a task may use half) has them; what costs little is computed again.
#include <doctest/doctest.h>

#include "planned.h"
#include <ops/all_ops.h>
#include <scheduler/persistent/persistent.h>

using namespace nvfuser;

namespace {

std::string planned(int64_t row, DataType dtype, bool exponentials) {
  auto define = [=](Fusion& fusion) {
    TensorView* x = makeContigTensor(2, dtype);
    fusion.addInput(x);
    TensorView* wide = castOp(DataType::Float, x);
    TensorView* result =
        exponentials ? softmax(wide, 1) : sub(wide, broadcast(max(wide, {1}), {false, true}));
    fusion.addOutput(castOp(dtype, result));
  };
  return nvfuser::planned(innerPersistentScheduler(), define, {{{16, row}}, true});
}

bool isComputedAgain(const std::string& plan) {
  CAPTURE(plan);
  CHECK(plan.find("on the host") != std::string::npos);
  return plan.find("computed again from inputs") != std::string::npos;
}

}  // namespace

TEST_CASE("persistent scheduler: the CPU keeps exponentials that its L2 has room for") {
  const int64_t room = emulatedDevice().properties().shared_bytes_per_block / 4;
  for (DataType dtype : {DataType(DataType::Float), DataType(DataType::BFloat16)}) {
    CHECK_FALSE(isComputedAgain(planned(1000, dtype, true)));
    CHECK_FALSE(isComputedAgain(planned(room, dtype, true)));
    CHECK(isComputedAgain(planned(room + 1, dtype, true)));
    CHECK(isComputedAgain(planned(1000, dtype, false)));
  }
}
