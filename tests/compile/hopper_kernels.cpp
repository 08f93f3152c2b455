// Schedules for Hopper become its instructions, and ordinary ones before it.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include <codegen/generate.h>
#include <device_lower/lower.h>
#include <ops/all_ops.h>
#include <runtime/cuda/nvrtc.h>
#include <scheduler/utils.h>

using namespace nvfuser;
using enum ParallelType;

namespace {

using Instructions = std::vector<const char*>;

/// Checks the PTX of the kernel for `arch`.
void compiles(const std::function<void(Fusion&)>& define, const char* arch, int capability,
              const Instructions& has, const Instructions& has_not) {
  CAPTURE(arch);
  Fusion fusion;
  FusionGuard guard(&fusion);
  define(fusion);
  LowerOptions options;
  options.compute_capability = capability;
  options.dependent_launch = true;
  options.verify = true;
  Lowering lowering = lower(&fusion, options);
  lowering.kernel.name = std::string("k");
  const GeneratedKernel generated = generateCuda(lowering.kernel);
  CAPTURE(generated.ownText());
  const std::string ptx = cuda::compileToCubin(generated.text, "k.cu", arch).ptx;
  for (const char* instruction : has) {
    CHECK_MESSAGE(ptx.find(instruction) != std::string::npos, instruction);
  }
  for (const char* instruction : has_not) {
    CHECK_MESSAGE(ptx.find(instruction) == std::string::npos, instruction);
  }
}

/// Tiles of 16 x 32 floats, swizzled, that threads of their own load.
void turnedTiles(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* body = neg(x);
  TensorView* out = set(body);
  fusion.addOutput(out);
  TensorView* tile = x->cacheAfter(LoadStoreOpType::CpAsyncBulkTensorTile);
  tile->setMemoryType(MemoryType::Shared);
  body->setMemoryType(MemoryType::Shared);
  for (TensorView* tv : {tile, body, out}) {
    tv->split(1, 32)->split(0, 16);
    tv->reorder({{1, 2}, {2, 1}});
    tv->axis(0)->parallelize(BIDx);
  }
  body->split(2, 8);
  body->axis(2)->parallelize(Serial);
  body->axis(3)->parallelize(TIDy);
  body->axis(4)->parallelize(TIDx);
  tile->applyMmaSwizzleForTMALoad(MmaInputSmemSwizzle::B128);
  out->axis(2)->parallelize(Bulk);
  out->axis(3)->parallelize(Bulk);
  tile->inlineAt(2);
  body->inlineAt(2);
  tile->circularBuffer(3, 2, WarpSpecialized(TIDy, {152, 168}));
}

}  // namespace

TEST_CASE("hopper: boxes, roles, registers and dependent launches are its instructions") {
  const Instructions of_sm90{
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
      "bar.sync 1, 256",
      "bar.sync 2, 128",
      "mbarrier.arrive.shared::cta",
      "griddepcontrol.wait",
      "griddepcontrol.launch_dependents",
  };
  Instructions of_sm90a = of_sm90;
  of_sm90a.insert(of_sm90a.end(),
                  {"setmaxnreg.inc.sync.aligned.u32 168", "setmaxnreg.dec.sync.aligned.u32 152"});
  compiles(turnedTiles, "sm_90a", 90, of_sm90a, {});
  compiles(turnedTiles, "sm_90", 90, of_sm90, {"setmaxnreg"});
  compiles(turnedTiles, "sm_80", 80, {"bar.sync"},
           {"cp.async.bulk", "bar.sync 1", "mbarrier", "griddepcontrol", "setmaxnreg"});
}
