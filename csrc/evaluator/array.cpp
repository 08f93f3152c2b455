#include <evaluator/array.h>

#include <support/error.h>

namespace nvfuser::reference {

namespace {

Numbers zeros(HostNumber kind, size_t count) {
  switch (kind) {
    case HostNumber::Integer:
      return std::vector<int64_t>(count);
    case HostNumber::Real:
      return std::vector<double>(count);
    case HostNumber::Complex:
      break;
  }
  return std::vector<Complex>(count);
}

template <typename T>
T loadNumber(const void* at, DataType dtype) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return loadInteger(at, dtype);
  } else if constexpr (std::is_same_v<T, double>) {
    return loadReal(at, dtype);
  } else {
    return loadComplex(at, dtype);
  }
}

void storeNumber(void* at, DataType dtype, int64_t value) { storeInteger(at, dtype, value); }
void storeNumber(void* at, DataType dtype, double value) { storeReal(at, dtype, value); }
void storeNumber(void* at, DataType dtype, Complex value) { storeComplex(at, dtype, value); }

/// Sizes with axes of stride 0 shrunk to one element.
std::vector<int64_t> distinctSizes(const std::vector<int64_t>& sizes,
                                   const std::vector<int64_t>& strides) {
  std::vector<int64_t> distinct = sizes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && strides[axis] == 0) {
      distinct[axis] = 1;
    }
  }
  return distinct;
}

}  // namespace

int64_t Array::numel() const {
  int64_t product = 1;
  for (int64_t size : sizes) {
    product *= size;
  }
  return product;
}

Array makeArray(DataType dtype, std::vector<int64_t> sizes) {
  Array array;
  array.dtype = dtype;
  array.strides = rowMajorStrides(sizes);
  array.sizes = std::move(sizes);
  array.numbers =
      std::make_shared<Numbers>(zeros(array.kind(), static_cast<size_t>(array.numel())));
  return array;
}

Array splat(const PolymorphicValue& value, DataType dtype, const std::vector<int64_t>& sizes) {
  Array one = makeArray(dtype, {});
  switch (one.kind()) {
    case HostNumber::Integer:
      one.data<int64_t>()[0] = value.is<double>() || value.is<Complex>()
                                   ? realToInteger(value.as<double>(), dtype)
                                   : wrapToDtype(value.as<int64_t>(), dtype);
      break;
    case HostNumber::Real:
      one.data<double>()[0] = value.as<double>();
      break;
    case HostNumber::Complex:
      one.data<Complex>()[0] = value.as<Complex>();
      break;
  }
  return broadcastTo(one, sizes);
}

Array load(const TensorRef& ref) {
  const std::vector<int64_t> distinct = distinctSizes(ref.sizes, ref.strides);
  Array array = makeArray(ref.dtype, distinct);
  const int64_t width = dataTypeSizeByte(ref.dtype);
  const auto* from = static_cast<const std::byte*>(ref.data);
  withNumberType(array.kind(), [&](auto type) {
    using T = decltype(type);
    T* to = array.data<T>();
    forEachRun<2>(distinct, {array.strides, ref.strides}, {0, 0},
                  [&](int64_t length, const std::array<int64_t, 2>& start,
                      const std::array<int64_t, 2>& step) {
                    for (int64_t i = 0; i < length; ++i) {
                      to[start[0] + i * step[0]] =
                          loadNumber<T>(from + (start[1] + i * step[1]) * width, ref.dtype);
                    }
                  });
  });
  return broadcastTo(array, ref.sizes);
}

HostTensor store(const Array& array) {
  HostTensor tensor(array.dtype, array.sizes);
  const int64_t width = dataTypeSizeByte(array.dtype);
  withNumberType(array.kind(), [&](auto type) {
    using T = decltype(type);
    const T* from = array.data<T>();
    forEachRun<2>(array.sizes, {rowMajorStrides(array.sizes), array.strides}, {0, array.offset},
                  [&](int64_t length, const std::array<int64_t, 2>& start,
                      const std::array<int64_t, 2>& step) {
                    for (int64_t i = 0; i < length; ++i) {
                      storeNumber(tensor.data() + (start[0] + i * step[0]) * width, array.dtype,
                                  from[start[1] + i * step[1]]);
                    }
                  });
  });
  return tensor;
}

PolymorphicValue onlyElement(const Array& array) {
  check(array.numel() == 1, "an array of one element was expected");
  switch (array.kind()) {
    case HostNumber::Integer: {
      const int64_t value = array.data<int64_t>()[array.offset];
      return isBooleanType(array.dtype) ? PolymorphicValue(value != 0) : PolymorphicValue(value);
    }
    case HostNumber::Real:
      return array.data<double>()[array.offset];
    case HostNumber::Complex:
      break;
  }
  return array.data<Complex>()[array.offset];
}

