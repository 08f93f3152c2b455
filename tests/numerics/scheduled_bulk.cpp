// Bulk copies (cp.async.bulk): loads and stores, alone and in circular buffers, with rows and tails
// that the copy engine takes and such that it does not.
#include "scheduled.h"

using namespace nvfuser;
using namespace scheduled;
using enum ParallelType;

namespace {

/// Row lengths whose tails are whole 16 bytes of float, and such that are not.
const std::vector<Sizes> kRows{{{3, 128}}, {{4, 100}}, {{3, 101}}, {{1, 1}}, {{5, 63}}, {{2, 64}}};

TensorView* bulkLoad(TensorView* x, LoadStoreOpType type = LoadStoreOpType::CpAsyncBulk) {
  TensorView* tile = x->cacheAfter(type);
  tile->setMemoryType(MemoryType::Shared);
  return tile;
}

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype = DataType::Float) {
  TensorView* x = makeContigTensor(rank, dtype);
  fusion.addInput(x);
  return x;
}

/// Merges the axes from `position` on, and copies them in bulk.
void takeWhole(TensorView* tv, int64_t position) {
  tv->axis(-1)->parallelize(Serial);
  tv->merge(position);
  tv->axis(position)->parallelize(Bulk);
}

}  // namespace

TEST_CASE("scheduled: a bulk load in a loop, its tail clamped") {
  for (LoadStoreOpType type : {LoadStoreOpType::CpAsyncBulk, LoadStoreOpType::CpAsyncBulkTensorTile,
                               LoadStoreOpType::Set}) {
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* out = exp(x);
      fusion.addOutput(out);
      TensorView* tile = bulkLoad(x, type);
      for (TensorView* tv : {tile, out}) {
        tv->split(1, 64);
        tv->axis(0)->parallelize(BIDx);
      }
      tile->axis(2)->parallelize(Bulk);
      out->axis(2)->parallelize(TIDx);
      tile->inlineAt(2);
    };
    check(define, kRows, DataType::Float, [](const std::string& kernel) {
      const std::string body = kernel.substr(kernel.find("__global__"));
      CHECK(contains(body, "bulkLoad(&T2[0], &T0["));
      CHECK(contains(body, "bulkLoadWait(T2_ready, 0, T2_phases);"));
      CHECK(contains(body, "__syncthreads();  // T2 may be written again"));
      CHECK(!contains(body, "T2 is complete"));
    });
  }
}

TEST_CASE("scheduled: rows held in shared memory by bulk loads, of any dtype") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2, dtype);
      auto wide = [&] { return dtype == DataType::BFloat16 ? castOp(DataType::Float, x) : x; };
      TensorView* top = broadcast(max(wide(), {1}), {false, true});
      auto e = [&] { return exp(sub(wide(), top)); };  // each reads the row again
      TensorView* out = div(e(), broadcast(sum(e(), {1}), {false, true}));
      fusion.addOutput(out);
      TensorView* row = x->cacheAfter(LoadStoreOpType::CpAsyncBulk);
      out->split(1, 32);
      out->axis(0)->parallelize(BIDx);
      out->axis(2)->parallelize(TIDx);
      scheduleLike(out);
      takeWhole(row, 1);
      inlineMost();
      row->setMemoryType(MemoryType::Shared);
      row->inlineAt(1);
    };
    check(define, {{{3, 128}}, {{4, 100}}, {{3, 101}}, {{1, 1}}, {{2, 33}}}, dtype);
  }
}

