// Circular buffers that threads of their own fill (warp specialisation), with and without an
// exchange of registers; and kernels that start before the one in front of them has ended.
#include "scheduled.h"
#include <support/options.h>

using namespace nvfuser;
using namespace scheduled;
using enum ParallelType;

namespace {

TensorView* input(Fusion& fusion, int64_t rank) {
  TensorView* x = makeContigTensor(rank);
  fusion.addInput(x);
  return x;
}

TensorView* bulkLoad(TensorView* x) {
  TensorView* tile = x->cacheAfter(LoadStoreOpType::CpAsyncBulk);
  tile->setMemoryType(MemoryType::Shared);
  return tile;
}

std::string ownText(const std::string& kernel) { return kernel.substr(kernel.find("__global__")); }

}  // namespace

TEST_CASE("scheduled roles: tiles of rows, by threads along each dimension") {
  for (ParallelType on : {TIDx, TIDy, TIDz}) {
    CAPTURE(parallelTypeName(on));
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* y = input(fusion, 2);
      TensorView* out = add(exp(x), y);
      fusion.addOutput(out);
      std::vector<TensorView*> tiles{bulkLoad(x), bulkLoad(y)};
      out->split(1, 64);
      out->axis(0)->parallelize(BIDx);
      out->axis(2)->parallelize(TIDx);
      scheduleLike(out);
      for (TensorView* tile : tiles) {
        tile->axis(2)->parallelize(Bulk);
      }
      inlineMost();
      for (TensorView* tile : tiles) {
        tile->circularBuffer(3, 2, WarpSpecialized(on));
      }
    };
    check(define,
          {{{3, 640}, {3, 640}}, {{2, 64}, {2, 64}}, {{1, 1}, {1, 1}}, {{4, 301}, {4, 301}}},
          DataType::Float, [](const std::string& kernel) {
            const std::string body = ownText(kernel);
            CHECK(contains(body, "using Loading = BlockPart<2, 64, 128>;"));
            CHECK(contains(body, "bulkLoad<Loading>("));
            CHECK(contains(body, "if (computes) {"));
          });
  }
}

TEST_CASE("scheduled roles: rows that a block reduces, entered again for each row") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* out = sum(x, {1});
    fusion.addOutput(out);
    TensorView* rows = bulkLoad(x);
    // [i0/5 blocks, 5 rows, steps, 96 threads]
    out->split(1, 96)->split(0, 5);
    TensorView* partial = out->rFactor({2});
    partial->axis(0)->parallelize(BIDx);
    partial->axis(3)->parallelize(TIDx);
    scheduleLike(partial);
    rows->axis(-1)->parallelize(Serial);
    rows->merge(2);
    rows->axis(2)->parallelize(Bulk);
    inlineMost();
    rows->inlineAt(2);
    rows->circularBuffer(4, 2, WarpSpecialized(TIDy));
  };
  check(define, {{{17, 256}}, {{3, 100}}, {{6, 301}}, {{1, 1}}, {{5, 64}}}, DataType::Float,
        [](const std::string& kernel) {
          const std::string body = ownText(kernel);
          CHECK(contains(body, "blockAllReduce<true, false, false, Computing>("));
          CHECK(body.find("__syncthreads();") == body.rfind("__syncthreads();"));  // at its begin
        });
}

TEST_CASE("scheduled roles: boxes, registers exchanged, results stored in boxes") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* y = neg(x);
    TensorView* out = set(y);
    fusion.addOutput(out);
    TensorView* tile = bulkLoad(x);
    y->setMemoryType(MemoryType::Shared);
    for (TensorView* tv : {tile, y, out}) {
      tv->split(1, 128)->split(0, 8);
      tv->reorder({{1, 2}, {2, 1}});  // [i0/8, i1/128, 8, 128]
      tv->axis(0)->parallelize(BIDx);
    }
    y->split(2, 2);
    y->axis(3)->parallelize(TIDy);
    y->axis(4)->parallelize(TIDx);
    for (TensorView* tv : {tile, out}) {
      tv->axis(2)->parallelize(Bulk);
      tv->axis(3)->parallelize(Bulk);
    }
    tile->inlineAt(2);
    y->inlineAt(2);
    tile->circularBuffer(3, 2, WarpSpecialized(TIDy, {40, 232}));
  };
  check(define, {{{16, 512}}, {{9, 132}}, {{1, 4}}, {{5, 301}}}, DataType::Float,
        [](const std::string& kernel) {
          const std::string body = ownText(kernel);
          CHECK(contains(body, "__launch_bounds__(384, 1)"));
          CHECK(contains(body, "leaveRegisters<40>();"));
          CHECK(contains(body, "takeRegisters<232>();"));
          CHECK(contains(body, "boxLoad<Box<0, 128, 8>, Loading>("));
          CHECK(contains(body, "boxStore<Box<0, 128, 8>, Computing>("));
        });
}

