/// How scalars are written: as `i0`, `( ceilDiv( i2, 128 ) )`, `2.0`. Definitions share parts, so
/// that one of a long chain of operations may be exponentially long when it is spelled out. Those
/// beyond a limit have their name alone, in text and in kernels, which take them as parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ir/base_nodes.h>
#include <ir/op_types.h>

namespace nvfuser {

/// Whether the definition, spelled out, has at most some 40 operations, all of them of scalars.
/// Looks at no more of them.
bool isSpelledOut(const Val* scalar);

/// dtypes of literals behind which none is written.
struct LiteralTypes {
  DataType integer = DataType::Int;
  DataType real = DataType::Double;
  DataType complex = DataType::ComplexDouble;

  /// Of extents and of what transforms them.
  static LiteralTypes ofSizes() { return {.integer = DataType::Index}; }
  /// Beside a tensor of that dtype.
  static LiteralTypes of(DataType dtype);
  /// Of operands: what is computed element by element takes the user's numbers, others take sizes
  /// and indices, or values of their result's dtype.
  static LiteralTypes ofOperands(ExprKind kind, DataType result);
  /// Of a literal with this value.
  DataType typeOf(const PolymorphicValue& value) const;
};

/// A scalar from which it can be made again: dtypes stand behind literals and results where they
/// are not those that are expected ("2:int", "( i0 + 2 ):int64_t").
std::string scalarText(const Val* scalar, const LiteralTypes& types);
/// "i0 + 2", "ceilDiv( i0, 2 )", "(double)i0".
std::string definitionText(const Expr* definition, const LiteralTypes& types);

/// "i", "f", …: what the name of a scalar begins with.
std::string_view prefixOf(DataType dtype);
/// The dtype of a symbol with that prefix of which nothing else is said; none: no such prefix.
std::optional<DataType> typeOfPrefix(char prefix);
/// "+", "<=", …; empty for functions.
std::string_view infix(BinaryOpType type);
/// What an operation on scalars does.
using ScalarOperation = std::variant<UnaryOpType, BinaryOpType, TernaryOpType, LoadStoreOpType>;
/// The dtype that its result has as a rule; Null of a cast.
DataType expectedType(const ScalarOperation& operation, const std::vector<Val*>& operands);

}  // namespace nvfuser
