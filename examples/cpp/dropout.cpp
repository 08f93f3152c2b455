// Dropout with its mask: the random numbers depend on seed, offset and element alone, not on the
// schedule.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  ForwardDropoutResult result = dropout(x, IrBuilder::create<Val>(0.75));
  fusion.addOutput(result.output);
  fusion.addOutput(result.mask);

  TensorView* out = result.output;
  out->merge(0)->split(0, 4)->split(0, 128);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  out->axis(2)->parallelize(ParallelType::Unroll);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

}  // namespace

int main() { return runEverywhere("dropout", define, {{{{64, 33}}}, {{{1, 1}}}}); }
