// Views compute nothing: a reshape, two slices and a concatenation are one kernel that reads each
// element once.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* x = makeContigConcreteTensor({12, 10});
  fusion.addInput(x);
  TensorView* r = reshape(x, {12, 10}, {8, 15});
  TensorView* top = slice(r, std::vector<int64_t>{0, 0}, std::vector<int64_t>{5, 15});
  TensorView* bottom = slice(r, std::vector<int64_t>{2, 0}, std::vector<int64_t>{8, 15});
  TensorView* out = cat({top, neg(bottom)}, 0);  // [11, 15]
  fusion.addOutput(out);

  out->merge(0)->split(0, 32);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

}  // namespace

int main() { return runEverywhere("reshape + slice + cat", define, {{{{12, 10}}}}); }
