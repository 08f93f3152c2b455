/// Arguments of a launch as their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include <evaluator/element_codec.h>
#include <ir/polymorphic_value.h>

namespace nvfuser {

template <typename T>
std::array<std::byte, 16> bytesOf(T value) {
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::array<std::byte, 16> bytesOf(const PolymorphicValue& value, DataType dtype) {
  std::array<std::byte, 16> bytes{};
  if (isComplexType(dtype)) {
    storeElement(bytes.data(), dtype, value.as<std::complex<double>>());
  } else if (isFloatingPointType(dtype)) {
    storeElement(bytes.data(), dtype, value.as<double>());
  } else {
    storeElement(bytes.data(), dtype, value.as<int64_t>());
  }
  return bytes;
}

}  // namespace nvfuser
