// A transpose through shared memory. Rows are read along x and columns written along x; the tile's
// columns are swizzled (x ^ y), so that neither side meets a bank twice.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* in = makeContigTensor(2);
  fusion.addInput(in);
  TensorView* tile = set(in);
  TensorView* out = transpose(tile, 0, 1);
  fusion.addOutput(out);

  // [i1, i0] -> [i1/32, i0/32, 32 (of i1), 32 (of i0)]
  out->split(0, 32)->split(2, 32)->reorder({{1, 2}, {2, 1}});
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);

  // The tile has the same axes: [i1/32, i0/32, x = 32 of i1, y = 32 of i0]; bring rows to the
  // front.
  tile->reorder({{2, 3}, {3, 2}});
  tile->setMemoryType(MemoryType::Shared);
  tile->swizzle(SwizzleType::XOR, 2, 3);
  for (TensorView* tv : {tile, out}) {
    tv->axis(0)->parallelize(ParallelType::BIDx);
    tv->axis(1)->parallelize(ParallelType::BIDy);
    tv->axis(2)->parallelize(ParallelType::TIDy);
    tv->axis(3)->parallelize(ParallelType::TIDx);
  }
  tile->inlineAt(2);
}

}  // namespace

int main() { return runEverywhere("transpose", define, {{{{64, 96}}}, {{{33, 70}}}, {{{1, 5}}}}); }
