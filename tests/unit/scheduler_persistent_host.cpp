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

bool holds(const std::string& plan, const std::string& what) {
  CAPTURE(plan);
  CHECK(plan.find("on the host") != std::string::npos);
  CHECK(plan.find("computed again from inputs") != std::string::npos);
  return plan.find(what) != std::string::npos;
}

std::string normPlanned(int64_t row) {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    const VarMeanResult of = variance_mean(x, {1}, 0, true);
    fusion.addOutput(mul(sub(x, of.mean), rsqrt(of.var)));
  };
  return nvfuser::planned(innerPersistentScheduler(), define, {{{16, row}}, true});
}

}  // namespace

TEST_CASE("persistent scheduler: the CPU keeps exponentials that its L2 has room for") {
  const int64_t room = emulatedDevice().properties().shared_bytes_per_block / 4;
  for (DataType dtype : {DataType(DataType::Float), DataType(DataType::BFloat16)}) {
    const std::string kept = "and exponentials";
    CHECK(holds(planned(1000, dtype, true), kept));
    CHECK(holds(planned(room, dtype, true), kept));
    CHECK_FALSE(holds(planned(room + 1, dtype, true), kept));
  }
}

TEST_CASE(
    "persistent scheduler: the CPU computes variances in two passes of what its caches have") {
  const int64_t cache = emulatedDevice().properties().l2_bytes;
  CHECK(holds(normPlanned(1000), "moments in passes"));
  CHECK(holds(normPlanned(cache / 8), "moments in passes"));
  CHECK_FALSE(holds(normPlanned(cache / 8 + 1), "moments in passes"));
}
