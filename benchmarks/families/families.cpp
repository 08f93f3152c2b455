#include "families.h"

#include <ir/builder.h>

namespace benchmark {

using namespace nvfuser;

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype) {
  TensorView* tv = makeContigTensor(rank, dtype);
  fusion.addInput(tv);
  return tv;
}

void output(Fusion& fusion, TensorView* tv, DataType dtype) {
  fusion.addOutput(tv->dtype() == dtype ? tv : castOp(dtype, tv));
}

TensorView* wide(TensorView* tv) {
  return tv->dtype() == DataType::Float ? tv : castOp(DataType::Float, tv);
}

Val* eps() { return IrBuilder::create<Val>(1e-5); }

namespace {

using Add = void (*)(std::vector<Program>&, std::vector<int64_t>, DataType);

struct Group {
  Add add;
  bool same_on_cpu;  ///< few rows already
  std::vector<std::vector<int64_t>> sizes;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {addNorms,
       false,
       {{16384, 8192}, {131072, 1024}, {32768, 4096}, {8192, 5121}, {4096, 32768}}},
      {addTransposes,
       false,
       {{8192, 8192}, {16384, 8192}, {32767, 4098}, {8191, 4097}, {2048, 2048}}},
      {addNormGradients,
       false,
       {{32768, 2048},
        {16384, 4096},
        {8192, 12288},
        {2048, 16384},
        {16384, 5122},
        {131072, 256},
        {2048, 1024}}},
      {addNorms, true, {{16, 65536}, {1024, 4096}}},
      {addSums, false, {{16384, 8192}, {2048, 4096}}},
      {addActivations, false, {{16384, 8192}, {2048, 4096}, {8191, 8191}}},
      {addResidualNorms, false, {{16384, 4096}, {2048, 4096}}},
      {addCrossEntropy, false, {{4096, 131072}, {8192, 32000}}},
      {addRopeAndJoin, false, {{16, 32, 2048, 128}}},
  };
  return all;
}

}  // namespace

std::vector<Program> families(bool gpu) {
  const int64_t part = gpu ? 1 : 16;  // of the rows
  std::vector<Program> all;
  for (DataType dtype : {DataType::BFloat16, DataType::Float}) {
    for (const Group& group : groups()) {
      for (std::vector<int64_t> sizes : group.sizes) {
        sizes[0] /= group.same_on_cpu ? 1 : part;
        group.add(all, sizes, dtype);
      }
    }
    addSums(all, {64, 4194304 / part}, dtype);
    const std::vector<int64_t> image{64 / part, 256, 56, 56};
    all.push_back({named("NCHW to NHWC", image, dtype),
                   [=](Fusion& fusion) {
                     TensorView* x = relu(input(fusion, 4, dtype));
                     fusion.addOutput(permute(x, {0, 2, 3, 1}));
                   },
                   {image},
                   dtype});
    addOuterNorms(all, image, {8192 / part, 16384}, dtype);
  }
  return all;
}

}  // namespace benchmark