void copyInto(Array& to, const Array& from) {
  withNumberType(from.kind(), [&](auto type) {
    using T = decltype(type);
    const T* source = from.data<T>();
    T* target = to.data<T>();
    forEachRun<2>(from.sizes, {to.strides, from.strides}, {to.offset, from.offset},
                  [&](int64_t length, const std::array<int64_t, 2>& start,
                      const std::array<int64_t, 2>& step) {
                    for (int64_t i = 0; i < length; ++i) {
                      target[start[0] + i * step[0]] = source[start[1] + i * step[1]];
                    }
                  });
  });
}

Array materialized(const Array& array) {
  Array copy = makeArray(array.dtype, array.sizes);
  copyInto(copy, array);
  return copy;
}

Array contiguous(const Array& array) {
  const TensorRef layout{
      .data = nullptr, .dtype = array.dtype, .sizes = array.sizes, .strides = array.strides};
  return layout.isContiguous() ? array : materialized(array);
}

Array convert(const Array& array, DataType dtype) {
  if (array.dtype == dtype) {
    return array;
  }
  const DataType from = array.dtype;
  const std::array<Array, 1> operand{array};
  switch (array.kind()) {
    case HostNumber::Integer:
      switch (hostNumber(dtype)) {
        case HostNumber::Integer:
          return mapElements<int64_t, int64_t>(operand, array.sizes, dtype,
                                               [&](int64_t x) { return wrapToDtype(x, dtype); });
        case HostNumber::Real:
          return mapElements<double, int64_t>(operand, array.sizes, dtype, [&](int64_t x) {
            return roundToDtype(integerToReal(x, from), dtype);
          });
        case HostNumber::Complex:
          return mapElements<Complex, int64_t>(operand, array.sizes, dtype, [&](int64_t x) {
            return Complex(roundToDtype(integerToReal(x, from), dtype));
          });
      }
      break;
    case HostNumber::Real:
      switch (hostNumber(dtype)) {
        case HostNumber::Integer:
          return mapElements<int64_t, double>(operand, array.sizes, dtype,
                                              [&](double x) { return realToInteger(x, dtype); });
        case HostNumber::Real:
          return mapElements<double, double>(operand, array.sizes, dtype,
                                             [&](double x) { return roundToDtype(x, dtype); });
        case HostNumber::Complex:
          return mapElements<Complex, double>(operand, array.sizes, dtype, [&](double x) {
            return Complex(roundToDtype(x, dtype));
          });
      }
      break;
    case HostNumber::Complex:
      switch (hostNumber(dtype)) {
        case HostNumber::Integer:
          return mapElements<int64_t, Complex>(operand, array.sizes, dtype, [&](Complex x) {
            return isBooleanType(dtype) ? int64_t{x != Complex()} : realToInteger(x.real(), dtype);
          });
        case HostNumber::Real:
          return mapElements<double, Complex>(operand, array.sizes, dtype, [&](Complex x) {
            return roundToDtype(x.real(), dtype);
          });
        case HostNumber::Complex:
          return mapElements<Complex, Complex>(operand, array.sizes, dtype,
                                               [&](Complex x) { return roundToDtype(x, dtype); });
      }
      break;
  }
  throwInternal("a class of number is unknown", std::source_location::current());
}

Array rounded(const Array& array) {
  if (array.kind() == HostNumber::Integer || array.dtype == DataType::Double ||
      array.dtype == DataType::ComplexDouble) {
    return array;
  }
  const std::array<Array, 1> operand{array};
  if (array.kind() == HostNumber::Real) {
    return mapElements<double, double>(operand, array.sizes, array.dtype,
                                       [&](double x) { return roundToDtype(x, array.dtype); });
  }
  return mapElements<Complex, Complex>(operand, array.sizes, array.dtype,
                                       [&](Complex x) { return roundToDtype(x, array.dtype); });
}

Array broadcastTo(const Array& array, const std::vector<int64_t>& sizes) {
  Array view = array;
  view.sizes = sizes;
  if (array.rank() == 0) {
    view.strides.assign(sizes.size(), 0);
    return view;
  }
  check(array.rank() == sizes.size(), "an array was broadcast to another rank");
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (array.sizes[axis] != sizes[axis]) {
      check(array.sizes[axis] == 1, "an axis that is no broadcast was expanded");
      view.strides[axis] = 0;
    }
  }
  return view;
}

std::vector<int64_t> commonSizes(const std::vector<const Array*>& arrays, const std::string& what) {
  std::vector<int64_t> sizes;
  for (const Array* array : arrays) {
    if (array->rank() == 0) {
      continue;
    }
    if (sizes.empty()) {
      sizes = array->sizes;
      continue;
    }
    if (array->rank() != sizes.size()) {
      userError(what, ": operands have different ranks, ", sizes.size(), " and ", array->rank());
    }
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) {
        sizes[axis] = array->sizes[axis];
      } else if (array->sizes[axis] != 1 && array->sizes[axis] != sizes[axis]) {
        userError(what, ": operands have different sizes along axis ", axis, ", ", sizes[axis],
                  " and ", array->sizes[axis],
                  "; sizes of 1 are broadcast, others have to be equal");
      }
    }
  }
  return sizes;
}

}  // namespace nvfuser::reference
