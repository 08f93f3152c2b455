/// `KernelArgumentHolder`: the arguments or the results of one call, in order, each a tensor or a
/// scalar.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <evaluator/interpreter.h>
#include <ir/polymorphic_value.h>
#include <runtime/tensor.h>

namespace nvfuser {

class KernelArgument {
 public:
  KernelArgument() = default;
  KernelArgument(Tensor tensor) : value_(std::move(tensor)) {}
  KernelArgument(PolymorphicValue scalar) : value_(scalar) {}
  template <typename Scalar>
    requires(std::is_arithmetic_v<Scalar> || std::same_as<Scalar, std::complex<float>> ||
             std::same_as<Scalar, std::complex<double>>)
  KernelArgument(Scalar scalar) : value_(PolymorphicValue(scalar)) {}

  bool isTensor() const { return std::holds_alternative<Tensor>(value_); }
  bool isScalar() const { return !isTensor() && scalar().hasValue(); }
  /// Throw `InternalError` where it is the other one.
  const Tensor& tensor() const;
  const PolymorphicValue& scalar() const;
  /// The tensor, moved out of here.
  Tensor takeTensor();

  /// `is<Tensor>()`, `is<double>()`, …
  template <typename T>
  bool is() const {
    if constexpr (std::same_as<T, Tensor>) {
      return isTensor();
    } else {
      return !isTensor() && scalar().is<T>();
    }
  }
  /// `as<Tensor>()`, or the scalar converted to a number type.
  template <typename T>
  T as() const {
    if constexpr (std::same_as<T, Tensor>) {
      return tensor();
    } else {
      return scalar().as<T>();
    }
  }

  /// For the interpreter and the evaluator. A tensor has to be addressable by the host for the
  /// former.
  InterpreterInput input() const;
  std::string toString() const;

 private:
  std::variant<PolymorphicValue, Tensor> value_;
};

class KernelArgumentHolder {
 public:
  KernelArgumentHolder() = default;
  /// Tensors, scalars, vectors and optionals of them, and other holders, one after the other.
  template <typename... Arguments>
    requires(sizeof...(Arguments) > 0 &&
             (sizeof...(Arguments) > 1 ||
              (!std::same_as<std::remove_cvref_t<Arguments>, KernelArgumentHolder> && ...)))
  KernelArgumentHolder(Arguments&&... arguments) {  // NOLINT: implicit, so that run({x, y}) works
    (push(std::forward<Arguments>(arguments)), ...);
  }

  void push(KernelArgument argument) { arguments_.push_back(std::move(argument)); }
  void push(Tensor tensor) { arguments_.emplace_back(std::move(tensor)); }
  void push(PolymorphicValue scalar) { arguments_.emplace_back(scalar); }
  template <typename Scalar>
    requires std::is_constructible_v<PolymorphicValue, Scalar>
  void push(Scalar scalar) {
    arguments_.emplace_back(PolymorphicValue(scalar));
  }
  template <typename Item>
  void push(const std::vector<Item>& items) {
    for (const Item& item : items) {
      push(item);
    }
  }
  template <typename Item, size_t N>
  void push(const std::array<Item, N>& items) {
    for (const Item& item : items) {
      push(item);
    }
  }
  /// An argument without a value stands for "not given".
  template <typename Item>
  void push(const std::optional<Item>& item) {
    if (item) {
      push(*item);
    } else {
      arguments_.emplace_back();
    }
  }
  /// A template, since anything that can be pushed converts to a holder: a wrong type must not come
  /// back here.
  template <std::same_as<KernelArgumentHolder> Holder>
  void push(const Holder& others) {
    arguments_.insert(arguments_.end(), others.arguments_.begin(), others.arguments_.end());
  }
  /// A tensor without memory, where sizes alone are needed.
  void pushTensorProxy(std::vector<int64_t> sizes, std::vector<int64_t> strides, DataType dtype) {
    push(Tensor::meta(std::move(sizes), std::move(strides), dtype));
  }
  /// Removes the argument that is this very object.
  void erase(const KernelArgument* argument);
  void reserve(size_t count) { arguments_.reserve(count); }
  void resize(size_t count) { arguments_.resize(count); }
  void clear() { arguments_.clear(); }

  KernelArgument& operator[](size_t i) { return arguments_.at(i); }
  const KernelArgument& operator[](size_t i) const { return arguments_.at(i); }
  KernelArgument& back() { return arguments_.back(); }
  const KernelArgument& back() const { return arguments_.back(); }
  auto begin() { return arguments_.begin(); }
  auto end() { return arguments_.end(); }
  auto begin() const { return arguments_.begin(); }
  auto end() const { return arguments_.end(); }
  auto cbegin() const { return arguments_.cbegin(); }
  auto cend() const { return arguments_.cend(); }
  auto rbegin() const { return arguments_.rbegin(); }
  auto rend() const { return arguments_.rend(); }
  size_t size() const { return arguments_.size(); }
  bool empty() const { return arguments_.empty(); }

  /// Index of the device of the tensors, 0 if there are none; throws `UserError` where they are on
  /// several devices. `setDeviceIndex` settles it.
  int8_t getDeviceIndex() const;
  void setDeviceIndex(std::optional<int8_t> index) { device_index_ = index; }
  /// A number that stands for all descriptors of the arguments, given by a cache.
  std::optional<size_t> getCacheId() const { return cache_id_; }
  void setCacheId(size_t id) { cache_id_ = id; }

  /// Int32 where every element of every tensor is less than 2^31 elements from its first one, else
  /// Int.
  PrimDataType getSmallestIndexTypeOfArguments() const;

  /// For `bindInputs` and `interpret`.
  std::vector<InterpreterInput> inputs() const;
  /// The same with tensors in host memory, in their own layouts. Those that are there are shared;
  /// others are copied in the order of `stream`.
  KernelArgumentHolder onHost(Stream stream = nullptr) const;
  std::string toString() const;

 private:
  std::vector<KernelArgument> arguments_;
  std::optional<int8_t> device_index_;
  std::optional<size_t> cache_id_;
};

}  // namespace nvfuser
