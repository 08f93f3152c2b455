// Scatter: elements go to places within their own line along `dim`, so lines are independent and
// each is worked on by one thread in the order of its elements. Where all lines have the same
// places (rows of a table), what goes to one place is sorted together, and places are independent.
#include <atomic>
#include <cstring>

#include <evaluator/strided_loop.h>
#include <external/combine.h>
#include <external/lanes.h>
#include <ir/index_error.h>

namespace nvfuser::external {

namespace {

template <typename T>
void copyElements(const TensorRef& from, const TensorRef& to) {
  forEachRun<2>(
      to.sizes, {to.strides, from.strides}, {0, 0},
      [&](int64_t length, const std::array<int64_t, 2>& start, const std::array<int64_t, 2>& step) {
        for (int64_t i = 0; i < length; ++i) {
          static_cast<T*>(to.data)[start[0] + i * step[0]] =
              static_cast<const T*>(from.data)[start[1] + i * step[1]];
        }
      });
}

/// The index tensor as 64-bit integers in its own strides.
int64_t indexAt(const TensorRef& index, int64_t offset) {
  if (index.dtype == DataType::Int) {
    return static_cast<const int64_t*>(index.data)[offset];
  }
  return loadInteger(
      static_cast<const std::byte*>(index.data) + offset * dataTypeSizeByte(index.dtype),
      index.dtype);
}

template <typename T>
void scatterElements(const Call& call, const ScatterOp* op, const TensorRef& source) {
  const TensorRef& index = call.input(1);
  const TensorRef& out = call.outputs.at(0);
  const Lanes<3> lanes({&out, &source, &index}, index.sizes, op->dim());
  const int64_t extent = lanes.length(0);
  const auto type = op->accumulateOp();
  std::atomic<int64_t> wrong{-1};
  std::atomic<bool> failed{false};
  call.machine->parallel(lanes.count(), [&](int64_t first, int64_t last) {
    std::vector<Wide<T>> sums;
    for (int64_t lane = first; lane < last && !failed; ++lane) {
      const auto starts = lanes.starts(lane);
      T* to = static_cast<T*>(out.data) + starts[0];
      const T* from = static_cast<const T*>(source.data) + starts[1];
      if (type) {
        sums.resize(static_cast<size_t>(extent));
        for (int64_t i = 0; i < extent; ++i) {
          sums[static_cast<size_t>(i)] = widened(to[i * lanes.step(0)]);
        }
      }
      for (int64_t i = 0; i < lanes.length(2); ++i) {
        const int64_t at = indexAt(index, starts[2] + i * lanes.step(2));
        if (at < 0 || at >= extent) {
          wrong = at;
          failed = true;
          return;
        }
        const T value = from[i * lanes.step(1)];
        if (type) {
          Wide<T>& sum = sums[static_cast<size_t>(at)];
          sum = combine(*type, sum, widened(value));
        } else {
          to[at * lanes.step(0)] = value;
        }
      }
      for (int64_t i = 0; type && i < extent; ++i) {
        storeNumber(to[i * lanes.step(0)], sums[static_cast<size_t>(i)], out.dtype);
      }
    }
  });
  if (failed) {
    indexOutOfRange(*op, wrong, extent);
  }
}

/// Whether all lines along `dim` have the same places.
bool scattersRows(const TensorRef& index, int64_t dim) {
  bool alike = index.sizes.size() > 1;
  for (size_t axis = 0; axis < index.sizes.size(); ++axis) {
    alike = alike && (static_cast<int64_t>(axis) == dim || index.strides[axis] == 0);
  }
  return alike;
}

template <typename T>
void accumulateRows(const Call& call, const ScatterOp* op, const TensorRef& source) {
  const TensorRef& index = call.input(1);
  const TensorRef& out = call.outputs.at(0);
  const auto dim = static_cast<size_t>(op->dim());
  const int64_t extent = out.sizes[dim];
  const int64_t count = index.sizes[dim];
  // The entries of each place, in their order.
  std::vector<int64_t> places(static_cast<size_t>(count));
  std::vector<int64_t> ends(static_cast<size_t>(extent) + 1, 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = indexAt(index, i * index.strides[dim]);
    if (at < 0 || at >= extent) {
      indexOutOfRange(*op, at, extent);
    }
    places[static_cast<size_t>(i)] = at;
    ++ends[static_cast<size_t>(at) + 1];
  }
  for (size_t place = 0; place < static_cast<size_t>(extent); ++place) {
    ends[place + 1] += ends[place];
  }
  std::vector<int64_t> entries(places.size());
  std::vector<int64_t> next(ends.begin(), ends.end() - 1);
  for (size_t i = 0; i < places.size(); ++i) {
    entries[static_cast<size_t>(next[static_cast<size_t>(places[i])]++)] = static_cast<int64_t>(i);
  }
  auto withoutDim = [&](std::vector<int64_t> list) {
    list.erase(list.begin() + op->dim());
    return list;
  };
  const std::vector<int64_t> sizes = withoutDim(index.sizes);
  const std::vector<int64_t> to_strides = withoutDim(out.strides);
  const std::vector<int64_t> from_strides = withoutDim(source.strides);
  call.machine->parallel(extent, [&](int64_t first, int64_t last) {
    std::vector<Wide<T>> sums;
    for (int64_t place = first; place < last; ++place) {
      const auto at = static_cast<size_t>(place);
      if (ends[at] == ends[at + 1]) {
        continue;
      }
      T* to = static_cast<T*>(out.data) + place * out.strides[dim];
      sums.clear();
      forEachRun<1>(sizes, {to_strides}, {0}, [&](int64_t length, auto start, auto step) {
        for (int64_t i = 0; i < length; ++i) {
          sums.push_back(widened(to[start[0] + i * step[0]]));
        }
      });
      for (int64_t entry = ends[at]; entry < ends[at + 1]; ++entry) {
        const T* from = static_cast<const T*>(source.data) +
                        entries[static_cast<size_t>(entry)] * source.strides[dim];
        auto sum = sums.begin();
        forEachRun<1>(sizes, {from_strides}, {0}, [&](int64_t length, auto start, auto step) {
          for (int64_t i = 0; i < length; ++i, ++sum) {
            *sum = combine(*op->accumulateOp(), *sum, widened(from[start[0] + i * step[0]]));
          }
        });
      }
      auto sum = sums.begin();
      forEachRun<1>(sizes, {to_strides}, {0}, [&](int64_t length, auto start, auto step) {
        for (int64_t i = 0; i < length; ++i, ++sum) {
          storeNumber(to[start[0] + i * step[0]], *sum, out.dtype);
        }
      });
    }
  });
}

}  // namespace

void runScatter(const Call& call) {
  const auto* op = call.op->as<ScatterOp>();
  const TensorRef& out = call.outputs.at(0);
  withElementType(out.dtype, "scatter", [&](auto type) {
    using T = decltype(type);
    copyElements<T>(call.input(0), out);
    if (call.input(1).numel() == 0) {
      return;
    }
    T value{};
    TensorRef source{.data = &value,
                     .dtype = out.dtype,
                     .sizes = call.input(1).sizes,
                     .strides = std::vector<int64_t>(out.sizes.size(), 0)};
    if (call.isScalar(2)) {
      storeElement(&value, out.dtype, call.scalar(2));
    } else {
      source = call.input(2);
    }
    if (op->accumulateOp() && scattersRows(call.input(1), op->dim())) {
      accumulateRows<T>(call, op, source);
    } else {
      scatterElements<T>(call, op, source);
    }
  });
}

}  // namespace nvfuser::external
