#include <evaluator/zero_divisor.h>

#include <unordered_set>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/internal_nodes.h>
#include <support/error.h>

namespace nvfuser {

namespace {

/// The operand; null if there is none.
const Val* zeroDivisor(const Val* val, ExpressionEvaluator& evaluator) {
  std::vector<const Val*> open{val};
  std::unordered_set<const Val*> seen;
  while (!open.empty()) {
    const Val* top = open.back();
    open.pop_back();
    const Expr* def = top->definition();
    if (def == nullptr || !seen.insert(top).second) {
      continue;
    }
    if (def->isA<BinaryOp>()) {
      using enum BinaryOpType;
      const BinaryOpType type = def->as<BinaryOp>()->getBinaryOpType();
      const bool divides =
          type == Div || type == Mod || type == CeilDiv || type == Remainder || type == Fmod;
      if (divides && evaluator.evaluate(def->input(1)) == PolymorphicValue(0)) {
        return def->input(1);
      }
    }
    open.insert(open.end(), def->inputs().begin(), def->inputs().end());
  }
  return nullptr;
}

}  // namespace

void requireDivisors(const Val* val, ExpressionEvaluator& evaluator, std::string_view what) {
  if (const Val* divisor = zeroDivisor(val, evaluator)) {
    userError(what, " is divided by zero: ", divisor->toInlineString(), " in ",
              val->toInlineString(), " is 0; pass sizes and scalars that divide");
  }
}

}  // namespace nvfuser
