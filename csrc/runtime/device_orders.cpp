#include <runtime/device_orders.h>

#include <algorithm>
#include <bit>

#include <codegen/snippet_set.h>
#include <ir/composite_nodes.h>
#include <runtime/dense_copy.h>
#include <runtime/device_kernels.h>
#include <support/round.h>

namespace nvfuser {

namespace {

// As in runtime/sort_digits.cuh.
constexpr int64_t kTile = 4096;
constexpr int64_t kThreads = 256;
constexpr int64_t kDigits = 256;
constexpr int64_t kMostOfBlock = 2048;  ///< elements that a block sorts
constexpr int64_t kLeastOfBlock = 64;   ///< a row's threads are whole warps

/// What the keys of a dtype are made by (runtime/order_key.cuh).
struct KeyType {
  std::string bits;
  std::string key;
  int64_t bytes;
};

std::optional<KeyType> keyTypeOf(DataType dtype) {
  const int64_t bytes = dataTypeSizeByte(dtype);
  const std::string bits = text("u", 8 * bytes);
  const auto of = [&](const std::string& name, const char* infinity = "") {
    return KeyType{bits, text(name, "<", bits, infinity, ">"), bytes};
  };
  switch (dtype.type) {
    case PrimDataType::Bool:
      return of("BoolKey");
    case PrimDataType::Byte:
    case PrimDataType::UInt16:
    case PrimDataType::UInt32:
    case PrimDataType::UInt64:
      return of("UnsignedKey");
    case PrimDataType::Char:
    case PrimDataType::Short:
    case PrimDataType::Int32:
    case PrimDataType::Int:
      return of("SignedKey");
    case PrimDataType::Float8_e4m3fn:
      return of("FloatKey", ", 0x7e");
    case PrimDataType::Float8_e5m2:
      return of("FloatKey", ", 0x7c");
    case PrimDataType::Half:
      return of("FloatKey", ", 0x7c00");
    case PrimDataType::BFloat16:
      return of("FloatKey", ", 0x7f80");
    case PrimDataType::Float:
      return of("FloatKey", ", 0x7f800000u");
    case PrimDataType::Double:
      return of("FloatKey", ", 0x7ff0000000000000ull");
    default:
      return std::nullopt;
  }
}

/// All kernels of a key, one text: they are compiled together, each dtype once.
std::string kernelsOf(const std::string& key) {
  codegen::SnippetSet snippets(Target::Cuda);
  snippets.add("first_of_tiles.cuh");
  std::string body = R"(
using Key = KEY;
using Bits = Key::Bits;
extern "C" __global__ void sort_rows(const Bits* in, const i64* in_positions, i64 rows, u32 length,
    u32 padded, u32 count, bool descending, Bits* values, i64* positions) {
  extern __shared__ __align__(16) unsigned char smem[];
  sortRows<Key>(in, in_positions, rows, length, padded, count, descending, values, positions, smem);
}
extern "C" __global__ void __launch_bounds__(256) first_of_tiles(const Bits* in,
    const i64* in_positions, i64 length, u32 tiles, u32 count, u32 padded, bool descending,
    Bits* values, i64* positions) {
  extern __shared__ __align__(16) unsigned char smem[];
  firstOfTiles<Key>(in, in_positions, length, tiles, count, padded, descending, values, positions,
                    smem);
}
extern "C" __global__ void __launch_bounds__(256) digit_starts(u32* counts, u32 tiles, u32* totals) {
  digitStarts(counts, tiles, totals);
}
extern "C" __global__ void take_first(const Bits* in, const i64* order, i64 length, i64 count,
    i64 all, Bits* values, i64* positions) {
  const i64 at = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (at < all) {
    const i64 row = at / count;
    const i64 place = order[row * length + at % count];
    values[at] = in[row * length + place];
    positions[at] = place;
  }
}
)";
  for (const char* source : {"Elements", "Keys"}) {
    body += text("extern \"C\" __global__ void __launch_bounds__(256) count_", source,
                 "(const Bits* in, i64 length, u32 tiles, u32 shift, bool descending,\n"
                 "    u32* counts) {\n  digitCounts<Key, Source::",
                 source, ">(in, length, tiles, shift, descending, counts);\n}\n");
    for (const char* position : {"u32", "i64"}) {
      body +=
          text("extern \"C\" __global__ void __launch_bounds__(256) place_", source, "_", position,
               "(const Bits* in, const u32* in_positions, i64 length,\n"
               "    u32 tiles, u32 shift, bool descending, const u32* starts, "
               "const u32* totals,\n    Bits* out_keys, ",
               position, "* out_positions) {\n  digitPlaces<Key, Source::", source, ", ", position,
               ">(in, in_positions, length, tiles, shift,\n"
               "      descending, starts, totals, out_keys, out_positions);\n}\n");
    }
  }
  body.replace(body.find("KEY"), 3, key);
  return snippets.text() + body;
}

const std::vector<std::string>& entries() {
  static const auto* all = new std::vector<std::string>{
      "sort_rows",  "first_of_tiles",     "digit_starts",       "take_first",     "count_Elements",
      "count_Keys", "place_Elements_u32", "place_Elements_i64", "place_Keys_u32", "place_Keys_i64"};
  return *all;
}

/// Launches for rows of one tensor.
class Orders {
 public:
  Orders(const KeyType& key, bool descending, Device& device, const RunContext& context)
      : key_(key),
        descending_(descending),
        device_(device),
        context_(context),
        kernels_(deviceKernels(device, key.key, entries(), kernelsOf)) {}

