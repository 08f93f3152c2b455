// Row sums, one block a row: each thread sums a strided part in registers (rFactor), then the block
// combines the parts (warp shuffles, one shared slot a warp).
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* in = makeContigTensor(2);
  fusion.addInput(in);
  TensorView* out = sum(in, {1});
  fusion.addOutput(out);

  out->split(1, 256);                       // [i0, r1/256, r 256]
  TensorView* partial = out->rFactor({1});  // partial: [i0, r1/256, 256]
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  TransformPropagator propagator(partial);
  MaxLogicalDomainInfoSpanningTree(partial).traverse(&propagator);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

void defineWarp(Fusion& fusion) {
  TensorView* in = makeContigTensor(2);
  fusion.addInput(in);
  TensorView* out = max(in, {1});
  fusion.addOutput(out);
  // Four rows a block, one warp each.
  out->split(1, 32);  // [i0, r1/32, r 32]
  TensorView* partial = out->rFactor({1});
  out->split(0, 4);  // [i0/4, 4, r 32]
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDy);
  out->axis(-1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  (void)partial;
  inlineMost();
}

}  // namespace

int main() {
  return runEverywhere("block sum", define, {{{{5, 1000}}}, {{{3, 17}}}, {{{1, 256}}}}) +
         runEverywhere("warp max", defineWarp, {{{{5, 1000}}}, {{{8, 17}}}});
}
