// Random tiles through shared memory, by boxes that are loaded, stored, or both: any rank, extents,
// dtypes, sizes and strides, in circular buffers and without, filled by threads of their own or
// not.
#include <random>

#include "scheduled.h"

using namespace nvfuser;
using namespace scheduled;
using enum ParallelType;

namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool coin() { return number(0, 1) == 1; }
  template <typename T>
  T of(std::initializer_list<T> all) {
    return all.begin()[number(0, static_cast<int64_t>(all.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

struct Form {
  DataType dtype;
  std::vector<int64_t> tile;  ///< of each axis; 1: none
  bool loads, stores, swizzled, specialised;
  int64_t stages;  ///< 0: no circular buffer
  std::vector<Sizes> sizes;

  explicit Form(uint64_t seed) {
    Draw draw(seed);
    dtype = draw.of({DataType::Float, DataType::BFloat16, DataType::Double, DataType::Int32});
    const int64_t rank = draw.number(2, 5);
    loads = draw.coin();
    stores = !loads || draw.coin();
    stages = loads && draw.coin() ? draw.number(2, 4) : 0;
    specialised = stages > 0 && draw.coin();
    swizzled = rank == 2 && draw.coin();
    for (int64_t i = 0; i + 1 < rank; ++i) {
      tile.push_back(swizzled ? draw.of({8, 16}) : draw.number(1, 4));
    }
    const int64_t row = draw.of({32, 64, 128});
    tile.push_back(specialised && !swizzled ? draw.of({32, 64}) : row / dataTypeSizeByte(dtype));
    if (specialised && tile.back() % 32 != 0) {
      specialised = false;  // no whole warps
    }
    for (int run = 0; run < 3; ++run) {
      std::vector<int64_t> size;
      for (int64_t extent : tile) {
        size.push_back(draw.number(1, 3 * extent + 1));
      }
      if (draw.coin()) {  // rows that the engine takes
        size.back() = (size.back() + 15) / 16 * 16;
      }
      sizes.push_back({size});
    }
  }

  std::string toString() const {
    return text("tile ", join(tile, " x ", [](int64_t extent) { return text(extent); }), " of ",
                dtype, loads ? ", loaded" : "", stores ? ", stored" : "",
                swizzled ? ", swizzled" : "", stages > 0 ? text(", ", stages, " stages") : "",
                specialised ? " by threads of their own" : "");
  }
};

/// Tiles of `tv`: the loops over them in front, the first of them over blocks. How many those are.
int64_t tileBy(TensorView* tv, const std::vector<int64_t>& tile) {
  std::vector<int64_t> outer;
  std::vector<int64_t> inner;
  int64_t at = 0;
  for (int64_t extent : tile) {
    outer.push_back(at);
    if (extent > 1) {
      tv->split(at, extent);
      inner.push_back(++at);
    }
    ++at;
  }
  std::unordered_map<int64_t, int64_t> order;
  int64_t to = 0;
  for (int64_t from : outer) {
    order[from] = to++;
  }
  for (int64_t from : inner) {
    order[from] = to++;
  }
  tv->reorder(order);
  tv->axis(0)->parallelize(BIDx);
  return static_cast<int64_t>(outer.size());
}

void bindBulk(TensorView* tv, int64_t from) {
  for (int64_t i = from; i < tv->nDims(); ++i) {
    tv->axis(i)->parallelize(Bulk);
  }
}

void define(const Form& form, Fusion& fusion) {
  TensorView* x = makeContigTensor(static_cast<int64_t>(form.tile.size()), form.dtype);
  fusion.addInput(x);
  TensorView* body = form.dtype == DataType::BFloat16 ? set(x) : neg(x);
  TensorView* out = form.stores ? set(body) : body;
  fusion.addOutput(out);
  TensorView* load = form.loads ? x->cacheAfter(LoadStoreOpType::CpAsyncBulkTensorTile) : nullptr;
  const int64_t loops = tileBy(body, form.tile);
  body->axis(-1)->parallelize(TIDx);
  const auto box = [&](TensorView* in_shared) {
    in_shared->setMemoryType(MemoryType::Shared);
    if (form.swizzled) {
      const int64_t row = form.tile.back() * dataTypeSizeByte(form.dtype);
      in_shared->swizzleTMABox(row == 128  ? MmaInputSmemSwizzle::B128
                               : row == 64 ? MmaInputSmemSwizzle::B64
                                           : MmaInputSmemSwizzle::B32);
    }
  };
  if (load != nullptr) {
    tileBy(load, form.tile);
    box(load);
    bindBulk(load, loops);
    load->inlineAt(loops);
  }
  if (form.stores) {
    tileBy(out, form.tile);
    box(body);
    bindBulk(out, loops);
    body->inlineAt(loops);
  }
  if (form.stages > 0) {
    load->circularBuffer(form.stages, -1,
                         form.specialised ? CircularBufferType(WarpSpecialized(TIDy))
                                          : CircularBufferType(Pipelined(false)));
  }
}

}  // namespace

TEST_CASE("scheduled boxes: random tiles") {
  int boxes = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Form form(seed);
    CAPTURE(seed);
    CAPTURE(form.toString());
    check([&](Fusion& fusion) { define(form, fusion); }, form.sizes, form.dtype,
          [&](const std::string& kernel) {
            boxes += contains(kernel, form.loads ? "boxLoad<Box" : "boxStore<Box") ? 1 : 0;
          });
  }
  CHECK(boxes > 30);
}
