/// A fusion while it is defined: the C interface with exceptions, values as `Term`s, and arguments
/// made from C++ values. Knows nothing of PyTorch.
///
///   Term sum = fusion.call("add", {x, 1.0}).front();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <capi/nvfuser_c.h>

namespace nvfuser::torchscript {

/// Why something cannot be fused; what() is the reason.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value of the fusion: a tensor, or a scalar that a call brings along.
struct Term {
  int64_t id = -1;
  bool is_tensor = false;
  int64_t rank = 0;
  int32_t dtype = NVF_NULL;

  bool given() const { return id >= 0; }
};

/// A number of the program: bool, int64_t or double. Complex ones are refused before.
using Number = std::variant<bool, int64_t, double>;
/// What an operand of a pointwise operation may be.
using Operand = std::variant<Term, Number>;

/// An argument of an operation of ours.
class Argument {
 public:
  Argument() = default;  // None
  Argument(const Term& term) {
    if (term.given()) {
      set(NVF_ARG_VALUE).integer = term.id;
    }
  }
  Argument(bool value) { set(NVF_ARG_BOOL).integer = value ? 1 : 0; }
  Argument(int value) { set(NVF_ARG_INT).integer = value; }
  Argument(int64_t value) { set(NVF_ARG_INT).integer = value; }
  Argument(double value) { set(NVF_ARG_DOUBLE).real = value; }
  Argument(nvf_dtype dtype) { set(NVF_ARG_DTYPE).integer = dtype; }
  Argument(const Number& number)
      : Argument(std::visit([](auto value) { return Argument(value); }, number)) {}
  Argument(const Operand& operand)
      : Argument(std::visit([](const auto& value) { return Argument(value); }, operand)) {}
  template <typename Item>
  Argument(const std::vector<Item>& items) {
    set(NVF_ARG_LIST);
    for (const auto& item : items) {
      items_.emplace_back(static_cast<Item>(item));
    }
  }
  /// By the parameter's name.
  Argument(const char* name, const Argument& value) : Argument(value) { raw_.name = name; }

  /// Valid while the argument is; `raw` holds pointers into `storage`.
  nvf_argument raw(std::vector<std::unique_ptr<std::vector<nvf_argument>>>& storage) const;

 private:
  nvf_argument& set(nvf_kind kind) {
    raw_.kind = kind;
    return raw_;
  }
  nvf_argument raw_ = {};
  std::vector<Argument> items_;
};

using Arguments = std::initializer_list<Argument>;

/// Throws `Refusal` with the library's own message where an operation cannot be.
class Definition {
 public:
  Definition();
  Definition(const Definition&) = delete;
  Definition& operator=(const Definition&) = delete;

  /// An input like a tensor of these sizes and strides; 1 stays, other sizes may change.
  Term tensorLike(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                  int32_t dtype);
  /// An input scalar.
  Term scalar(int32_t dtype);
  std::vector<Term> callAll(const char* operation, Arguments arguments);
  /// An operation with one result, or the first one.
  Term call(const char* operation, Arguments arguments) {
    return callAll(operation, arguments).front();
  }
  void output(const Term& term);

  nvf_fusion* get() const { return fusion_.get(); }
  /// The handle, for executions.
  std::shared_ptr<nvf_fusion> release() { return std::move(fusion_); }
  /// The operations as text.
  std::string text() const;

 private:
  std::shared_ptr<nvf_fusion> fusion_;
};

}  // namespace nvfuser::torchscript
