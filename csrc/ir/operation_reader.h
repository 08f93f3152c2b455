/// An operation that is being read: its fields by their names, then the expression. One of each
/// kind is made from the list of kinds (expr_kinds.def) and their `fields()`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <ir/fusion.h>
#include <ir/text_cursor.h>

namespace nvfuser {

class OperationReader {
 public:
  virtual ~OperationReader() = default;
  virtual ExprKind kind() const = 0;
  virtual bool hasField(std::string_view name) const = 0;
  /// "dim, backward": all of them.
  virtual std::string fieldNames() const = 0;
  /// What stands behind the name of a field; `scalar` reads scalars.
  virtual void readField(std::string_view name, TextCursor& at,
                         const std::function<Val*(TextCursor&)>& scalar) = 0;
  virtual Expr* make(Fusion* fusion, Operands operands) const = 0;

  /// Of an operation as `Expr::getOpString` names it; null where none is named so.
  static std::unique_ptr<OperationReader> of(std::string_view name);
};

}  // namespace nvfuser
