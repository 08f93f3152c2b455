#include "operation_table_inputs.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include <evaluator/element_codec.h>

namespace nvfuser::table {

namespace {

using Complex = std::complex<double>;

/// Numbers between 0 and 1, the same for the same `i`.
double hash01(int64_t i, uint64_t salt) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull + salt * 0xbf58476d1ce4e5b9ull +
               0x94d049bb133111ebull;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

double leastNormalOf(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return 0x1p-1022;
    case PrimDataType::Half:
    case PrimDataType::Float8_e5m2:
      return 0x1p-14;
    case PrimDataType::Float8_e4m3fn:
      return 0x1p-6;
    default:
      return 0x1p-126;
  }
}

/// The first twelve are the ones that pairs of operands meet all of.
std::vector<double> specialReals(DataType dtype, Values values) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> out = {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -0.3};
  if (values != Values::Finite) {
    out.insert(out.end(), {nan, inf, -inf});
  }
  if (values != Values::Moderate) {
    out.insert(out.end(), {largestOf(dtype), -largestOf(dtype), leastNormalOf(dtype)});
  }
  out.insert(out.end(), {1.5, 2.0, -3.0, 0.9, -7.0});
  return out;
}

std::vector<int64_t> specialIntegers(DataType dtype, Values values) {
  const int bits = static_cast<int>(dataTypeSizeBit(dtype));
  const bool is_unsigned = isUnsignedIntegralType(dtype);
  const auto highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  std::vector<int64_t> out = {0, 1, 2, 3, 7, 8, 31, 64, 100};
  if (values == Values::Dividend) {
    out.insert(out.end(), {highest - 1, highest / 2, highest / 3});
    return out;
  }
  if (is_unsigned) {
    out.insert(out.end(), {bits == 64 ? -1 : 2 * highest + 1, bits == 64 ? -2 : 2 * highest,
                           highest, highest + (bits == 64 ? 0 : 1)});
  } else {
    out.insert(out.end(), {-1, -highest - 1, highest, -7, -2, -100, highest - 1, -highest});
  }
  return out;
}

template <typename T>
T pick(const std::vector<T>& list, int64_t i, size_t operand) {
  // Operand 0 walks fast, the next one slowly: all pairs of the first twelve meet within 144
  // elements.
  constexpr int64_t kPairs = 12;
  const int64_t digit = operand == 0 ? i % kPairs : operand == 1 ? i / kPairs : (i * 5 + i / 7 + 3);
  // Further ones come in where the round is over.
  const auto size = static_cast<int64_t>(list.size());
  if (operand < 2 && i >= kPairs * kPairs) {
    return list[static_cast<size_t>((i * (operand == 0 ? 1 : 7) + 5) % size)];
  }
  return list[static_cast<size_t>(digit % size)];
}

double ordinaryReal(Values values, int64_t i, size_t operand) {
  const double u = hash01(i, 17 + operand);
  switch (values) {
    case Values::Positive:
      return 0.25 + 3.75 * u;
    case Values::Whole:
      return std::floor(5 * u) - 2;
    case Values::Factor:
      return u < 0.9 ? 1 : u < 0.95 ? -1 : 2;
    case Values::Counter:
      return static_cast<double>(i % 5);
    default:
      return 4 * u - 2;
  }
}

bool isSpecial(Values values) {
  return values == Values::Special || values == Values::Finite || values == Values::Moderate ||
         values == Values::Dividend;
}

}  // namespace

double largestOf(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Double:
      return std::numeric_limits<double>::max();
    case PrimDataType::Half:
      return 65504;
    case PrimDataType::BFloat16:
      return 0x1.fep127;
    case PrimDataType::Float8_e4m3fn:
      return 448;
    case PrimDataType::Float8_e5m2:
      return 57344;
    default:
      return std::numeric_limits<float>::max();
  }
}

