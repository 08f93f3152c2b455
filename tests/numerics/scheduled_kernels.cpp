// Schedules that a simple program does not have, each run on the CPU, on emulated CUDA and, if
// there is one, on a GPU, and compared with the reference.
#include "scheduled.h"

using namespace nvfuser;
using namespace scheduled;

TEST_CASE("scheduled: what is computed from a grid reduction is computed in all blocks") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    TensorView* total = sum(x, {0});
    TensorView* out = div(x, broadcast(total, {true}));
    fusion.addOutput(out);
    out->split(0, 32);
    out->axis(0)->parallelize(ParallelType::BIDx);
    out->axis(1)->parallelize(ParallelType::TIDx);
    scheduleLike(out);
    inlineMost();
  };
  check(define, {{{100}}, {{33}}, {{1}}}, DataType::Float,
        [](const std::string& kernel) { CHECK(contains(kernel, "gridAllReduce")); });
}

TEST_CASE("scheduled: a scalar function of a grid reduction") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* total = sum(x, {0});
    fusion.addOutput(exp(mul(total, IrBuilder::create<Val>(0.01))));
    TensorView* doubled = add(x, x);
    fusion.addOutput(doubled);
    // [r0, i1] over a 2-D grid
    doubled->split(0, 8);
    doubled->split(2, 16);
    doubled->axis(0)->parallelize(ParallelType::BIDy);
    doubled->axis(1)->parallelize(ParallelType::TIDy);
    doubled->axis(2)->parallelize(ParallelType::BIDx);
    doubled->axis(3)->parallelize(ParallelType::TIDx);
    scheduleLike(doubled);
    inlineMost();
  };
  check(define, {{{20, 40}}, {{3, 5}}});
}

TEST_CASE("scheduled: two outputs of one grid reduction kernel, the last block writes one") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(1);
    fusion.addInput(x);
    TensorView* total = sum(x, {0});
    TensorView* doubled = add(x, x);
    fusion.addOutput(total);
    fusion.addOutput(doubled);
    doubled->split(0, 32);
    doubled->axis(0)->parallelize(ParallelType::BIDx);
    doubled->axis(1)->parallelize(ParallelType::TIDx);
    scheduleLike(doubled);
    inlineMost();
  };
  check(define, {{{100}}, {{33}}}, DataType::Float,
        [](const std::string& kernel) { CHECK(contains(kernel, "gridReduce")); });
}

TEST_CASE("scheduled: a block reduction in a loop frees its workspace before it is used again") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* out = sum(x, {1});
    fusion.addOutput(out);
    out->split(1, 64);
    TensorView* partial = out->rFactor({1});
    partial->split(0, 4);  // [i0/4, 4, r1/64, 64]: four rows a block, one after the other
    partial->axis(0)->parallelize(ParallelType::BIDx);
    partial->axis(-1)->parallelize(ParallelType::TIDx);
    scheduleLike(partial);
    inlineMost();
  };
  check(define, {{{9, 200}}, {{4, 64}}});
}

TEST_CASE("scheduled: circular buffers of vectors, also shared by all threads") {
  auto define = [](bool transposed) {
    return [=](Fusion& fusion) {
      TensorView* x = makeContigTensor(2);
      fusion.addInput(x);
      TensorView* out = set(x);
      fusion.addOutput(out);
      TensorView* staged = x->cacheAfter(LoadStoreOpType::CpAsync);
      staged->setMemoryType(MemoryType::Shared);
      // [i0, i1/64, 64]: i0 is walked
      out->split(1, 64);
      out->reorder({{0, 1}, {1, 0}});
      TransformPropagator propagator(out);
      MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
      staged->split(-1, 4);
      out->axis(0)->parallelize(ParallelType::BIDx);
      staged->axis(0)->parallelize(ParallelType::BIDx);
      staged->axis(2)->parallelize(ParallelType::TIDx);
      staged->axis(3)->parallelize(ParallelType::Vectorize);
      if (transposed) {
        out->split(-1, 16);
        out->axis(-1)->parallelize(ParallelType::TIDx);
      } else {
        out->split(-1, 4);
        out->axis(-2)->parallelize(ParallelType::TIDx);
      }
      staged->inlineAt(2);
      staged->circularBuffer(3);
    };
  };
  for (bool transposed : {false, true}) {
    check(define(transposed), {{{10, 128}}, {{1, 64}}, {{2, 8}}}, DataType::Float,
          [&](const std::string& kernel) {
            CHECK(contains(kernel, "asyncCopy<16>"));
            CHECK(contains(kernel, "asyncCopyWait<1>"));
            CHECK(contains(kernel, "__syncthreads") == transposed);
          });
  }
}

TEST_CASE("scheduled: cp.async without a circular buffer waits before it is read") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* out = sum(x, {1});
    fusion.addOutput(out);
    TensorView* tile = x->cacheAfter(LoadStoreOpType::CpAsync);
    tile->setMemoryType(MemoryType::Shared);
    tile->split(1, 32);
    tile->axis(0)->parallelize(ParallelType::BIDx);
    tile->axis(2)->parallelize(ParallelType::TIDx);
    out->axis(0)->parallelize(ParallelType::BIDx);
    tile->inlineAt(1);
  };
  check(define, {{{3, 100}}, {{1, 7}}}, DataType::Float, [](const std::string& kernel) {
    CHECK(contains(kernel, "asyncCopyWait<0>"));
    CHECK(contains(kernel, "__syncthreads"));
  });
}

