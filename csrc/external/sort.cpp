// Sorting along an axis. NaN is the greatest number; equal elements keep their order, so a result
// is the same on every machine.
#include <external/combine.h>
#include <external/lanes.h>

namespace nvfuser::external {

namespace {

template <typename W>
struct Keyed {
  W key;
  int64_t at;
};

template <typename W>
bool less(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

template <typename W>
struct Order {
  bool descending;
  bool operator()(const Keyed<W>& a, const Keyed<W>& b) const {
    if (descending ? less(b.key, a.key) : less(a.key, b.key)) {
      return true;
    }
    const bool after = descending ? less(a.key, b.key) : less(b.key, a.key);
    return !after && a.at < b.at;
  }
};

/// The line's elements with their positions.
template <typename T>
std::vector<Keyed<Wide<T>>> keyed(const T* from, int64_t length, int64_t step) {
  std::vector<Keyed<Wide<T>>> keys(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    keys[static_cast<size_t>(i)] = {widened(from[i * step]), i};
  }
  return keys;
}

/// The first `k` of the line in `order`, sorted. Where they are few, the others are only compared
/// with the last of those found.
template <typename T>
std::vector<Keyed<Wide<T>>> firstOf(const T* from, int64_t length, int64_t step, int64_t k,
                                    Order<Wide<T>> order) {
  constexpr int64_t kFew = 8;  // times as many elements as are wanted
  if (k == 0 || length < kFew * k) {
    auto keys = keyed(from, length, step);
    std::partial_sort(keys.begin(), keys.begin() + k, keys.end(), order);
    return keys;
  }
  auto found = keyed(from, k, step);
  std::make_heap(found.begin(), found.end(), order);
  for (int64_t i = k; i < length; ++i) {
    const Keyed<Wide<T>> next{widened(from[i * step]), i};
    if (order(next, found.front())) {
      std::pop_heap(found.begin(), found.end(), order);
      found.back() = next;
      std::push_heap(found.begin(), found.end(), order);
    }
  }
  std::sort_heap(found.begin(), found.end(), order);
  return found;
}

template <typename Body>
void withOrderedType(DataType dtype, const char* what, const Body& body) {
  withElementType(dtype, what, [&](auto type) {
    using T = decltype(type);
    if constexpr (isReal<T> || isInteger<T>) {
      body(type);
    } else {
      userError(what, ": complex numbers have no order; sort their real parts or sizes");
    }
  });
}

}  // namespace

void runArgsort(const Call& call) {
  const auto* op = call.op->as<ArgsortOp>();
  const TensorRef& in = call.input(0);
  const TensorRef& out = call.outputs.at(0);
  const Lanes<2> lanes({&out, &in}, in.sizes, op->dim());
  withOrderedType(in.dtype, "argsort", [&](auto type) {
    using T = decltype(type);
    call.machine->parallel(lanes.count(), [&](int64_t first, int64_t last) {
      for (int64_t lane = first; lane < last; ++lane) {
        const auto starts = lanes.starts(lane);
        auto* to = static_cast<int64_t*>(out.data) + starts[0];
        auto keys =
            keyed(static_cast<const T*>(in.data) + starts[1], lanes.length(1), lanes.step(1));
        std::sort(keys.begin(), keys.end(), Order<Wide<T>>{op->isDescending()});
        for (const auto& key : keys) {
          *to = key.at;
          to += lanes.step(0);
        }
      }
    });
  });
}

void runTopK(const Call& call) {
  const auto* op = call.op->as<TopKOp>();
  const TensorRef& in = call.input(0);
  const TensorRef& values = call.outputs.at(0);
  const TensorRef& indices = call.outputs.at(1);
  const Lanes<3> lanes({&values, &indices, &in}, in.sizes, op->dim());
  const int64_t k = lanes.length(0);
  if (const auto asked = call.scalar(1).as<int64_t>(); asked != k || k > lanes.length(2)) {
    userError("topk: k is ", asked, " for an axis of extent ", lanes.length(2), ", in ",
              op->toString(), "; it lies between 0 and that");
  }
  withOrderedType(in.dtype, "topk", [&](auto type) {
    using T = decltype(type);
    call.machine->parallel(lanes.count(), [&](int64_t first, int64_t last) {
      for (int64_t lane = first; lane < last; ++lane) {
        const auto starts = lanes.starts(lane);
        const T* from = static_cast<const T*>(in.data) + starts[2];
        T* value = static_cast<T*>(values.data) + starts[0];
        auto* index = static_cast<int64_t*>(indices.data) + starts[1];
        const auto keys =
            firstOf(from, lanes.length(2), lanes.step(2), k, Order<Wide<T>>{op->isLargest()});
        for (int64_t i = 0; i < k; ++i) {
          const int64_t at = keys[static_cast<size_t>(i)].at;
          value[i * lanes.step(0)] = from[at * lanes.step(2)];
          index[i * lanes.step(1)] = at;
        }
      }
    });
  });
}

}  // namespace nvfuser::external
