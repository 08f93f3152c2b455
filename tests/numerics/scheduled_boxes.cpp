// Bulk copies of boxes (cp.async.bulk.tensor): loads and stores along several axes, swizzled and
// not, of tensors that the copy engine takes and such that it does not.
#include "scheduled.h"

using namespace nvfuser;
using namespace scheduled;
using enum ParallelType;

namespace {

/// Sizes whose rows the engine takes (whole 16 bytes of float), with tiles that hang over, and such
/// whose rows it does not take.
const std::vector<Sizes> kPlanes{{{64, 128}}, {{33, 132}}, {{1, 4}}, {{70, 100}}, {{5, 101}}};

TensorView* input(Fusion& fusion, int64_t rank, DataType dtype = DataType::Float) {
  TensorView* x = makeContigTensor(rank, dtype);
  fusion.addInput(x);
  return x;
}

TensorView* boxLoad(TensorView* x) {
  TensorView* tile = x->cacheAfter(LoadStoreOpType::CpAsyncBulkTensorTile);
  tile->setMemoryType(MemoryType::Shared);
  return tile;
}

/// [i0, i1] → [i0/rows, i1/columns, rows, columns], tiles bound to blocks.
void tileTo(TensorView* tv, int64_t rows, int64_t columns) {
  tv->split(1, columns)->split(0, rows);
  tv->reorder({{1, 2}, {2, 1}});
  tv->axis(0)->parallelize(BIDy);
  tv->axis(1)->parallelize(BIDx);
}

void bindBulk(TensorView* tv, int64_t count) {
  for (int64_t i = 1; i <= count; ++i) {
    tv->axis(-i)->parallelize(Bulk);
  }
}

std::string ownText(const std::string& kernel) { return kernel.substr(kernel.find("__global__")); }

}  // namespace

TEST_CASE("scheduled boxes: a plane in tiles, of any dtype") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2, dtype);
      TensorView* out = dtype == DataType::BFloat16 ? set(x) : neg(x);  // without a cast
      fusion.addOutput(out);
      TensorView* tile = boxLoad(x);
      for (TensorView* tv : {tile, out}) {
        tileTo(tv, 16, 64);
      }
      bindBulk(tile, 2);
      out->axis(3)->parallelize(TIDx);
      tile->inlineAt(2);
    };
    check(define, kPlanes, dtype, [](const std::string& kernel) {
      const std::string body = ownText(kernel);
      CHECK(contains(body, "const __grid_constant__ TensorMap T0_map"));
      CHECK(contains(body, "boxLoad<Box<0, 64, 16>>(&T2[0], T0_map, {"));
      CHECK(!contains(body, "bulkLoad("));
    });
  }
}

TEST_CASE("scheduled boxes: a plane stored in tiles") {
  for (bool in_loop : {false, true}) {
    CAPTURE(in_loop);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* y = exp(x);
      TensorView* out = set(y);
      fusion.addOutput(out);
      y->setMemoryType(MemoryType::Shared);
      for (TensorView* tv : {y, out}) {
        tileTo(tv, 8, 32);
        if (in_loop) {
          tv->axis(1)->parallelize(Serial);
        }
      }
      y->axis(3)->parallelize(TIDx);
      bindBulk(out, 2);
      y->inlineAt(2);
    };
    check(define, kPlanes, DataType::Float, [](const std::string& kernel) {
      const std::string body = ownText(kernel);
      CHECK(contains(body, "boxStore<Box<0, 32, 8>>(T2_map, {"));
      CHECK(contains(body, "bulkStoreWait<0>();"));
    });
  }
}

TEST_CASE("scheduled boxes: three to five axes") {
  for (int64_t rank : {3, 4, 5}) {
    CAPTURE(rank);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, rank);
      TensorView* out = neg(x);
      fusion.addOutput(out);
      TensorView* tile = boxLoad(x);
      for (TensorView* tv : {tile, out}) {
        tv->split(rank - 1, 16);  // [..., i/16, 16]
        for (int64_t i = rank - 2; i > 0; --i) {
          tv->split(i, 2);
        }
        // [i0, i1/2, 2, ..., i/16, 16] → outer parts in front
        std::unordered_map<int64_t, int64_t> order;
        for (int64_t i = 1; i < rank; ++i) {
          order[2 * i - 1] = i;
          order[2 * i] = rank - 1 + i;
        }
        tv->reorder(order);
        tv->axis(0)->parallelize(BIDx);
      }
      bindBulk(tile, rank - 1);
      out->axis(-1)->parallelize(TIDx);
      tile->inlineAt(rank);
    };
    std::vector<int64_t> sizes{3, 4, 3, 5, 20};
    std::vector<int64_t> odd{2, 3, 2, 1, 9};
    sizes.erase(sizes.begin() + 1, sizes.begin() + 1 + (5 - rank));
    odd.erase(odd.begin() + 1, odd.begin() + 1 + (5 - rank));
    check(define, {{sizes}, {odd}}, DataType::Float, [](const std::string& kernel) {
      CHECK(contains(ownText(kernel), "boxLoad<Box<0, 16, 2"));
    });
  }
}

