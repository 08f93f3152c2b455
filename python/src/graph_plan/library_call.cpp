#include "graph_plan/library_call.h"

#include <algorithm>
#include <array>

namespace nvfuser::python {

namespace {

using Handle = TorchShim::Handle;
using Status = int32_t;  ///< 0: success

/// A function of each kind of device.
template <typename Function>
struct PerDevice {
  Function cpu;
  Function cuda;

  PerDevice(const char* cpu_name, const char* cuda_name)
      : cpu(TorchShim::function<Function>(cpu_name)),
        cuda(TorchShim::function<Function>(cuda_name)) {}
  Function on(int32_t cuda_index) const { return cuda_index >= 0 ? cuda : cpu; }
  bool exists() const { return cpu != nullptr || cuda != nullptr; }
};

/// Multiplications that take longer than to hand the interpreter's lock over.
constexpr int64_t kManyProducts = int64_t{1} << 19;

void letOthersRun(Values& values, bool on_cuda, int64_t products) {
  if (on_cuda || products >= kManyProducts) {
    values.lock().give();
  }
}

bool isFloating(DataType dtype) {
  return dtype == DataType::Float || dtype == DataType::Double || dtype == DataType::Half ||
         dtype == DataType::BFloat16;
}

/// The tensors of a call.
class Tensors {
 public:
  static constexpr size_t kMost = 8;

  /// False unless all are plain, on one device, and have elements.
  bool read(Values& values, const LibraryOperands& operands) {
    for (size_t i = 0; i < operands.tensors.size(); ++i) {
      if (!operands.tensors[i]) {
        continue;
      }
      handles_[i] = values.handle(*operands.tensors[i]);
      if (handles_[i] == nullptr || !values.read(*operands.tensors[i], values_[i]) ||
          values_[i].numel() == 0 || values_[i].cuda_index != values_[0].cuda_index) {
        return false;
      }
    }
    return true;
  }
  /// Whether all have one floating-point dtype.
  bool areAlike() const {
    for (size_t i = 1; i < kMost; ++i) {
      if (handles_[i] != nullptr && values_[i].dtype != values_[0].dtype) {
        return false;
      }
    }
    return isFloating(values_[0].dtype);
  }

  const TorchValue& operator[](size_t i) const { return values_[i]; }
  Handle handle(size_t i) const { return handles_[i]; }
  /// For parameters that may be none.
  Handle* optional(size_t i) { return handles_[i] == nullptr ? nullptr : &handles_[i]; }

 private:
  std::array<Handle, kMost> handles_{};
  std::array<TorchValue, kMost> values_;
};

/// mm, bmm, addmm, baddbmm: a row-major result of known sizes.
class Product final : public LibraryCall {
 public:
  using Plain = Status (*)(Handle out, Handle a, Handle b);
  using Added = Status (*)(Handle out, Handle self, Handle a, Handle b, double beta, double alpha);

  Product(LibraryOperands operands, PerDevice<Plain> function, size_t rank)
      : LibraryCall(std::move(operands)), plain_(function), rank_(rank) {}
  Product(LibraryOperands operands, PerDevice<Added> function, size_t rank)
      : LibraryCall(std::move(operands)), added_(function), rank_(rank) {}

  bool run(Values& values, std::span<const SlotIndex> results) const override {
    Tensors tensors;
    const size_t first = added_ ? 1 : 0;
    if (!tensors.read(values, operands_) || !tensors.areAlike()) {
      return false;
    }
    const TorchValue& a = tensors[first];
    const TorchValue& b = tensors[first + 1];
    if (a.sizes.size() != rank_ || b.sizes.size() != rank_ ||
        a.sizes[rank_ - 1] != b.sizes[rank_ - 2] || (rank_ == 3 && a.sizes[0] != b.sizes[0])) {
      return false;
    }
    std::array<int64_t, 3> sizes{a.sizes[0], a.sizes[1], 0};
    sizes[rank_ - 1] = b.sizes[rank_ - 1];
    const std::array<int64_t, 3> strides{rank_ == 3 ? sizes[1] * sizes[2] : sizes[1],
                                         rank_ == 3 ? sizes[2] : 1, 1};
    const std::span<const int64_t> result_sizes(sizes.data(), rank_);
    if (added_ && !isStretchedTo(tensors[0].sizes, result_sizes)) {
      return false;
    }
    Device* device = a.cuda_index >= 0 ? cudaDevice(a.cuda_index) : &cpuDevice();
    const TorchShim& shim = *values.torch()->shim;
    letOthersRun(values, a.cuda_index >= 0, a.numel() * sizes[rank_ - 1]);
    const Handle out = device == nullptr
                           ? nullptr
                           : shim.empty({a.dtype, result_sizes, {strides.data(), rank_}}, *device);
    if (out == nullptr) {
      return false;
    }
    if (call(tensors, out, a.cuda_index) != 0) {
      shim.release(out);
      return false;
    }
    values.setTensor(results[0], out);
    return true;
  }

