#include <ir/base_nodes.h>

#include <algorithm>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

Val::Val(IrBuilderPasskey passkey, ValType vtype, DataType dtype, PolymorphicValue value)
    : Statement(passkey.fusion), vtype_(vtype), dtype_(dtype), value_(value) {}

Val::Val(IrBuilderPasskey passkey, DataType dtype) : Val(passkey, ValType::Others, dtype) {}

Val::Val(IrBuilderPasskey passkey, PolymorphicValue value)
    : Val(passkey, ValType::Others, value.dtype(), value) {}

Val::Val(IrBuilderPasskey passkey, PolymorphicValue value, DataType dtype)
    : Val(passkey, ValType::Others, dtype, castToDtype(value, dtype)) {}

bool Val::isConstScalar() const {
  if (!isScalar()) {
    return false;
  }
  if (isConst()) {
    return true;
  }
  // A worklist: extents of deep graphs are deep expressions.
  std::vector<const Val*> open{this};
  std::vector<const Val*> seen;
  while (!open.empty()) {
    const Val* val = open.back();
    open.pop_back();
    if (val->isConst()) {
      continue;
    }
    const Expr* def = val->definition();
    if (def == nullptr || !val->isScalar()) {
      return false;
    }
    if (std::find(seen.begin(), seen.end(), val) != seen.end()) {
      continue;
    }
    seen.push_back(val);
    for (const Val* in : def->inputs()) {
      open.push_back(in);
    }
  }
  return true;
}

bool Val::sameAs(const Statement* other) const {
  if (this == other) {
    return true;
  }
  if (other == nullptr || !other->isVal()) {
    return false;
  }
  const Val* val = other->asVal();
  if (vtype_ != val->vtype_ || dtype_ != val->dtype_ || !isScalar()) {
    return false;
  }
  if (isConst() || val->isConst()) {
    return value_ == val->value_ && isConst() == val->isConst();
  }
  const Expr* a = definition();
  const Expr* b = val->definition();
  return a != nullptr && b != nullptr && a->outputs().size() == 1 && a->sameAs(b);
}

NamedScalar::NamedScalar(IrBuilderPasskey passkey, std::string symbol, DataType dtype)
    : Val(passkey, ValType::NamedScalar, dtype), symbol_(std::move(symbol)) {}

bool NamedScalar::sameAs(const Statement* other) const {
  return this == other || (other != nullptr && other->isA<NamedScalar>() &&
                           other->as<NamedScalar>()->symbol() == symbol_);
}

std::string_view exprKindName(ExprKind kind) {
  static constexpr std::string_view kNames[] = {
#define X(Class) #Class,
#include <ir/expr_kinds.def>
#undef X
  };
  return kNames[static_cast<size_t>(kind)];
}

Expr::Expr(IrBuilderPasskey passkey, ExprKind kind, ExprFields fields)
    : Statement(passkey.fusion), kind_(kind), fields_(std::move(fields)) {
  for (const Val* val : fields_.inputs) {
    check(val != nullptr, "an expression was given a null operand");
    check(val->fusion() == fusion(), "an operand belongs to another Fusion");
  }
  for (const Val* val : fields_.outputs) {
    check(val != nullptr && val->fusion() == fusion(), "a result belongs to another Fusion");
  }
}

namespace {

bool sameAttribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) {
    return false;
  }
  if (auto* val = std::get_if<Val*>(&a)) {
    Val* other = std::get<Val*>(b);
    return *val == other || (*val != nullptr && (*val)->sameAs(other));
  }
  return a == b;
}

}  // namespace

bool Expr::sameOp(const Expr* other) const {
  if (other == nullptr || kind_ != other->kind_) {
    return false;
  }
  const auto& a = attributes();
  const auto& b = other->attributes();
  if (a.size() != b.size() || inputs().size() != other->inputs().size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!sameAttribute(a[i], b[i])) {
      return false;
    }
  }
  return true;
}

bool Expr::sameAs(const Expr* other) const {
  if (this == other) {
    return true;
  }
  if (!sameOp(other) || !isDeterministic()) {
    return false;
  }
  for (size_t i = 0; i < inputs().size(); ++i) {
    if (!input(i)->sameAs(other->input(i))) {
      return false;
    }
  }
  return true;
}

}  // namespace nvfuser