TEST_CASE("scheduled boxes: rows apart in memory") {
  auto define = [](Fusion& fusion) {
    TensorView* x = TensorViewBuilder()
                        .ndims(2)
                        .dtype(DataType::Float)
                        .contiguity(std::vector<std::optional<bool>>{false, true})
                        .build();
    fusion.addInput(x);
    TensorView* out = neg(x);
    fusion.addOutput(out);
    TensorView* tile = boxLoad(x);
    for (TensorView* tv : {tile, out}) {
      tileTo(tv, 8, 32);
    }
    bindBulk(tile, 2);
    out->axis(3)->parallelize(TIDx);
    tile->inlineAt(2);
  };
  for (Device* device : testDevices()) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    define(fusion);
    KernelExecutor executor;
    for (int64_t row : {48, 45}) {  // the engine takes the former
      for (int64_t shift : {0, 1}) {
        const Tensor all = Tensor::randn({20 * row + 4}, DataType::Float, 7, *device);
        TensorRef view = all.ref();
        view.data = static_cast<float*>(view.data) + shift;
        const std::vector<int64_t> sizes{19, 40};
        const std::vector<int64_t> strides{row, 1};
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
}

TEST_CASE("scheduled boxes: a transpose through swizzled tiles") {
  struct Form {
    DataType dtype;
    MmaInputSmemSwizzle swizzle;
    int64_t bytes;
  };
  for (Form form : {Form{DataType::Float, MmaInputSmemSwizzle::B128, 128},
                    Form{DataType::Float, MmaInputSmemSwizzle::B64, 64},
                    Form{DataType::BFloat16, MmaInputSmemSwizzle::B128, 128},
                    Form{DataType::BFloat16, MmaInputSmemSwizzle::B32, 32}}) {
    CAPTURE(form.bytes);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2, form.dtype);
      TensorView* out = transpose(x, 0, 1);
      fusion.addOutput(out);
      TensorView* tile = boxLoad(x);
      const int64_t columns = form.bytes / dataTypeSizeByte(form.dtype);
      tileTo(tile, 32, columns);  // of x: [i0/32, i1/columns, 32, columns]
      tile->applyMmaSwizzleForTMALoad(form.swizzle);
      // [i1/columns, i0/32, columns, 32] of the result
      out->split(1, 32)->split(0, columns);
      out->reorder({{0, 1}, {1, 2}, {2, 0}});  // [i0/32, i1/columns, columns, 32]
      out->axis(0)->parallelize(BIDy);
      out->axis(1)->parallelize(BIDx);
      out->axis(3)->parallelize(TIDx);
      tile->inlineAt(2);
    };
    check(define, {{{64, 128}}, {{40, 72}}, {{1, 8}}, {{33, 101}}}, form.dtype,
          [&](const std::string& kernel) {
            CHECK(contains(ownText(kernel), text("boxLoad<Box<", form.bytes, ", ")));
          });
  }
}

TEST_CASE("scheduled boxes: stored from swizzled tiles") {
  auto define = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2);
    TensorView* turned = transpose(x, 0, 1);
    TensorView* out = set(turned);
    fusion.addOutput(out);
    turned->setMemoryType(MemoryType::Shared);
    for (TensorView* tv : {turned, out}) {
      tileTo(tv, 32, 32);
    }
    turned->swizzleTMABox(MmaInputSmemSwizzle::B128);
    turned->axis(2)->parallelize(TIDx);  // neighbours read a row of x
    bindBulk(out, 2);
    turned->inlineAt(2);
  };
  check(define, {{{64, 128}}, {{40, 72}}, {{4, 9}}, {{33, 101}}}, DataType::Float,
        [](const std::string& kernel) {
          CHECK(contains(ownText(kernel), "boxStore<Box<128, 32, 32>>(T2_map, {"));
        });
}

TEST_CASE("scheduled boxes: circular buffers of tiles") {
  for (int64_t prefetch : {1, 2}) {
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* y = input(fusion, 2);
      TensorView* out = add(x, y);
      fusion.addOutput(out);
      std::vector<TensorView*> tiles{boxLoad(x), boxLoad(y)};
      for (TensorView* tv : {tiles[0], tiles[1], out}) {
        tileTo(tv, 8, 32);
        tv->axis(1)->parallelize(Serial);
      }
      out->axis(3)->parallelize(TIDx);
      for (TensorView* tile : tiles) {
        bindBulk(tile, 2);
        tile->inlineAt(2);
        tile->circularBuffer(3, prefetch);
      }
    };
    check(define, {{{20, 200}, {20, 200}}, {{8, 32}, {8, 32}}, {{3, 101}, {3, 101}}});
  }
}

TEST_CASE("scheduled boxes: what is no box is copied in loops of smaller ones") {
  // Rows of two parts of 32: one axis, twice in a box; and 300 rows, more than a box has.
  for (bool many_rows : {false, true}) {
    CAPTURE(many_rows);
    auto define = [&](Fusion& fusion) {
      TensorView* x = input(fusion, 2);
      TensorView* out = neg(x);
      fusion.addOutput(out);
      TensorView* tile = boxLoad(x);
      for (TensorView* tv : {tile, out}) {
        tileTo(tv, many_rows ? 300 : 8, many_rows ? 8 : 64);
        if (!many_rows) {
          tv->split(3, 32);
          tv->reorder({{2, 3}, {3, 2}});  // [.., .., 2, 8, 32]
        }
      }
      bindBulk(tile, many_rows ? 2 : 3);
      out->axis(-1)->parallelize(TIDx);
      tile->inlineAt(2);
    };
    check(define, kPlanes, DataType::Float, [&](const std::string& kernel) {
      CHECK(contains(ownText(kernel), many_rows ? "bulkLoad(" : "boxLoad<Box<0, 32, 8>>"));
    });
  }
}
