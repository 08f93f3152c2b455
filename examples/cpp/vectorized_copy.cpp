// A copy in 16-byte accesses: cache the input in registers, split off the vector, bind it to
// Vectorize on both sides.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* in = makeContigTensor(2, DataType::BFloat16);
  fusion.addInput(in);
  TensorView* cache = set(in);
  TensorView* out = set(cache);
  fusion.addOutput(out);

  // [i0, i1] -> [i0*i1/8/128, 128, 8]
  out->merge(0)->split(0, 8)->split(0, 128);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  cache->axis(2)->parallelize(ParallelType::Vectorize);
  out->axis(2)->parallelize(ParallelType::Vectorize);
  inlineMost();
}

}  // namespace

int main() {
  return runEverywhere("vectorized copy", define,
                       {{{{64, 96}, DataType::BFloat16}}, {{{7, 1024}, DataType::BFloat16}}});
}
