/// Index expressions as text, in printed IR and in C++: with only the parentheses that are needed,
/// !(a < b) as b <= a, constants on the right of comparisons.
#pragma once

#include <string>
#include <string_view>

#include <kernel_ir/scalar.h>

namespace nvfuser::kir {

/// How tightly operators bind, loosest first.
enum class Precedence : uint8_t {
  Select,
  Or,
  And,
  Xor,
  Equal,
  Less,
  Add,
  Mul,
  Unary,
  Primary,
};

class ScalarPrinter {
 public:
  virtual ~ScalarPrinter() = default;

  /// In parentheses where it binds less tightly than `around`.
  std::string print(Scalar scalar, Precedence around = Precedence::Select) const;

 protected:
  virtual std::string symbol(Scalar scalar) const { return scalar->name; }
  virtual std::string constant(int64_t value) const;
  /// Names of the functions.
  virtual std::string_view minimum() const { return "min"; }
  virtual std::string_view maximum() const { return "max"; }

 private:
  std::string sum(Scalar scalar) const;
  std::string infix(Scalar scalar, std::string_view symbol, Precedence own,
                    Precedence around) const;
  std::string comparison(Scalar a, std::string_view symbol, Scalar b, Precedence own,
                         Precedence around) const;
};

}  // namespace nvfuser::kir