  /// The first `count` of each row, in order; `values` may be null.
  void first(const void* in, int64_t rows, int64_t length, int64_t count, void* values,
             void* positions) {
    if (length <= kMostOfBlock) {
      sortRows(in, nullptr, rows, length, count, values, positions);
    } else if (2 * count <= kMostOfBlock && values != nullptr) {
      firstOfLongRows(in, rows, length, count, values, positions);
    } else if (values == nullptr) {
      sortDigits(in, rows, length, positions);
    } else {
      const DeviceMemory order = memory(rows * length * 8);
      sortDigits(in, rows, length, order.data());
      launch("take_first", ceilDiv(rows * count, kThreads), {kThreads}, 0, in, order.data(), length,
             count, rows * count, values, positions);
    }
  }

 private:
  static int64_t padded(int64_t length) {
    return static_cast<int64_t>(
        std::bit_ceil(static_cast<uint64_t>(std::max(length, kLeastOfBlock))));
  }
  int64_t entryBytes() const { return key_.bytes == 8 ? 16 : 8; }
  DeviceMemory memory(int64_t bytes) const {
    return DeviceMemory(static_cast<size_t>(bytes), device_, context_);
  }

  struct Block {
    int64_t x, y = 1;
  };
  template <typename... Args>
  void launch(const char* entry, int64_t blocks, Block block, int64_t shared_bytes, Args... args) {
    LaunchShape shape;
    shape.grid[0] = blocks;
    shape.block[0] = block.x;
    shape.block[1] = block.y;
    shape.shared_bytes = shared_bytes;
    launchKernel(device_, *kernels_.at(entry), shape, context_, args...);
  }

  void sortRows(const void* in, const void* in_positions, int64_t rows, int64_t length,
                int64_t count, void* values, void* positions) {
    const int64_t all = padded(length);
    const Block block{all / 2, std::max<int64_t>(1, kThreads / (all / 2))};
    launch("sort_rows", ceilDiv(rows, block.y), block, all * block.y * entryBytes(), in,
           in_positions, rows, narrow(length), narrow(all), narrow(count), descending_, values,
           positions);
  }

  /// Tiles that a block looks through give the row of the next round.
  void firstOfLongRows(const void* in, int64_t rows, int64_t length, int64_t count, void* values,
                       void* positions) {
    DeviceMemory found, places;
    const void* in_positions = nullptr;
    while (length > kMostOfBlock) {
      const int64_t tiles = ceilDiv(length, kTile);
      DeviceMemory next, next_places;
      void* to = values;
      void* to_places = positions;
      if (tiles > 1) {
        next = memory(rows * tiles * count * key_.bytes);
        next_places = memory(rows * tiles * count * 8);
        to = next.data();
        to_places = next_places.data();
      }
      const int64_t all = padded(count);
      launch("first_of_tiles", rows * tiles, {kThreads}, all * entryBytes(), in, in_positions,
             length, narrow(tiles), narrow(count), narrow(all), descending_, to, to_places);
      if (tiles == 1) {
        return;
      }
      found = std::move(next);
      places = std::move(next_places);
      in = found.data();
      in_positions = places.data();
      length = tiles * count;
    }
    sortRows(in, in_positions, rows, length, count, values, positions);
  }

