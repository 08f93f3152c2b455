/// Which operation of the table defines an expression, and with which arguments: what
/// fusionStatements writes.
#pragma once

#include <string>
#include <vector>

#include <ir/internal_nodes.h>

namespace nvfuser::capi {

/// One argument of a call: values of the fusion, or text.
struct WrittenArgument {
  std::string name;  ///< empty: given by position
  std::vector<Val*> values;
  bool is_list = false;  ///< the values as a list
  std::string text;      ///< where there are no values: "[True, False]", "DataType.Float"
};

struct WrittenCall {
  std::string operation;
  std::vector<WrittenArgument> arguments;
  /// Results of the operation that the expression does not have, behind its own.
  size_t more_results = 0;
};

/// Throws a `UserError` for an expression that no operation defines.
WrittenCall operationOf(const Expr* expr);

/// The last expression of the operation that draws: `uniform` keeps its numbers below their upper
/// end by a minimum. The draw itself where there is none, or where it belongs to a cast behind it.
const Expr* writtenDraw(const RNGOp* draw);

/// What an operation reads when it is called with a copy that only makes stretched axes real: the
/// copy's operand, as those operations that need real axes make them themselves. Else `val`.
Val* withoutRealCopy(Val* val);

}  // namespace nvfuser::capi