TEST_CASE("scheduled: circular buffers of bulk loads") {
  struct Form {
    int64_t stages, prefetch;
    bool transposed;  // a thread reads what another one's element of the copy is
  };
  for (Form form : {Form{2, 1, false}, Form{3, 2, true}, Form{3, 1, false}, Form{4, 3, true}}) {
    CAPTURE(form.stages);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* out = set(x);
      fusion.addOutput(out);
      TensorView* staged = bulkLoad(x);
      // [i1/64, i0, 64]: i0 is walked
      out->split(1, 64);
      out->reorder({{0, 1}, {1, 0}});
      TransformPropagator propagator(out);
      MaxLogicalDomainInfoSpanningTree(out).traverse(&propagator);
      out->axis(0)->parallelize(BIDx);
      staged->axis(0)->parallelize(BIDx);
      staged->axis(2)->parallelize(Bulk);
      if (form.transposed) {
        out->split(-1, 16);
      }
      out->axis(-1)->parallelize(TIDx);
      staged->inlineAt(2);
      staged->circularBuffer(form.stages, form.prefetch);
    };
    check(define, {{{10, 128}}, {{1, 64}}, {{2, 8}}, {{7, 101}}, {{5, 100}}, {{9, 3}}},
          DataType::Float, [&](const std::string& kernel) {
            CHECK(contains(kernel, text("mbarrierInit(T2_ready, ", form.stages, ")")));
            CHECK(contains(kernel, ", T2_phases);"));
          });
  }
}

TEST_CASE("scheduled: row sums through circular buffers of bulk loads, run again for each row") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* out = sum(x, {1});
    fusion.addOutput(out);
    TensorView* staged = bulkLoad(x);
    // [i0/3 blocks, 3 rows, steps, 2, 32 threads]
    out->split(1, 64)->split(2, 32)->split(0, 3);
    TensorView* partial = out->rFactor({2, 3});
    TransformPropagator propagator(partial);
    MaxLogicalDomainInfoSpanningTree(partial).traverse(&propagator);
    partial->axis(0)->parallelize(BIDx);
    partial->axis(4)->parallelize(TIDx);
    scheduler_utils::parallelizeAllLike(partial);
    takeWhole(staged, 3);
    partial->inlineAt(2);
    staged->inlineAt(3);
    staged->circularBuffer(3);
  };
  check(define, {{{7, 640}}, {{3, 100}}, {{2, 1001}}, {{1, 1}}, {{4, 64}}});
}

TEST_CASE("scheduled: row sums, whole rows loaded in bulk ahead of the loop over them") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* out = sum(x, {1});
    fusion.addOutput(out);
    TensorView* rows = bulkLoad(x);
    // [i0/5 blocks, 5 rows, steps, 64 threads]
    out->split(1, 64)->split(0, 5);
    TensorView* partial = out->rFactor({2});
    partial->axis(0)->parallelize(BIDx);
    partial->axis(3)->parallelize(TIDx);
    scheduleLike(partial);
    takeWhole(rows, 2);
    inlineMost();
    rows->inlineAt(2);
    rows->circularBuffer(4, 2);
  };
  check(define, {{{17, 256}}, {{3, 100}}, {{6, 301}}, {{1, 1}}, {{5, 64}}}, DataType::Float,
        [](const std::string& kernel) { CHECK(contains(kernel, "blockAllReduce")); });
}

TEST_CASE("scheduled: bulk stores of what threads computed") {
  for (bool in_loop : {true, false}) {
    CAPTURE(in_loop);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* y = exp(x);
      TensorView* out = set(y);
      fusion.addOutput(out);
      y->setMemoryType(MemoryType::Shared);
      for (TensorView* tv : {y, out}) {
        tv->split(1, 64);
        tv->axis(0)->parallelize(BIDx);
      }
      y->axis(2)->parallelize(TIDx);
      if (in_loop) {
        out->axis(2)->parallelize(Bulk);
        y->inlineAt(2);
      } else {
        out->merge(1);
        out->axis(1)->parallelize(Bulk);
        y->inlineAt(1);
      }
    };
    check(define, kRows, DataType::Float, [&](const std::string& kernel) {
      const std::string body = kernel.substr(kernel.find("__global__"));
      const size_t fence = body.find("fenceAsyncProxy();");
      const size_t store = body.find("bulkStore(&T2[");
      CHECK(fence < body.find("__syncthreads();  // T1 is complete"));
      CHECK(body.find("__syncthreads();  // T1 is complete") < store);
      CHECK(store < body.find("bulkStoreWait<0>();"));
      CHECK(contains(body, "T1 may be written again") == in_loop);
    });
  }
}

