#include <evaluator/host_tensor.h>

#include <cstring>

#include <evaluator/element_codec.h>
#include <evaluator/strided_loop.h>

namespace nvfuser {

HostTensor::HostTensor(DataType dtype, std::vector<int64_t> sizes)
    : dtype_(dtype), sizes_(std::move(sizes)), numel_(1) {
  for (int64_t size : sizes_) {
    numel_ *= size;
  }
  bytes_.resize(static_cast<size_t>(numel_ * dataTypeSizeByte(dtype)));
}

HostTensor HostTensor::copyOf(const TensorRef& ref) {
  HostTensor copy(ref.dtype, ref.sizes);
  const int64_t width = dataTypeSizeByte(ref.dtype);
  const auto* from = static_cast<const std::byte*>(ref.data);
  std::byte* to = copy.data();
  forEachRun<2>(
      ref.sizes, {rowMajorStrides(ref.sizes), ref.strides}, {0, 0},
      [&](int64_t length, const std::array<int64_t, 2>& start, const std::array<int64_t, 2>& step) {
        if (step[0] == 1 && step[1] == 1) {
          std::memcpy(to + start[0] * width, from + start[1] * width,
                      static_cast<size_t>(length * width));
          return;
        }
        for (int64_t i = 0; i < length; ++i) {
          std::memcpy(to + (start[0] + i * step[0]) * width,
                      from + (start[1] + i * step[1]) * width, static_cast<size_t>(width));
        }
      });
  return copy;
}

TensorRef HostTensor::ref() const {
  return {.data = const_cast<std::byte*>(bytes_.data()),
          .dtype = dtype_,
          .sizes = sizes_,
          .strides = rowMajorStrides(sizes_)};
}

const std::byte* HostTensor::at(int64_t i) const {
  check(i >= 0 && i < numel_, "an element beyond the end of a tensor was asked for");
  return bytes_.data() + i * dataTypeSizeByte(dtype_);
}

std::byte* HostTensor::at(int64_t i) {
  return const_cast<std::byte*>(static_cast<const HostTensor*>(this)->at(i));
}

double HostTensor::getDouble(int64_t i) const {
  if (hostNumber(dtype_) == HostNumber::Integer) {
    return integerToReal(loadInteger(at(i), dtype_), dtype_);
  }
  return loadElement(at(i), dtype_).as<double>();
}

int64_t HostTensor::getInt(int64_t i) const {
  if (hostNumber(dtype_) == HostNumber::Integer) {
    return loadInteger(at(i), dtype_);
  }
  return realToInteger(getDouble(i), DataType::Int);
}

std::complex<double> HostTensor::getComplex(int64_t i) const {
  return isComplexType(dtype_) ? loadComplex(at(i), dtype_) : getDouble(i);
}

void HostTensor::setDouble(int64_t i, double value) { storeElement(at(i), dtype_, value); }

void HostTensor::setInt(int64_t i, int64_t value) { storeElement(at(i), dtype_, value); }

void HostTensor::setComplex(int64_t i, std::complex<double> value) {
  storeElement(at(i), dtype_, value);
}

}  // namespace nvfuser
