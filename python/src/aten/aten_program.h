/// A library's operation as calls of ATen, on the memory that the operation was called with:
///
///   const AtenTensor values = aten.empty(in.sizes, in.dtype);
///   aten.run("aten::sort", "values_stable",
///            {aten.operand(0), some(true), dim, descending, values, aten.result(0)});
///
/// Everything runs on the stream and the device of the operation. What ATen refuses is a
/// `UserError` with the operation's name and ATen's words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "torch_dispatcher.h"
#include "torch_table.h"
#include <external/external_call.h>

namespace nvfuser::python {

/// A tensor of PyTorch, of which one handle is owned.
class AtenTensor {
 public:
  using Handle = TorchShim::Handle;

  AtenTensor() = default;
  AtenTensor(const TorchShim& shim, Handle handle) : shim_(&shim), handle_(handle) {}
  ~AtenTensor() {
    if (handle_ != nullptr) {
      shim_->release(handle_);
    }
  }
  AtenTensor(AtenTensor&& other) noexcept { *this = std::move(other); }
  AtenTensor& operator=(AtenTensor&& other) noexcept {
    std::swap(shim_, other.shim_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  Handle handle() const { return handle_; }
  Handle take() { return std::exchange(handle_, nullptr); }
  std::span<const int64_t> sizes() const { return shim_->formOf(handle_).sizes; }
  std::span<const int64_t> strides() const { return shim_->formOf(handle_).strides; }
  DataType dtype() const { return shim_->dtypeOf(handle_); }

 private:
  const TorchShim* shim_ = nullptr;
  Handle handle_ = nullptr;
};

/// An operand of a call of ATen.
struct AtenArgument {
  enum class Kind : uint8_t { None, Tensor, Number, Real, Text, Dtype, Integers, Tensors };

  AtenArgument(std::nullopt_t) {}
  AtenArgument(const AtenTensor& of) : kind(Kind::Tensor), tensor(&of) {}
  AtenArgument(int64_t value) : kind(Kind::Number), number(value) {}
  AtenArgument(bool value) : kind(Kind::Number), number(value ? 1 : 0) {}
  AtenArgument(double value) : kind(Kind::Real), real(value) {}
  AtenArgument(std::string_view value) : kind(Kind::Text), text(value) {}
  AtenArgument(DataType value) : kind(Kind::Dtype), dtype(value) {}
  /// A list of integers, or of bools.
  AtenArgument(const std::vector<int64_t>& value) : kind(Kind::Integers), integers(&value) {}
  /// A list of optional tensors.
  AtenArgument(const std::vector<const AtenTensor*>& value) : kind(Kind::Tensors), list(&value) {}

  Kind kind = Kind::None;
  bool is_optional = false;  ///< by the schema
  const AtenTensor* tensor = nullptr;
  int64_t number = 0;
  double real = 0;
  std::string_view text;
  DataType dtype;
  const std::vector<int64_t>* integers = nullptr;
  const std::vector<const AtenTensor*>* list = nullptr;
};

/// Given, for a parameter that is optional.
inline AtenArgument some(AtenArgument given) {
  given.is_optional = true;
  return given;
}

class AtenProgram {
 public:
  AtenProgram(const Torch& torch, const TorchDispatcher& dispatcher, const external::Call& call);

  /// Whether PyTorch has the functions that all of this needs.
  static bool isThere();
  static bool hasFlashAttention();  ///< on CUDA
  static bool hasCudnnAttention();

  const external::Call& call() const { return call_; }
  bool isOnCuda() const { return call_.machine->kind == DeviceKind::Cuda; }

  // ---- tensors ----
  AtenTensor at(const TensorRef& memory) const;
  AtenTensor operand(size_t i) const;
  /// Operand `input` in another form from the same first element on.
  AtenTensor at(const TensorRef& memory, size_t input) const;
  AtenTensor result(size_t i) const;
  /// Row-major, not written.
  AtenTensor empty(std::span<const int64_t> sizes, DataType dtype) const;
  AtenTensor view(const AtenTensor& tensor, std::span<const int64_t> sizes,
                  std::span<const int64_t> strides, int64_t offset = 0) const;
  AtenTensor another(const AtenTensor& tensor) const;     ///< handle of it
  AtenTensor transposed(const AtenTensor& tensor) const;  ///< its last two axes
  /// A row-major copy.
  AtenTensor converted(const AtenTensor& tensor, DataType dtype) const;
  /// The tensor, or where it is of another dtype a copy.
  AtenTensor as(AtenTensor tensor, DataType dtype) const;
  /// Without axes, on the device: the element in memory of the host, or a value as the dtype has
  /// it.
  AtenTensor element(const void* on_host, DataType dtype) const;
  /// Without axes, in memory of the host: operations take it as a number, without a copy.
  AtenTensor number(const PolymorphicValue& value, DataType dtype) const;
  AtenTensor undefined() const;
  void* dataOf(const AtenTensor& tensor) const { return shim_.dataOf(tensor.handle()); }

  // ---- calls ----
  /// `returns`: a letter for each result: T a tensor, N a number. Gives the tensors; of a number
  /// one may ask `numbers`.
  std::vector<AtenTensor> run(const char* name, const char* overload,
                              std::initializer_list<AtenArgument> arguments,
                              std::string_view returns = "T",
                              std::vector<int64_t>* numbers = nullptr) const;
  AtenTensor one(const char* name, const char* overload,
                 std::initializer_list<AtenArgument> arguments) const {
    return std::move(run(name, overload, arguments).at(0));
  }
  /// Elements of `from`, as the dtype of `to` has them.
  void copy(const AtenTensor& to, const AtenTensor& from) const;
  void zero(const AtenTensor& tensor) const;
  void fill(const AtenTensor& tensor, const PolymorphicValue& value) const;
  AtenTensor sum(const AtenTensor& a, const AtenTensor& b) const;  ///< of real numbers
  /// On CUDA: output, log-sum-exp, and the dropout's two states.
  std::vector<AtenTensor> flashAttention(const AtenTensor& query, const AtenTensor& key,
                                         const AtenTensor& value, double dropout_p, bool is_causal,
                                         double scale) const;
  /// On CUDA, without dropout: output and log-sum-exp, [batch, heads, queries, 1].
  std::vector<AtenTensor> cudnnAttention(const AtenTensor& query, const AtenTensor& key,
                                         const AtenTensor& value, bool is_causal,
                                         double scale) const;
  /// A tensor made here, as large as result `i`, is that result: as it is where its strides are
  /// the result's, else by a copy.
  void give(size_t i, AtenTensor made) const;

 private:
  bool knowsHandles() const;
  std::vector<AtenTensor> owned(std::span<const AtenTensor::Handle> made) const;
  TorchDispatcher::Word word(const AtenArgument& argument) const;
  void require(int32_t status, const char* what) const;
  [[noreturn]] void refused(std::string_view name) const;

  const Torch& torch_;
  const TorchShim& shim_;
  const TorchDispatcher& dispatcher_;
  const external::Call& call_;
  const Device& device_;
};

/// Notes why a call is not taken, and gives false.
bool declined(const external::Call& call, std::string why);

}  // namespace nvfuser::python
