/// PyTorch's tensors from C, without linking PyTorch: its stable C functions (`aoti_torch_*`) and
/// the one that makes Python objects, looked up in the libraries that the process has loaded.
///
/// The exchange table can allocate, too, but what it allocates comes back to Python as memory of a
/// stranger: `Tensor.record_stream` passes over it in silence, `resize_` refuses it. Tensors that
/// are made here are PyTorch's own from the start.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <runtime/run_context.h>
#include <runtime/tensor.h>

namespace nvfuser::python {

namespace nb = nanobind;

class TorchShim {
 public:
  /// Null where the imported PyTorch does not have what is needed.
  static std::unique_ptr<TorchShim> find(const nb::object& torch);

  bool knows(DataType dtype) const { return dtypes_.at(static_cast<size_t>(dtype.type)) >= 0; }
  /// PyTorch's number of a dtype that it knows.
  int32_t codeOf(DataType dtype) const { return dtypes_.at(static_cast<size_t>(dtype.type)); }
  /// A tensor of PyTorch, owned by whoever has the handle.
  using Handle = void*;
  /// Memory for it comes from PyTorch's allocator, on its current stream. Null if that fails; why
  /// was then printed by PyTorch.
  Handle empty(const Allocator::Form& form, const Device& device) const;
  /// Somebody else's memory, which has to stay as long as the tensor does.
  Handle lend(void* data, const Allocator::Form& form, const Device& device) const;
  void* dataOf(Handle tensor) const;
  void release(Handle tensor) const { free_(tensor); }
  /// Its dtype; null for one that the library does not have.
  DataType dtypeOf(Handle tensor) const;
  /// Of a CUDA device; −1 for the CPU.
  int32_t cudaIndexOf(Handle tensor) const;
  /// Sizes and strides, in the tensor's own arrays.
  struct Form {
    std::span<const int64_t> sizes;
    std::span<const int64_t> strides;
  };
  Form formOf(Handle tensor) const;
  /// Whether it has these sizes and strides.
  bool isOfForm(Handle tensor, std::span<const int64_t> sizes,
                std::span<const int64_t> strides) const;
  /// The same memory in another form, `offset` elements behind the tensor's first.
  Handle view(Handle tensor, const Form& form, int64_t offset) const;
  /// The tensor as a Python object, which takes the handle over.
  nb::object toObject(Handle tensor) const;
  /// Another of PyTorch's stable functions, by name; null where it has none.
  template <typename Function>
  static Function function(const char* name) {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  using Status = int32_t;  ///< 0: success
  using Sizes = const int64_t*;

  TorchShim() = default;
  template <typename Function>
  bool lookUp(void* library, const char* name, Function& function);
  static void* symbol(const char* name);

  Status (*empty_)(int64_t rank, Sizes sizes, Sizes strides, int32_t dtype, int32_t device_type,
                   int32_t device_index, Handle* made) = nullptr;
  Status (*lend_)(void* data, int64_t rank, Sizes sizes, Sizes strides, int64_t offset,
                  int32_t dtype, int32_t device_type, int32_t device_index, Handle* made) = nullptr;
  Status (*data_)(Handle tensor, void** data) = nullptr;
  Status (*dtype_)(Handle tensor, int32_t* dtype) = nullptr;
  Status (*device_type_)(Handle tensor, int32_t* type) = nullptr;
  Status (*device_index_)(Handle tensor, int32_t* index) = nullptr;
  Status (*rank_)(Handle tensor, int64_t* rank) = nullptr;
  Status (*sizes_)(Handle tensor, int64_t** sizes) = nullptr;
  Status (*strides_)(Handle tensor, int64_t** strides) = nullptr;
  Status (*view_)(Handle tensor, int64_t rank, Sizes sizes, Sizes strides, int64_t offset,
                  Handle* made) = nullptr;
  Status (*free_)(Handle tensor) = nullptr;
  PyObject* (*wrap_)(Handle tensor) = nullptr;
  int32_t cpu_ = 0;
  int32_t cuda_ = 0;
  std::array<int32_t, 32> dtypes_{};        ///< by PrimDataType; −1: none
  std::array<PrimDataType, 64> of_code_{};  ///< by PyTorch's number; Null: none
};

/// Memory for a call from PyTorch's allocator: outputs are its tensors. Large blocks on the CPU are
/// the library's own, which keeps them: PyTorch would give them back to the system after each call,
/// and to have them again costs more than most kernels. On CUDA it is to be used with PyTorch's
/// current stream.
class TorchAllocator final : public Allocator {
 public:
  /// Large on the CPU.
  static constexpr size_t kLargeBytes = size_t{1} << 20;

  explicit TorchAllocator(const TorchShim& shim) : shim_(shim) {}
  Block allocate(size_t bytes, Device& device, Stream stream) override;
  Block allocateTensor(const Form& form, size_t bytes, Device& device, Stream stream) override;
  void release(const Block& block, Device& device, Stream stream) noexcept override;

 private:
  const TorchShim& shim_;
};

}  // namespace nvfuser::python
