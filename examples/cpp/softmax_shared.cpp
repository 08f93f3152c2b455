// Softmax, one row a block, the row held in shared memory: read once from global memory whatever
// its length.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* row = set(x);
  TensorView* top = broadcast(max(row, {1}), {false, true});
  TensorView* e = exp(sub(row, top));
  TensorView* total = broadcast(sum(e, {1}), {false, true});
  TensorView* e2 = exp(sub(row, top));
  TensorView* out = div(e2, total);
  fusion.addOutput(out);

  row->setMemoryType(MemoryType::Shared);
  out->split(1, 128);  // [i0, i1/128, 128]
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(2)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

}  // namespace

int main() {
  return runEverywhere("softmax in shared memory", define,
                       {{{{5, 1000}}}, {{{3, 17}}}, {{{2, 4096}}}});
}