TEST_CASE("scheduled roles: loaded and stored by the engine alone") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* out = set(x);
    fusion.addOutput(out);
    TensorView* staged = bulkLoad(x);
    for (TensorView* tv : {staged, out}) {
      tv->split(1, 64);
      tv->axis(0)->parallelize(BIDx);
      tv->axis(2)->parallelize(Bulk);
    }
    staged->inlineAt(2);
    TensorView* other = input(fusion, 1);  // whose threads there are
    TensorView* more = neg(other);
    fusion.addOutput(more);
    more->split(0, 32);
    more->axis(0)->parallelize(BIDx);
    more->axis(1)->parallelize(TIDx);
    staged->circularBuffer(4, 3, WarpSpecialized(TIDy));
  };
  check(define, {{{3, 640}, {70}}, {{2, 101}, {5}}});
}

TEST_CASE("scheduled roles: kernels that start early wait before they touch global memory") {
  const OptionsGuard guard(Options::current().enable("dependent_launch"));
  auto pointwise = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* out = exp(x);
    fusion.addOutput(out);
    out->merge(0);
    out->split(0, 64);
    out->axis(0)->parallelize(BIDx);
    out->axis(1)->parallelize(TIDx);
  };
  auto bulk = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* out = exp(x);
    fusion.addOutput(out);
    TensorView* tile = bulkLoad(x);
    for (TensorView* tv : {tile, out}) {
      tv->split(1, 64);
      tv->axis(0)->parallelize(BIDx);
    }
    tile->axis(2)->parallelize(Bulk);
    out->axis(2)->parallelize(TIDx);
    tile->inlineAt(2);
    tile->circularBuffer(2);
  };
  for (bool in_bulk : {false, true}) {
    check(in_bulk ? std::function<void(Fusion&)>(bulk) : pointwise, {{{7, 301}}, {{1, 4}}},
          DataType::Float, [](const std::string& kernel) {
            const std::string body = ownText(kernel);
            CHECK(contains(body, "gridDependencyWait();\n  gridDependencyLaunch();"));
          });
  }
}

TEST_CASE(
    "scheduled roles: a chain of kernels, each of which starts while the one before it ends") {
  const OptionsGuard guard(Options::current().enable("dependent_launch"));
  constexpr int64_t kRows = 320;
  constexpr int kSteps = 64;  // of which an even number turns the matrix back
  for (Device* device : testDevices()) {
    Fusion fusion;
    FusionGuard fusion_guard(&fusion);
    TensorView* x = input(fusion, 2);
    TensorView* out = add(transpose(x, 0, 1), IrBuilder::create<Val>(1.0));  // of other blocks
    fusion.addOutput(out);
    out->merge(0);
    out->split(0, 128);
    TransformPropagator propagator(out);
    MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
    out->axis(0)->parallelize(BIDx);
    out->axis(1)->parallelize(TIDx);
    scheduler_utils::parallelizeAllLike(out);
    inlineMost();
    KernelExecutor executor;
    KernelArgumentHolder arguments;
    std::vector<float> values(kRows * kRows);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 1000);
    }
    arguments.push(Tensor::fromHost(values, {kRows, kRows}, *device));
    executor.compile(&fusion, arguments);
    for (int step = 0; step < kSteps; ++step) {
      KernelArgumentHolder next = executor.run(arguments);
      arguments = next;
    }
    const std::vector<float> got = arguments[0].tensor().toHost<float>();
    bool right = true;
    for (size_t i = 0; i < values.size(); ++i) {
      right &= got[i] == values[i] + kSteps;
    }
    CHECK(right);
  }
}