  void sortDigits(const void* in, int64_t rows, int64_t length, void* positions) {
    const int64_t tiles = ceilDiv(length, kTile);
    const DeviceMemory counts = memory(rows * kDigits * tiles * 4);
    const DeviceMemory totals = memory(rows * kDigits * 4);
    const int64_t passes = key_.key.starts_with("Bool") ? 1 : key_.bytes;
    DeviceMemory keys[2], places[2];
    for (int64_t i = 0; i < std::min<int64_t>(passes - 1, 2); ++i) {
      keys[i] = memory(rows * length * key_.bytes);
      places[i] = memory(rows * length * 4);
    }
    const void* from = in;
    const void* from_places = nullptr;
    for (int64_t pass = 0; pass < passes; ++pass) {
      const bool is_first = pass == 0;
      const bool is_last = pass + 1 == passes;
      const uint32_t shift = narrow(8 * pass);
      void* to = is_last ? nullptr : keys[pass % 2].data();
      void* to_places = is_last ? positions : places[pass % 2].data();
      launch(is_first ? "count_Elements" : "count_Keys", rows * tiles, {kThreads}, 0, from, length,
             narrow(tiles), shift, descending_, counts.data());
      launch("digit_starts", rows * kDigits, {kThreads}, 0, counts.data(), narrow(tiles),
             totals.data());
      const char* place = is_first ? (is_last ? "place_Elements_i64" : "place_Elements_u32")
                                   : (is_last ? "place_Keys_i64" : "place_Keys_u32");
      launch(place, rows * tiles, {kThreads}, 0, from, from_places, length, narrow(tiles), shift,
             descending_, counts.data(), totals.data(), to, to_places);
      from = to;
      from_places = to_places;
    }
  }

  static uint32_t narrow(int64_t number) { return static_cast<uint32_t>(number); }

  const KeyType& key_;
  bool descending_;
  Device& device_;
  const RunContext& context_;
  const DeviceKernels& kernels_;
};

/// The order of axes in which `dim` is the innermost one.
std::vector<int64_t> innermost(int64_t dim, int64_t axes) {
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < axes; ++axis) {
    if (axis != dim) {
      order.push_back(axis);
    }
  }
  if (axes > 0) {
    order.push_back(dim);
  }
  return order;
}

std::vector<int64_t> permuted(const std::vector<int64_t>& sizes,
                              const std::vector<int64_t>& order) {
  std::vector<int64_t> result;
  for (const int64_t axis : order) {
    result.push_back(sizes[static_cast<size_t>(axis)]);
  }
  return result;
}

/// Strides of a tensor whose memory has its axes in `order`.
std::vector<int64_t> stridesIn(const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& order) {
  const std::vector<int64_t> dense = rowMajorStrides(permuted(sizes, order));
  std::vector<int64_t> strides(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) {
    strides[static_cast<size_t>(order[i])] = dense[i];
  }
  return strides;
}

}  // namespace

std::optional<std::vector<Tensor>> orderOnDevice(const Expr* op, const Tensor& in,
                                                 const std::vector<ViewLayout>& layouts,
                                                 Device& device, const RunContext& context) {
  const auto key = op->isOneOf<ArgsortOp, TopKOp>() ? keyTypeOf(in.dtype()) : std::nullopt;
  if (!key) {
    return std::nullopt;
  }
  const bool is_topk = op->isA<TopKOp>();
  const int64_t dim = is_topk ? op->as<TopKOp>()->dim() : op->as<ArgsortOp>()->dim();
  const bool descending =
      is_topk ? op->as<TopKOp>()->isLargest() : op->as<ArgsortOp>()->isDescending();
  const int64_t length = in.dim() == 0 ? 1 : in.size(dim);
  const ViewLayout& layout = layouts.back();
  const int64_t count = in.dim() == 0 ? 1 : layout.sizes[static_cast<size_t>(dim)];
  if (length > std::numeric_limits<int32_t>::max() || count > length) {
    return std::nullopt;
  }
  const std::vector<int64_t> order = innermost(dim, in.dim());
  std::vector<Tensor> results;
  for (size_t i = 0; i < layouts.size(); ++i) {
    results.push_back(Tensor::emptyStrided(layout.sizes, stridesIn(layout.sizes, order),
                                           op->output(i)->dtype(), device, context));
  }
  if (results.back().numel() > 0) {
    const Tensor rows = denseOnDevice(in.permute(order), context);
    Orders(*key, descending, device, context)
        .first(rows.data(), in.numel() / length, length, count,
               is_topk ? results[0].data() : nullptr, results.back().data());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = denseInOrder(results[i], layouts[i].strides, context);
  }
  return results;
}

}  // namespace nvfuser
