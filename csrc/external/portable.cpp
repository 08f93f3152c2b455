#include <external/lanes.h>
#include <external/product.h>

namespace nvfuser::external {

void runPortable(const Call& call) {
  if (call.op->isOneOf<MatmulOp, LinearOp>()) {
    return multiply(productOf(call), *call.machine);
  }
  if (call.op->isA<ScanOp>()) {
    return runScan(call);
  }
  if (call.op->isA<ArgsortOp>()) {
    return runArgsort(call);
  }
  if (call.op->isA<TopKOp>()) {
    return runTopK(call);
  }
  check(call.op->isA<ScatterOp>(), "an external operation has no portable code");
  runScatter(call);
}

}  // namespace nvfuser::external
