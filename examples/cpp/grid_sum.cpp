// The sum of everything over the whole grid: partial sums of the blocks go to a workspace, the
// block that arrives last combines them in block order, so the result is the same in every run.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* in = makeContigTensor(1);
  fusion.addInput(in);
  TensorView* out = sum(in, {0});
  fusion.addOutput(out);

  out->split(0, 128);  // [r/128, r 128]
  out->split(0, 4);    // [r/512, r 4, r 128]
  TensorView* partial = out->rFactor({1});
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  TransformPropagator propagator(partial);
  MaxLogicalDomainInfoSpanningTree(partial).traverse(&propagator);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

}  // namespace

int main() { return runEverywhere("grid sum", define, {{{{5000}}}, {{{17}}}, {{{512}}}}); }
