#include <external/attention.h>
#include <external/communication.h>
#include <external/lanes.h>
#include <external/product.h>

namespace nvfuser::external {

void runPortable(const Call& call) {
  if (call.op->isOneOf<MatmulOp, LinearOp>()) {
    return multiply(productOf(call), *call.machine);
  }
  if (call.op->isA<CommunicationOp>()) {
    return runCommunication(call);
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
  if (call.op->isA<SdpaFwdOp>()) {
    return runAttention(call);
  }
  if (call.op->isA<SdpaBwdOp>()) {
    return runAttentionBackward(call);
  }
  if (call.op->isA<ScaledMmaOp>()) {
    return runScaledProduct(call);
  }
  if (call.op->isA<GroupedMmaOp>()) {
    return runGroupedProduct(call);
  }
  check(call.op->isA<ScatterOp>(), "an external operation has no portable code");
  runScatter(call);
}

}  // namespace nvfuser::external