PolymorphicValue elementOf(DataType dtype, Values values, int64_t i, size_t operand) {
  if (isBooleanType(dtype)) {
    return (i / (operand == 0 ? 1 : operand == 1 ? 2 : 4)) % 2 == 1;
  }
  if (isIntegralType(dtype)) {
    if (isSpecial(values)) {
      return pick(specialIntegers(dtype, values), i, operand);
    }
    const double u = hash01(i, 17 + operand);
    const bool is_unsigned = isUnsignedIntegralType(dtype);
    auto value = static_cast<int64_t>(ordinaryReal(values, i, operand));
    if (values == Values::Ordinary) {
      value = static_cast<int64_t>(std::floor(19 * u)) - 9;
    }
    if (values == Values::Positive) {
      value = 1 + static_cast<int64_t>(9 * u);
    }
    return is_unsigned && value < 0 ? -value : value;
  }
  if (isComplexType(dtype)) {
    const DataType part = getTypeFromComplexType(dtype);
    if (values == Values::Special || values == Values::Moderate) {
      const std::vector<double> list = specialReals(part, values);
      return Complex(roundToDtype(pick(list, i, operand), part),
                     roundToDtype(pick(list, i / 5 + 2 * i, operand), part));
    }
    if (isSpecial(values)) {
      // Of moderate size: squares do not overflow.
      constexpr double kParts[] = {0.0, 1.0, -1.0, 0.5, -2.5, 3.0, -0.3, 0.75};
      const auto at = static_cast<size_t>(operand == 0   ? i
                                          : operand == 1 ? i / 8 + 3 * i
                                                         : 5 * i + 2);
      return Complex(roundToDtype(kParts[at % 8], part),
                     roundToDtype(kParts[(at / 8 + at) % 8], part));
    }
    const double imaginary = values == Values::Factor ? 0 : ordinaryReal(values, i + 1000, operand);
    return Complex(roundToDtype(ordinaryReal(values, i, operand), part),
                   roundToDtype(imaginary, part));
  }
  const double value = isSpecial(values) ? pick(specialReals(dtype, values), i, operand)
                                         : ordinaryReal(values, i, operand);
  return roundToDtype(value, dtype);
}

Tensor makeInput(DataType dtype, const Sizes& sizes, Values values, Layout layout, bool is_expanded,
                 size_t operand, int64_t shift) {
  const size_t rank = sizes.size();
  HostTensor elements(dtype, sizes);
  Sizes strides(rank, 0);
  int64_t offset = 0;
  int64_t storage = 0;
  if (layout == Layout::Strided) {
    int64_t stride = 2;
    for (size_t axis = 0; axis < rank; ++axis) {
      strides[axis] = stride;
      stride *= std::max<int64_t>(sizes[axis], 1);
    }
  } else {
    int64_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
      strides[axis] = stride;
      stride *= std::max<int64_t>(sizes[axis], 1);
      if (layout == Layout::Misaligned && axis + 1 == rank) {
        stride += stride % 2 == 0 ? 1 : 2;  // an odd pitch
      }
    }
    offset = layout == Layout::Misaligned ? 1 : 0;
  }
  const bool expanded = (is_expanded || layout == Layout::Expanded) && rank > 0;
  if (expanded) {
    strides[0] = 0;
  }
  storage = offset + 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    storage += std::max<int64_t>(sizes[axis] - 1, 0) * strides[axis];
  }
  const int64_t numel = elements.numel();
  int64_t period = 1;  // elements that differ
  for (size_t axis = expanded ? 1 : 0; axis < rank; ++axis) {
    period *= sizes[axis];
  }
  for (int64_t i = 0; i < numel; ++i) {
    storeElement(elements.data() + i * dataTypeSizeByte(dtype), dtype,
                 elementOf(dtype, values, shift + (expanded ? i % period : i), operand));
  }
  Tensor whole = Tensor::empty({storage}, dtype, cpuDevice(), true);
  Tensor view = whole.asStrided(sizes, strides, offset);
  if (expanded) {
    Sizes one = sizes;
    one[0] = std::min<int64_t>(one[0], 1);
    Tensor row = whole.asStrided(one, strides, offset);
    if (row.numel() > 0) {
      row.copyFrom(Tensor::fromHostTensor(elements).slice(0, 0, 1).contiguous());
    }
  } else if (numel > 0) {
    view.copyFrom(Tensor::fromHostTensor(elements));
  }
  return view;
}

Tensor onDevice(const Tensor& host, Device& device) {
  if (device.kind() == DeviceKind::Cpu) {
    return host;
  }
  int64_t storage = host.storageOffset() + 1;
  bool expanded = false;
  Sizes distinct = host.sizes();
  for (int64_t axis = 0; axis < host.dim(); ++axis) {
    storage += std::max<int64_t>(host.size(axis) - 1, 0) * host.stride(axis);
    if (host.stride(axis) == 0 && host.size(axis) > 1) {
      expanded = true;
      distinct[static_cast<size_t>(axis)] = 1;
    }
  }
  Tensor whole = Tensor::empty({storage}, host.dtype(), device, true);
  Tensor view = whole.asStrided(host.sizes(), host.strides(), host.storageOffset());
  if (host.numel() > 0) {
    const Tensor target =
        expanded ? whole.asStrided(distinct, host.strides(), host.storageOffset()) : view;
    const Tensor source =
        expanded ? host.asStrided(distinct, host.strides(), host.storageOffset()) : host;
    Tensor(target).copyFrom(source);
  }
  return view;
}

}  // namespace nvfuser::table