TEST_CASE("scheduled: bulk loads stored in bulk, no thread touches the data") {
  struct Form {
    int64_t stages, prefetch;
    bool pieces;  // cp.async loads
  };
  for (Form form : {Form{0, 0, false}, Form{2, 1, false}, Form{4, 2, false}, Form{3, 1, true}}) {
    CAPTURE(form.stages);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 1);
      TensorView* out = set(x);
      fusion.addOutput(out);
      TensorView* staged =
          bulkLoad(x, form.pieces ? LoadStoreOpType::CpAsync : LoadStoreOpType::CpAsyncBulk);
      // [blocks, 5 steps, 64]
      for (TensorView* tv : {staged, out}) {
        tv->split(0, 64)->split(0, 5);
        tv->axis(0)->parallelize(BIDx);
        tv->axis(2)->parallelize(Bulk);
      }
      if (form.pieces) {
        staged->axis(2)->parallelize(TIDx);
      }
      staged->inlineAt(2);
      if (form.stages > 0) {
        staged->circularBuffer(form.stages, form.prefetch);
      }
    };
    check(define, {{{640}}, {{100}}, {{1001}}, {{1}}, {{64}}, {{2000}}}, DataType::Float,
          [&](const std::string& kernel) {
            const int64_t pending = form.stages > 0 ? form.stages - form.prefetch - 1 : 0;
            CHECK(contains(kernel, text("bulkStoreWait<", pending, ">();")));
          });
  }
}

TEST_CASE("scheduled: tensors loaded in bulk together, on their way before the first wait") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* y = input(fusion, 2);
    TensorView* z = input(fusion, 1);
    TensorView* out = add(mul(x, y), broadcast(z, {true, false}));
    fusion.addOutput(out);
    std::vector<TensorView*> tiles{bulkLoad(x), bulkLoad(y), bulkLoad(z)};
    out->split(1, 64);
    out->axis(0)->parallelize(BIDx);
    out->axis(1)->parallelize(BIDy);
    out->axis(2)->parallelize(TIDx);
    scheduleLike(out);
    for (TensorView* tile : tiles) {
      tile->axis(-1)->parallelize(Bulk);
      tile->inlineAt(tile->nDims() - 1);
    }
  };
  check(define, {{{3, 128}, {3, 128}, {128}}, {{2, 101}, {2, 101}, {101}}}, DataType::Float,
        [](const std::string& kernel) {
          const std::string body = kernel.substr(kernel.find("__global__"));
          CHECK(body.find("bulkLoad(&T7[") < body.find("bulkLoadWait(T6_ready"));
        });
}

TEST_CASE("scheduled: bulk copies of tensors that begin between two multiples of 16 bytes") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Fusion fusion;
    FusionGuard guard(&fusion);
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
    KernelExecutor executor;
    for (int64_t offset : {0, 1, 4}) {
      const Tensor all = Tensor::randn({3 * 128 + 4}, DataType::Float, 7, *device);
      TensorRef view = all.ref();
      view.data = static_cast<float*>(view.data) + offset;
      const std::vector<int64_t> sizes{3, 128};
      const std::vector<int64_t> strides{128, 1};
      view.sizes = sizes;
      view.strides = strides;
      KernelArgumentHolder arguments;
      arguments.push(Tensor::fromRef(view, *device));
      if (!executor.isCompiled()) {
        executor.compile(&fusion, arguments);
      }
      testValidate(&fusion, executor.run(arguments), arguments, __LINE__, __FILE__);
    }
  }
}
