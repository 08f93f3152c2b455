/// Expressions as text, with only the parentheses that they need.
#include <kernel_ir/scalar.h>
#include <support/text.h>

namespace nvfuser::kir {

namespace {

enum Precedence : int { kSelect, kOr, kAnd, kXor, kEqual, kLess, kAdd, kMul, kUnary, kAtom };

std::string show(Scalar a, int around);

std::string wrap(std::string inside, int own, int around) {
  return own < around ? "(" + inside + ")" : inside;
}

std::string showSum(Scalar a) {
  std::string out;
  for (const auto& [term, coefficient] : a->terms) {
    const bool negative = coefficient < 0;
    const auto magnitude =
        negative ? -static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    if (out.empty()) {
      if (negative) {
        out += "-";
      }
    } else {
      out += negative ? " - " : " + ";
    }
    if (magnitude == 1) {
      out += show(term, kMul);
    } else {
      out += text(show(term, kMul), " * ", magnitude);
    }
  }
  if (a->value != 0) {
    out += a->value < 0 ? text(" - ", -a->value) : text(" + ", a->value);
  }
  return out;
}

std::string show(Scalar a, int around) {
  auto infix = [&](std::string_view symbol, int own) {
    std::string out;
    for (size_t i = 0; i < a->args.size(); ++i) {
      if (i > 0) {
        out += text(" ", symbol, " ");
      }
      out += show(a->args[i], own + (i > 0 ? 1 : 0));
    }
    return wrap(std::move(out), own, around);
  };
  switch (a->op) {
    case ScalarOp::Constant:
      return a->value < 0 ? wrap(text(a->value), kUnary, around) : text(a->value);
    case ScalarOp::Symbol:
      return a->name;
    case ScalarOp::Sum:
      return wrap(showSum(a), kAdd, around);
    case ScalarOp::Product:
      return infix("*", kMul);
    case ScalarOp::Div:
      return infix("/", kMul);
    case ScalarOp::Mod:
      return infix("%", kMul);
    case ScalarOp::Min:
      return text("min(", show(a->args[0], kSelect), ", ", show(a->args[1], kSelect), ")");
    case ScalarOp::Max:
      return text("max(", show(a->args[0], kSelect), ", ", show(a->args[1], kSelect), ")");
    case ScalarOp::Xor:
      return wrap(text(show(a->args[0], kAdd), " ^ ", show(a->args[1], kAdd)), kXor, around);
    case ScalarOp::Less:
      return infix("<", kLess);
    case ScalarOp::Equal:
      return infix("==", kEqual);
    case ScalarOp::And:
      return infix("&&", kAnd);
    case ScalarOp::Or:
      return infix("||", kOr);
    case ScalarOp::Not:
      return text("!", show(a->args[0], kUnary));
    case ScalarOp::Select:
      return wrap(
          text(show(a->args[0], kOr), " ? ", show(a->args[1], kOr), " : ", show(a->args[2], kOr)),
          kSelect, around);
  }
  return "";
}

}  // namespace

std::string ScalarNode::toString() const { return show(this, kSelect); }

}  // namespace nvfuser::kir