TEST_CASE("scheduled: a group of reductions is one grid reduction") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* out = sum(x, {0});
    fusion.addOutput(out);
    TensorView* result = out->cacheBefore();
    // [i1/32, 8 threads, 4 of a group] and, reduced, [r0/8 blocks, 8]
    result->split(1, 4);
    result->split(1, 8);
    result->split(0, 8);
    // [r0/8, r 8, i1/32, i 8, i 4]
    TensorView* partial = result->rFactor({1});
    scheduler_utils::parallelizeAllLike(result);
    partial->axis(0)->parallelize(ParallelType::BIDy);
    partial->axis(2)->parallelize(ParallelType::BIDx);
    partial->axis(3)->parallelize(ParallelType::TIDx);
    partial->axis(4)->parallelize(ParallelType::Group);
    scheduleLike(partial);
    out->axis(-1)->parallelize(ParallelType::Serial);
    inlineMost();
    result->inlineAt(0);
  };
  check(define, {{{20, 100}}, {{3, 5}}}, DataType::Float, [](const std::string& kernel) {
    const size_t first = kernel.find("= gridAllReduce<", kernel.find("__global__"));
    CHECK(first != std::string::npos);
    CHECK(kernel.find("gridAllReduce<", first + 10) == std::string::npos);
  });
}

namespace {

/// [i0, 4 blocks of a cluster, i1/4/32, 32]; i0 blocks, too, or a loop.
void shareByCluster(TensorView* out, bool rows_are_blocks) {
  out->split(1, 4, false);
  out->split(2, 32);
  if (rows_are_blocks) {
    out->axis(0)->parallelize(ParallelType::BIDy);
  }
  out->axis(1)->parallelize(ParallelType::BIDx);
  out->axis(1)->setClusteredBlocks();
  out->axis(3)->parallelize(ParallelType::TIDx);
  scheduleLike(out);
  inlineMost();
}

}  // namespace

TEST_CASE("scheduled: layer norm over a cluster of blocks") {
  auto define = [](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    WelfordResult stats = Welford(x, {1});
    TensorView* mean = broadcast(stats.avg, {false, true});
    TensorView* out = sub(x, mean);
    fusion.addOutput(out);
    fusion.addOutput(stats.var_sum);
    shareByCluster(out, true);
  };
  check(define, {{{3, 300}}, {{1, 7}}}, DataType::Float, [](const std::string& kernel) {
    CHECK(contains(kernel, "clusterAllReduce<true, false, false, Cluster::Arrived>"));
    CHECK(!contains(kernel, "gridAllReduce"));
  });
}

// In a loop a later iteration writes where others may still read: the blocks meet each time.
TEST_CASE("scheduled: sums over a cluster of blocks in line, and in a loop") {
  for (bool in_loop : {false, true}) {
    CAPTURE(in_loop);
    auto define = [&](Fusion& fusion) {
      TensorView* x = makeContigTensor(2);
      fusion.addInput(x);
      TensorView* shifted = sub(x, broadcast(sum(x, {1}), {false, true}));
      TensorView* out = sub(shifted, broadcast(max(x, {1}), {false, true}));
      fusion.addOutput(out);
      shareByCluster(out, !in_loop);
    };
    check(define, {{{3, 300}}, {{1, 7}}}, DataType::Float, [&](const std::string& kernel) {
      CHECK(contains(kernel, "clusterArrive();  // others") == !in_loop);
      CHECK(contains(kernel, "clusterAllReduce<true, false, false, Cluster::Arrived>") == !in_loop);
      CHECK(contains(kernel, "clusterAllReduce<true, false, false, Cluster::Met>") == !in_loop);
      CHECK(contains(kernel, "clusterAllReduce<true, false, false, Cluster::Meets>") == in_loop);
    });
  }
}

TEST_CASE("scheduled: shared memory is used again behind a barrier") {
  for (bool promote : {false, true}) {
    CAPTURE(promote);
    auto define = [&](Fusion& fusion) {
      TensorView* x = makeContigTensor(2);
      fusion.addInput(x);
      TensorView* first = set(x);  // written by threads along axis 1
      TensorView* turned = transpose(first, 0, 1);
      TensorView* middle = exp(turned);
      TensorView* second = set(middle);  // written along the other axis
      TensorView* out = transpose(second, 0, 1);
      fusion.addOutput(out);
      for (TensorView* tv : {first, turned, middle, second, out}) {
        tv->split(1, 16);
        tv->split(0, 16);
        // [i0/16, 16, i1/16, 16]
        tv->axis(-1)->parallelize(ParallelType::TIDx);
      }
      first->setMemoryType(MemoryType::Shared);
      second->setMemoryType(MemoryType::Shared);
      middle->setMemoryType(MemoryType::Shared);
      first->promoteReuse(promote);
      turned->inlineAt(-1);
    };
    check(define, {{{20, 20}}, {{3, 16}}}, DataType::Float, [&](const std::string& kernel) {
      CHECK(contains(kernel, "T4 = reinterpret_cast<float*>(smem + 0)") == promote);
    });
  }
}
