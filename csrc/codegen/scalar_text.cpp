#include <codegen/scalar_text.h>

#include <cctype>
#include <utility>

#include <support/error.h>

namespace nvfuser::codegen {

using kir::Scalar;
using kir::ScalarOp;

namespace {

/// How tightly operators bind, loosest first.
enum Precedence : int { kSelect, kOr, kAnd, kXor, kEqual, kLess, kAdd, kMul, kUnary, kPrimary };

std::string wrap(std::string inside, int own, int around) {
  return own < around ? "(" + inside + ")" : inside;
}

std::string constantText(int64_t value) {
  // The least number has no literal of its own.
  return value == INT64_MIN ? text("(", value + 1, " - 1)") : text(value);
}

}  // namespace

bool ScalarText::isBoolean(Scalar scalar) {
  switch (scalar->op) {
    case ScalarOp::Less:
    case ScalarOp::Equal:
    case ScalarOp::And:
    case ScalarOp::Or:
    case ScalarOp::Not:
      return true;
    default:
      return false;
  }
}

std::string ScalarText::operand(Scalar scalar) const { return show(scalar, kAdd); }

std::string ScalarText::name(Scalar symbol) const {
  check(symbol->op == ScalarOp::Symbol, "only symbols have names");
  for (const LaunchIndex& index : kLaunchIndices) {
    if (index.symbol == symbol->name) {
      launch_indices_.insert(index.name);
      return std::string(index.name);
    }
  }
  std::string out = symbol->name;
  for (char& c : out) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      c = '_';
    }
  }
  return out;
}

std::string ScalarText::sum(Scalar scalar) const {
  std::string out;
  for (const auto& [term, coefficient] : scalar->terms) {
    const bool negative = coefficient < 0;
    const uint64_t magnitude =
        negative ? -static_cast<uint64_t>(coefficient) : static_cast<uint64_t>(coefficient);
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    out += show(term, kMul);
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

std::string ScalarText::show(Scalar scalar, int around) const {
  auto infix = [&](std::string_view symbol, int own) {
    std::string out;
    for (size_t i = 0; i < scalar->args.size(); ++i) {
      if (i > 0) {
        append(out, text(" ", symbol, " "));
      }
      out += show(scalar->args[i], own + (i > 0 ? 1 : 0));
    }
    return wrap(std::move(out), own, around);
  };
  auto call = [&](std::string_view function) {
    return text(function, "(", show(scalar->args[0], kSelect), ", ", show(scalar->args[1], kSelect),
                ")");
  };
  // Operands are in order of creation; a constant reads better on the right.
  auto equality = [&](std::string_view symbol, Scalar equal) {
    Scalar a = equal->args[0];
    Scalar b = equal->args[1];
    if (a->isConstant()) {
      std::swap(a, b);
    }
    return wrap(text(show(a, kEqual), " ", symbol, " ", show(b, kEqual + 1)), kEqual, around);
  };
  switch (scalar->op) {
    case ScalarOp::Constant:
      return scalar->value < 0 ? wrap(constantText(scalar->value), kUnary, around + 1)
                               : constantText(scalar->value);
    case ScalarOp::Symbol:
      return name(scalar);
    case ScalarOp::Sum:
      return wrap(sum(scalar), kAdd, around);
    case ScalarOp::Product:
      return infix("*", kMul);
    case ScalarOp::Div:
      return infix("/", kMul);
    case ScalarOp::Mod:
      return infix("%", kMul);
    case ScalarOp::Min:
      uses_min_ = true;
      return call("indexMin");
    case ScalarOp::Max:
      uses_max_ = true;
      return call("indexMax");
    case ScalarOp::Xor:
      return infix("^", kXor);
    case ScalarOp::Less:
      return infix("<", kLess);
    case ScalarOp::Equal:
      return equality("==", scalar);
    case ScalarOp::And:
      return infix("&&", kAnd);
    case ScalarOp::Or:
      return infix("||", kOr);
    case ScalarOp::Not: {
      Scalar inside = scalar->args[0];
      // !(a < b) reads as b <= a.
      if (inside->op == ScalarOp::Less) {
        return wrap(text(show(inside->args[1], kLess), " <= ", show(inside->args[0], kLess + 1)),
                    kLess, around);
      }
      if (inside->op == ScalarOp::Equal) {
        return equality("!=", inside);
      }
      return wrap("!" + show(inside, kUnary), kUnary, around);
    }
    case ScalarOp::Select:
      return wrap(text(show(scalar->args[0], kOr), " ? ", show(scalar->args[1], kOr), " : ",
                       show(scalar->args[2], kOr)),
                  kSelect, around);
  }
  throw InternalError("an index expression of an unknown kind");
}

}  // namespace nvfuser::codegen