 private:
  static bool isStretchedTo(std::span<const int64_t> sizes, std::span<const int64_t> wanted) {
    return sizes.size() <= wanted.size() &&
           std::equal(sizes.rbegin(), sizes.rend(), wanted.rbegin(),
                      [](int64_t size, int64_t whole) { return size == 1 || size == whole; });
  }

  Status call(const Tensors& tensors, Handle out, int32_t cuda_index) const {
    if (added_) {
      const Added function = added_->on(cuda_index);
      return function == nullptr
                 ? -1
                 : function(out, tensors.handle(0), tensors.handle(1), tensors.handle(2),
                            operands_.numbers[0].value_or(1), operands_.numbers[1].value_or(1));
    }
    const Plain function = plain_->on(cuda_index);
    return function == nullptr ? -1 : function(out, tensors.handle(0), tensors.handle(1));
  }

  std::optional<PerDevice<Plain>> plain_;
  std::optional<PerDevice<Added>> added_;
  size_t rank_;
};

/// Owned until they are handed on.
template <size_t kCount>
void setAll(Values& values, std::span<const SlotIndex> results,
            const std::array<Handle, kCount>& made) {
  for (size_t i = 0; i < kCount; ++i) {
    values.setTensor(results[i], made[i]);
  }
}

/// Of PyTorch's attention on the CPU: (query, key, value; mask), dropout, whether it is causal, and
/// the scale, with (result, log of sums).
class AttentionForward final : public LibraryCall {
 public:
  using Function = Status (*)(Handle query, Handle key, Handle value, double dropout,
                              int32_t is_causal, Handle* mask, double* scale, Handle* result,
                              Handle* log_sums);

  AttentionForward(LibraryOperands operands, Function function)
      : LibraryCall(std::move(operands)), function_(function) {}

  bool run(Values& values, std::span<const SlotIndex> results) const override {
    Tensors tensors;
    if (!tensors.read(values, operands_) || tensors[0].cuda_index >= 0) {
      return false;
    }
    double scale = operands_.numbers[2].value_or(0);
    std::array<Handle, 2> made{};
    letOthersRun(values, false, tensors[0].numel() * tensors[1].sizes[tensors[1].sizes.size() / 2]);
    if (function_(tensors.handle(0), tensors.handle(1), tensors.handle(2),
                  operands_.numbers[0].value_or(0), operands_.numbers[1].value_or(0) != 0 ? 1 : 0,
                  tensors.optional(3), operands_.numbers[2] ? &scale : nullptr, &made[0],
                  &made[1]) != 0) {
      return false;
    }
    setAll(values, results, made);
    return true;
  }

 private:
  Function function_;
};

/// Its gradient: (gradient, query, key, value, result, log of sums; mask) and the same numbers.
class AttentionGradient final : public LibraryCall {
 public:
  using Function = Status (*)(Handle gradient, Handle query, Handle key, Handle value,
                              Handle result, Handle log_sums, double dropout, int32_t is_causal,
                              Handle* mask, double* scale, Handle* query_gradient,
                              Handle* key_gradient, Handle* value_gradient);

  AttentionGradient(LibraryOperands operands, Function function)
      : LibraryCall(std::move(operands)), function_(function) {}

  bool run(Values& values, std::span<const SlotIndex> results) const override {
    Tensors tensors;
    if (!tensors.read(values, operands_) || tensors[0].cuda_index >= 0) {
      return false;
    }
    double scale = operands_.numbers[2].value_or(0);
    std::array<Handle, 3> made{};
    letOthersRun(values, false, tensors[1].numel() * tensors[2].sizes[tensors[2].sizes.size() / 2]);
    if (function_(tensors.handle(0), tensors.handle(1), tensors.handle(2), tensors.handle(3),
                  tensors.handle(4), tensors.handle(5), operands_.numbers[0].value_or(0),
                  operands_.numbers[1].value_or(0) != 0 ? 1 : 0, tensors.optional(6),
                  operands_.numbers[2] ? &scale : nullptr, &made[0], &made[1], &made[2]) != 0) {
      return false;
    }
    setAll(values, results, made);
    return true;
  }

