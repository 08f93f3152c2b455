/// `Tensor`: a tensor with storage on a device, for users of the C++ API. Copies share the storage;
/// so do views.
///
/// It allocates, moves and looks at data; it computes nothing beyond filling. Operations on
/// elements of a device that the host cannot address (`contiguous`, `fill`, `item`) go by way of
/// the host. Nothing here is asynchronous: after each call the device has done its part.
#pragma once

#include <complex>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <evaluator/host_tensor.h>
#include <ir/polymorphic_value.h>
#include <ir/tensor_ref.h>
#include <runtime/device.h>
#include <runtime/dlpack.h>
#include <runtime/run_context.h>

namespace nvfuser {

/// The dtype whose elements are `T`.
template <typename T>
constexpr DataType dataTypeOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return DataType::Bool;
  } else if constexpr (std::is_same_v<T, float>) {
    return DataType::Float;
  } else if constexpr (std::is_same_v<T, double>) {
    return DataType::Double;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return DataType::ComplexFloat;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return DataType::ComplexDouble;
  } else {
    static_assert(std::is_integral_v<T>, "a tensor cannot have elements of this type");
    constexpr PrimDataType kSigned[] = {PrimDataType::Char, PrimDataType::Short,
                                        PrimDataType::Int32, PrimDataType::Int};
    constexpr PrimDataType kUnsigned[] = {PrimDataType::Byte, PrimDataType::UInt16,
                                          PrimDataType::UInt32, PrimDataType::UInt64};
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog] : kUnsigned[kLog];
  }
}

class Tensor {
 public:
  /// Undefined.
  Tensor() = default;

