#include <kernel_ir/scalar_print.h>

#include <utility>

#include <support/error.h>
#include <support/text.h>

namespace nvfuser::kir {

namespace {

std::string wrap(std::string inside, Precedence own, Precedence around) {
  return own < around ? "(" + inside + ")" : inside;
}

Precedence tighter(Precedence precedence) {
  return static_cast<Precedence>(static_cast<int>(precedence) + 1);
}

}  // namespace

std::string ScalarPrinter::constant(int64_t value) const { return text(value); }

std::string ScalarPrinter::sum(Scalar scalar) const {
  std::string out;
  for (const auto& [term, coefficient] : scalar->terms) {
    const bool negative = coefficient < 0;
    const uint64_t magnitude =
        negative ? -static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    out += print(term, Precedence::Mul);
    if (magnitude != 1) {
      append(out, text(" * ", magnitude));
    }
  }
  if (scalar->value != 0) {
    const auto value = static_cast<uint64_t>(scalar->value);
    append(out, scalar->value < 0 ? text(" - ", -value) : text(" + ", value));
  }
  return out;
}

std::string ScalarPrinter::infix(Scalar scalar, std::string_view symbol, Precedence own,
                                 Precedence around) const {
  std::string out;
  for (size_t i = 0; i < scalar->args.size(); ++i) {
    if (i > 0) {
      append(out, text(" ", symbol, " "));
    }
    out += print(scalar->args[i], i > 0 ? tighter(own) : own);
  }
  return wrap(std::move(out), own, around);
}

std::string ScalarPrinter::comparison(Scalar a, std::string_view symbol, Scalar b, Precedence own,
                                      Precedence around) const {
  return wrap(text(print(a, own), " ", symbol, " ", print(b, tighter(own))), own, around);
}

std::string ScalarPrinter::print(Scalar scalar, Precedence around) const {
  using enum Precedence;
  const auto& args = scalar->args;
  // Operands are in order of creation.
  const auto equality = [&](std::string_view symbol, const std::vector<Scalar>& sides) {
    const size_t left = sides[0]->isConstant() ? 1 : 0;
    return comparison(sides[left], symbol, sides[1 - left], Equal, around);
  };
  switch (scalar->op) {
    case ScalarOp::Constant:
      return scalar->value < 0 && around >= Unary ? "(" + constant(scalar->value) + ")"
                                                  : constant(scalar->value);
    case ScalarOp::Symbol:
      return symbol(scalar);
    case ScalarOp::Sum:
      return wrap(sum(scalar), Add, around);
    case ScalarOp::Product:
      return infix(scalar, "*", Mul, around);
    case ScalarOp::Div:
      return infix(scalar, "/", Mul, around);
    case ScalarOp::Mod:
      return infix(scalar, "%", Mul, around);
    case ScalarOp::Min:
      return text(minimum(), "(", print(args[0]), ", ", print(args[1]), ")");
    case ScalarOp::Max:
      return text(maximum(), "(", print(args[0]), ", ", print(args[1]), ")");
    case ScalarOp::Xor:
      return infix(scalar, "^", Xor, around);
    case ScalarOp::Less:
      return comparison(args[0], "<", args[1], Less, around);
    case ScalarOp::Equal:
      return equality("==", args);
    case ScalarOp::And:
      return infix(scalar, "&&", And, around);
    case ScalarOp::Or:
      return infix(scalar, "||", Or, around);
    case ScalarOp::Not:
      if (args[0]->op == ScalarOp::Less) {
        return comparison(args[0]->args[1], "<=", args[0]->args[0], Less, around);
      }
      if (args[0]->op == ScalarOp::Equal) {
        return equality("!=", args[0]->args);
      }
      return wrap("!" + print(args[0], Unary), Unary, around);
    case ScalarOp::Select:
      return wrap(text(print(args[0], Or), " ? ", print(args[1], Or), " : ", print(args[2], Or)),
                  Select, around);
  }
  throw InternalError("an index expression of an unknown kind");
}

std::string ScalarNode::toString() const { return ScalarPrinter().print(this); }

}  // namespace nvfuser::kir
