// A bias added to every row. The row and the matrix are merged into one loop; the bias is read at
// index mod row length.
#include "example.h"

using namespace example;

namespace {

void define(Fusion& fusion) {
  TensorView* matrix = makeContigTensor(2);
  TensorView* bias = makeContigTensor(1);
  fusion.addInput(matrix);
  fusion.addInput(bias);
  TensorView* row = broadcast(exp(bias), {true, false});
  TensorView* out = add(matrix, row);
  fusion.addOutput(out);

  out->merge(0)->split(0, 128);
  TransformPropagator propagator(out);
  MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
  out->axis(0)->parallelize(ParallelType::BIDx);
  out->axis(1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(out);
  inlineMost();
}

}  // namespace

int main() {
  return runEverywhere("broadcast add", define,
                       {{{{37, 129}}, {{129}}}, {{{1, 1}}, {{1}}}, {{{512, 3}}, {{3}}}});
}