  // ---- making ----
  /// Row-major. `poison`: every byte is 0xFF, which is NaN in each floating-point dtype; so a test
  /// sees what was never written.
  static Tensor empty(std::vector<int64_t> sizes, DataType dtype, Device& device = cpuDevice(),
                      bool poison = false);
  /// With strides of its own; the storage reaches up to the last element.
  static Tensor emptyStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                             DataType dtype, Device& device = cpuDevice(), bool poison = false);
  /// In memory from a caller's context (run_context.h).
  static Tensor emptyStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                             DataType dtype, Device& device, const RunContext& context);
  /// In a block that the context's allocator knows, which the tensor has from now on.
  static Tensor inBlock(std::vector<int64_t> sizes, std::vector<int64_t> strides, DataType dtype,
                        Device& device, const RunContext& context, const Allocator::Block& block);
  static Tensor zeros(std::vector<int64_t> sizes, DataType dtype, Device& device = cpuDevice());
  static Tensor ones(std::vector<int64_t> sizes, DataType dtype, Device& device = cpuDevice());
  static Tensor full(std::vector<int64_t> sizes, const PolymorphicValue& value, DataType dtype,
                     Device& device = cpuDevice());
  /// 0, 1, …, count − 1.
  static Tensor arange(int64_t count, DataType dtype = DataType::Int, Device& device = cpuDevice());
  /// Normal numbers, the same for the same seed on every device; integers are truncated from 10
  /// times such numbers, Bool tells their sign.
  static Tensor randn(std::vector<int64_t> sizes, DataType dtype, uint64_t seed,
                      Device& device = cpuDevice());
  static Tensor fromHostTensor(const HostTensor& host, Device& device = cpuDevice());
  template <typename T>
  static Tensor fromHost(std::span<const T> values, std::vector<int64_t> sizes,
                         Device& device = cpuDevice()) {
    return fromBytes(values.data(), values.size(), dataTypeOf<T>(), std::move(sizes), device);
  }
  template <typename T>
  static Tensor fromHost(const std::vector<T>& values, std::vector<int64_t> sizes,
                         Device& device = cpuDevice()) {
    return fromHost(std::span<const T>(values), std::move(sizes), device);
  }
  /// Somebody else's memory on `device`. `owner`, if given, is kept as long as the storage is.
  static Tensor fromRef(TensorRef ref, Device& device, std::shared_ptr<void> owner = {});
  /// Sizes, strides and dtype without memory.
  static Tensor meta(std::vector<int64_t> sizes, std::vector<int64_t> strides, DataType dtype);

  // ---- what it is ----
  bool defined() const { return storage_ != nullptr; }
  DataType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  int64_t size(int64_t axis) const;
  int64_t stride(int64_t axis) const;
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t numel() const;
  /// From the start of the storage, in elements.
  int64_t storageOffset() const { return offset_; }
  bool isContiguous() const;
  bool isMeta() const;
  Device& device() const;
  /// Address of the first element on the device; null for an empty or meta tensor.
  void* data() const;
  template <typename T>
  T* data() const {
    check(dataTypeOf<T>() == dtype_, "a tensor was read as another dtype");
    return static_cast<T*>(data());
  }
  TensorRef ref() const;
  bool sharesStorage(const Tensor& other) const { return storage_ == other.storage_; }
  /// The block of memory that the storage is, if `allocator` gave it; null otherwise.
  const Allocator::Block* blockOf(const Allocator* allocator) const;
  /// The same as the caller's own. Nothing where other tensors have the storage too; else this
  /// tensor is undefined then.
  std::optional<Allocator::Block> takeBlock(const Allocator* allocator);
  /// The allocator's handle of the whole tensor's memory: of its block, or of memory that it lends
  /// (`setLender`). Null where the memory is of another origin.
  void* handleFor(const Allocator* allocator) const;
  /// The tensor's memory is borrowed from `lender`, which names it by `handle`.
  void setLender(const Allocator* lender, void* handle);
  /// "float[2, 3] on cpu"; the strides as well where it is not contiguous.
  std::string toString() const;

  // ---- moving ----
  // In the order of `stream`, and done on return.
  /// The elements, row-major, in memory of the host.
  HostTensor toHostTensor(Stream stream = nullptr) const;
  /// As numbers of type `T`, converted as a cast does where the dtype is another.
  template <typename T>
  std::vector<T> toHost() const {
    const HostTensor host = toHostTensor();
    std::vector<T> values(static_cast<size_t>(host.numel()));
    if constexpr (!std::is_same_v<T, bool>) {
      if (dataTypeOf<T>() == dtype_) {
        if (!values.empty()) {
          std::memcpy(values.data(), host.data(), host.sizeBytes());
        }
        return values;
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if constexpr (std::is_floating_point_v<T>) {
        values[i] = static_cast<T>(host.getDouble(at));
      } else if constexpr (std::is_integral_v<T>) {
        values[i] = static_cast<T>(host.getInt(at));
      } else {
        values[i] = static_cast<T>(host.getComplex(at));
      }
    }
    return values;
  }
  /// A copy on `device`: the same strides where they leave no gap, row-major otherwise.
  Tensor copyTo(Device& device) const;
  /// Writes the elements of `source` (same dtype and sizes) here, in the order of the stream: on a
  /// GPU they are there when it comes to that.
  void copyFrom(const Tensor& source, Stream stream = nullptr);
  void copyFrom(const HostTensor& source, Stream stream = nullptr);
  Tensor clone() const { return copyTo(device()); }
  /// This tensor if it is row-major, else a copy that is.
  Tensor contiguous() const;
  void fill(const PolymorphicValue& value);
  /// The only element.
  PolymorphicValue item() const;

  // ---- views ----
  Tensor permute(const std::vector<int64_t>& new2old) const;
  Tensor transpose(int64_t axis0, int64_t axis1) const;
  /// Elements start, start + step, … below stop along an axis.
  Tensor slice(int64_t axis, int64_t start, int64_t stop, int64_t step = 1) const;
  Tensor select(int64_t axis, int64_t index) const;
  Tensor unsqueeze(int64_t axis) const;
  /// Axes of extent 1 repeat; further axes may stand in front. −1 keeps an extent.
  Tensor expand(const std::vector<int64_t>& sizes) const;
  /// Another shape of the same elements; the tensor has to be contiguous. One size may be −1.
  Tensor view(std::vector<int64_t> sizes) const;
  /// Any sizes, strides and offset within the storage.
  Tensor asStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) const;

  // ---- DLPack ----
  /// Takes over what another framework lends; its deleter is called when the storage goes.
  static Tensor fromDLPack(DLManagedTensor* managed);
  static Tensor fromDLPack(DLManagedTensorVersioned* managed);
  /// Reads what is lent for as long as the caller holds it, or `owner` if given.
  static Tensor fromDLPack(const DLTensor& lent, std::shared_ptr<void> owner = {});
  /// Lends the elements; the receiver calls the deleter.
  DLManagedTensor* toDLPack() const;
  DLManagedTensorVersioned* toDLPackVersioned() const;

 private:
  struct Storage;
  static Tensor fromBytes(const void* data, size_t count, DataType dtype,
                          std::vector<int64_t> sizes, Device& device);
  size_t wrapAxis(int64_t axis, const char* what) const;

  std::shared_ptr<Storage> storage_;
  DataType dtype_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;
};

/// DLPack's name of a device.
DLDevice toDLDevice(const Device& device);
/// DLPack's name of a dtype, and back; throws `UserError` for what we do not have.
DLDataType toDLDataType(DataType dtype);
DataType fromDLDataType(DLDataType dtype);

}  // namespace nvfuser
