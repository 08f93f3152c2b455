/// `HostTensor`: what the reference interpreter gives back. Owns its elements, row-major without
/// gaps.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ir/tensor_ref.h>

namespace nvfuser {

class HostTensor {
 public:
  HostTensor() = default;
  /// Every element is zero.
  HostTensor(DataType dtype, std::vector<int64_t> sizes);
  /// A copy of what `ref` describes, which has to be memory of this process.
  static HostTensor copyOf(const TensorRef& ref);

  DataType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t numel() const { return numel_; }
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  size_t sizeBytes() const { return bytes_.size(); }
  /// Describes this tensor's own memory; valid as long as it lives.
  TensorRef ref() const;

  /// The element with row-major number `i`, converted as a cast does (complex to real drops the
  /// imaginary part).
  double getDouble(int64_t i) const;
  int64_t getInt(int64_t i) const;
  std::complex<double> getComplex(int64_t i) const;
  void setDouble(int64_t i, double value);
  void setInt(int64_t i, int64_t value);
  void setComplex(int64_t i, std::complex<double> value);

 private:
  const std::byte* at(int64_t i) const;
  std::byte* at(int64_t i);

  DataType dtype_;
  std::vector<int64_t> sizes_;
  int64_t numel_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace nvfuser