 private:
  Function function_;
};

/// (input, weight, bias), (stride, padding, dilation, padding of the output), whether it is
/// transposed, and groups.
class Convolution final : public LibraryCall {
 public:
  using Function = Status (*)(Handle input, Handle weight, Handle* bias, const int64_t* stride,
                              int64_t num_stride, const int64_t* padding, int64_t num_padding,
                              const int64_t* dilation, int64_t num_dilation, int32_t is_transposed,
                              const int64_t* output_padding, int64_t num_output_padding,
                              int64_t groups, Handle* result);

  Convolution(LibraryOperands operands, PerDevice<Function> function)
      : LibraryCall(std::move(operands)), function_(function) {}

  bool run(Values& values, std::span<const SlotIndex> results) const override {
    Tensors tensors;
    if (!tensors.read(values, operands_) || !tensors.areAlike()) {
      return false;
    }
    const Function function = function_.on(tensors[0].cuda_index);
    if (function == nullptr) {
      return false;
    }
    const auto& lists = operands_.lists;
    const auto count = [&](size_t i) { return static_cast<int64_t>(lists[i].size()); };
    Handle made = nullptr;
    values.lock().give();
    if (function(tensors.handle(0), tensors.handle(1), tensors.optional(2), lists[0].data(),
                 count(0), lists[1].data(), count(1), lists[2].data(), count(2),
                 operands_.numbers[0].value_or(0) != 0 ? 1 : 0, lists[3].data(), count(3),
                 static_cast<int64_t>(operands_.numbers[1].value_or(1)), &made) != 0) {
      return false;
    }
    values.setTensor(results[0], made);
    return true;
  }

 private:
  PerDevice<Function> function_;
};

bool hasOperands(const LibraryOperands& operands, size_t tensors, size_t numbers, size_t lists) {
  return operands.tensors.size() == tensors && operands.numbers.size() == numbers &&
         operands.lists.size() == lists;
}

}  // namespace

std::unique_ptr<LibraryCall> LibraryCall::make(std::string_view operation,
                                               LibraryOperands operands) {
  using Plain = PerDevice<Product::Plain>;
  using Added = PerDevice<Product::Added>;
  const auto product = [&](auto function, size_t rank, size_t numbers) {
    return function.exists() && hasOperands(operands, numbers > 0 ? 3 : 2, numbers, 0)
               ? std::make_unique<Product>(std::move(operands), function, rank)
               : nullptr;
  };
  if (operation == "mm") {
    return product(Plain("aoti_torch_cpu_mm_out", "aoti_torch_cuda_mm_out"), 2, 0);
  }
  if (operation == "bmm") {
    return product(Plain("aoti_torch_cpu_bmm_out", "aoti_torch_cuda_bmm_out"), 3, 0);
  }
  if (operation == "addmm") {
    return product(Added("aoti_torch_cpu_addmm_out", "aoti_torch_cuda_addmm_out"), 2, 2);
  }
  if (operation == "baddbmm") {
    return product(Added("aoti_torch_cpu_baddbmm_out", "aoti_torch_cuda_baddbmm_out"), 3, 2);
  }
  if (operation == "_scaled_dot_product_flash_attention_for_cpu") {
    auto function = TorchShim::function<AttentionForward::Function>(
        "aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu");
    if (function != nullptr && hasOperands(operands, 4, 3, 0)) {
      return std::make_unique<AttentionForward>(std::move(operands), function);
    }
  }
  if (operation == "_scaled_dot_product_flash_attention_for_cpu_backward") {
    auto function = TorchShim::function<AttentionGradient::Function>(
        "aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward");
    if (function != nullptr && hasOperands(operands, 7, 3, 0)) {
      return std::make_unique<AttentionGradient>(std::move(operands), function);
    }
  }
  if (operation == "convolution") {
    const PerDevice<Convolution::Function> function("aoti_torch_cpu_convolution",
                                                    "aoti_torch_cuda_convolution");
    if (function.exists() && hasOperands(operands, 3, 2, 4)) {
      return std::make_unique<Convolution>(std::move(operands), function);
    }
  }
  return nullptr;
}

}  // namespace nvfuser::python
