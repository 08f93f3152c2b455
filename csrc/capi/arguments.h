/// From the arguments of a call through the C interface to the C++ values that operations take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <capi/nvfuser_c.h>
#include <ir/interface_nodes.h>

namespace nvfuser::capi {

/// A call with arguments of the wrong kind, name or number.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One parameter of an operation.
struct Parameter {
  std::string name;
  std::string type;                         ///< as documented
  bool is_operand = false;                  ///< of kind tensor or value: written by position
  std::optional<std::string> default_text;  ///< as in Python; none: the argument is required
  bool may_be_none = false;                 ///< also where it is required
};

/// The arguments of one call in the order of the parameters: given ones, else defaults.
class Call {
 public:
  /// Throws `ArgumentError` where arguments do not fit the parameters.
  Call(std::string_view name, std::span<const Parameter> parameters,
       std::span<const nvf_argument> arguments, const std::vector<Val*>& values);

  std::string_view name() const { return name_; }
  size_t size() const { return arguments_.size(); }
  bool isGiven(size_t i) const { return is_given_[i]; }
  const nvf_argument& argument(size_t i) const { return arguments_[i]; }
  const std::vector<Val*>& values() const { return values_; }

  /// The i-th argument as `T`, one of the types below.
  template <typename T>
  T get(size_t i) const;

 private:
  friend struct Converter;
  [[noreturn]] void wrongKind(size_t i, std::string_view wanted) const;

  std::string_view name_;
  std::span<const Parameter> parameters_;
  std::vector<nvf_argument> arguments_;
  std::vector<bool> is_given_;
  const std::vector<Val*>& values_;
};

/// A scalar of the fusion or a number.
struct ScalarOperand {
  Val* val = nullptr;
  operator Val*() const { return val; }  // NOLINT: it is one
};
/// Axes; none given means all.
struct Axes {
  std::optional<std::vector<int64_t>> given;
  std::vector<int64_t> of(const TensorView* tv) const;
};
using Ints = std::vector<int64_t>;
using Flags = std::vector<bool>;
/// Sizes and the like, each a number or an integer scalar.
using Sizes = std::vector<Val*>;
using Tensors = std::vector<TensorView*>;

/// How documentation names a parameter's type, and whether it is an operand.
struct TypeName {
  std::string_view text;
  bool is_operand = false;
};
template <typename T>
TypeName typeName();
// The types: all that operations take.
template <>
TypeName typeName<Val*>();
template <>
Val* Call::get<Val*>(size_t i) const;
template <>
TypeName typeName<TensorView*>();
template <>
TensorView* Call::get<TensorView*>(size_t i) const;
template <>
TypeName typeName<ScalarOperand>();
template <>
ScalarOperand Call::get<ScalarOperand>(size_t i) const;
template <>
TypeName typeName<int64_t>();
template <>
int64_t Call::get<int64_t>(size_t i) const;
template <>
TypeName typeName<bool>();
template <>
bool Call::get<bool>(size_t i) const;
template <>
TypeName typeName<DataType>();
template <>
DataType Call::get<DataType>(size_t i) const;
template <>
TypeName typeName<Ints>();
template <>
Ints Call::get<Ints>(size_t i) const;
template <>
TypeName typeName<Axes>();
template <>
Axes Call::get<Axes>(size_t i) const;
template <>
TypeName typeName<Flags>();
template <>
Flags Call::get<Flags>(size_t i) const;
template <>
TypeName typeName<Sizes>();
template <>
Sizes Call::get<Sizes>(size_t i) const;
template <>
TypeName typeName<Tensors>();
template <>
Tensors Call::get<Tensors>(size_t i) const;

/// A real scalar that stands for a size or a place as an index; others, and constants with a
/// fraction, as they are.
Val* asIndex(Val* scalar);

/// "1" or "True" as an argument.
nvf_argument parseDefault(std::string_view text);

/// The dtype of an `nvf_dtype`; throws `ArgumentError` if there is none. And its name.
DataType dtypeOf(int64_t code);
int32_t codeOf(DataType dtype);

}  // namespace nvfuser::capi
