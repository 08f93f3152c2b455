// Column sums with the rows streamed through shared memory by cp.async: while one row is summed,
// the next ones are on their way (a circular buffer of four stages).
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* out = sum(x, {0});
  fusion.addOutput(out);

  TensorView* staged = x->cacheAfter(LoadStoreOpType::CpAsync);
  out->split(1, 128)->reorder({{0, 1}, {1, 0}});  // [i1/128, r0, 128]
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(2)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  staged->setMemoryType(MemoryType::Shared);
  staged->inlineAt(2);
  staged->circularBuffer(4);
}

}  // namespace

int main() { return runEverywhere("circular-buffered sum", define, {{{{50, 256}}}, {{{3, 100}}}}); }
