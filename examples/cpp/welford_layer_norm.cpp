// Layer normalisation, one row a block: the row stays in registers between the statistics (Welford,
// across the block) and the scaling.
#include "example.h"

using namespace example;

namespace {

constexpr int64_t kRow = 1000;
constexpr int64_t kThreads = 128;

void define(Fusion& fusion) {
  TensorView* x = makeContigConcreteTensor({-1, kRow});
  fusion.addInput(x);
  TensorView* row = set(x);
  WelfordResult stats = Welford(row, {1});
  TensorView* mean = broadcast(stats.avg, {false, true});
  TensorView* variance = broadcast(
      div(stats.var_sum, IrBuilder::create<Val>(static_cast<double>(kRow))), {false, true});
  TensorView* scale = rsqrt(add(variance, IrBuilder::create<Val>(1e-5)));
  TensorView* out = mul(sub(row, mean), scale);
  fusion.addOutput(out);

  // [i0, 1000/128, 128]; the statistics are taken from per-thread ones.
  stats.avg->split(1, kThreads);
  std::vector<TensorView*> partial = stats.avg->rFactor({1}, {stats.avg, stats.var_sum, stats.n});
  TransformPropagator propagator(partial[0]);
  MaxLogicalDomainInfoSpanningTree(partial[0]).traverse(&propagator);
  partial[0]->axis(0)->parallelize(ParallelType::BIDx);
  partial[0]->axis(-1)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(partial[0]);
  inlineMost();
}

}  // namespace

int main() { return runEverywhere("Welford layer norm", define, {{{{5, kRow}}}, {{{1, kRow}}}}); }
