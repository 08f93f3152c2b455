/// `Array`: a tensor inside the reference interpreter. Elements are held as numbers of the host
/// (double, int64 or complex<double>), and a view shares them: permuting, slicing, broadcasting and
/// expanding copy nothing.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include <evaluator/element_codec.h>
#include <evaluator/host_tensor.h>
#include <evaluator/strided_loop.h>
#include <ir/tensor_ref.h>

namespace nvfuser::reference {

using Complex = std::complex<double>;
/// Order as in `HostNumber`.
using Numbers = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<Complex>>;

struct Array {
  DataType dtype;
  std::vector<int64_t> sizes;
  std::vector<int64_t>
      strides;  ///< in elements; 0 where all elements along the axis are the same one
  int64_t offset = 0;
  std::shared_ptr<Numbers> numbers;

  size_t rank() const { return sizes.size(); }
  int64_t numel() const;
  HostNumber kind() const { return hostNumber(dtype); }

  template <typename T>
  const T* data() const {
    return std::get<std::vector<T>>(*numbers).data();
  }
  template <typename T>
  T* data() {
    return std::get<std::vector<T>>(*numbers).data();
  }
};

/// Row-major, every element zero.
Array makeArray(DataType dtype, std::vector<int64_t> sizes);
/// One element, repeated over `sizes`.
Array splat(const PolymorphicValue& value, DataType dtype, const std::vector<int64_t>& sizes);
/// The elements of `ref`, in this process' memory. Axes of stride 0 stay so.
Array load(const TensorRef& ref);
/// Every element as bytes, rounded to the dtype.
HostTensor store(const Array& array);

/// The element of a 0-dim array, or of any array with one element.
PolymorphicValue onlyElement(const Array& array);
/// Copies `from` into `to`, which has its sizes, where `to` starts at its own offset.
void copyInto(Array& to, const Array& from);
/// Row-major, with its elements its own.
Array materialized(const Array& array);
/// The array itself if it is row-major without gaps, else a copy that is.
Array contiguous(const Array& array);
/// The elements as `dtype` holds them: a cast.
Array convert(const Array& array, DataType dtype);
/// Floats and complex numbers rounded to the array's dtype.
Array rounded(const Array& array);

/// Axis `axis` is walked by `strides`' other entries; helpers that make views.
Array broadcastTo(const Array& array, const std::vector<int64_t>& sizes);
/// The sizes that arrays broadcast to; an operand of lower rank has to be 0-dim. `what` names the
/// operation.
std::vector<int64_t> commonSizes(const std::vector<const Array*>& arrays, const std::string& what);

/// Calls `body` with the C++ type that holds `kind`: `body(T{})`.
template <typename Body>
auto withNumberType(HostNumber kind, const Body& body) {
  switch (kind) {
    case HostNumber::Integer:
      return body(int64_t{});
    case HostNumber::Real:
      return body(double{});
    case HostNumber::Complex:
      break;
  }
  return body(Complex{});
}

/// out[i] = f(in0[i], in1[i], …) over the common sizes; where all operands repeat along an axis, so
/// does the result, and `f` is asked once. `In` and `Out` are the types that hold the operands' and
/// the result's numbers.
template <typename Out, typename In, size_t N, typename F>
Array mapElements(const std::array<Array, N>& operands, const std::vector<int64_t>& sizes,
                  DataType dtype, const F& f) {
  std::vector<int64_t> distinct = sizes;
  std::array<std::vector<int64_t>, N + 1> strides;
  std::array<int64_t, N + 1> offsets{};
  std::array<const In*, N> from{};
  for (size_t n = 0; n < N; ++n) {
    const Array viewed = broadcastTo(operands[n], sizes);
    strides[n + 1] = viewed.strides;
    offsets[n + 1] = viewed.offset;
    from[n] = operands[n].template data<In>();
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    bool repeats = sizes[axis] > 1;
    for (size_t n = 0; n < N; ++n) {
      repeats = repeats && strides[n + 1][axis] == 0;
    }
    if (repeats) {
      distinct[axis] = 1;
    }
  }
  Array out = makeArray(dtype, distinct);
  strides[0] = out.strides;
  Out* to = out.template data<Out>();
  forEachRun<N + 1>(distinct, strides, offsets,
                    [&](int64_t length, const std::array<int64_t, N + 1>& start,
                        const std::array<int64_t, N + 1>& step) {
                      for (int64_t i = 0; i < length; ++i) {
                        if constexpr (N == 1) {
                          to[start[0] + i * step[0]] = f(from[0][start[1] + i * step[1]]);
                        } else if constexpr (N == 2) {
                          to[start[0] + i * step[0]] =
                              f(from[0][start[1] + i * step[1]], from[1][start[2] + i * step[2]]);
                        } else {
                          to[start[0] + i * step[0]] =
                              f(from[0][start[1] + i * step[1]], from[1][start[2] + i * step[2]],
                                from[2][start[3] + i * step[3]]);
                        }
                      }
                    });
  return broadcastTo(out, sizes);
}

}  // namespace nvfuser::reference
