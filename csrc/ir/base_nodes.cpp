#include <ir/base_nodes.h>

#include <ir/expr_visit.h>
#include <ir/field_values.h>

namespace nvfuser {

Val::Val(IrBuilderPasskey passkey, ValType vtype, DataType dtype, PolymorphicValue value)
    : Statement(passkey.fusion), vtype_(vtype), dtype_(dtype), value_(value) {}

Val::Val(IrBuilderPasskey passkey, DataType dtype) : Val(passkey, ValType::Others, dtype) {}

Val::Val(IrBuilderPasskey passkey, PolymorphicValue value)
    : Val(passkey, ValType::Others, value.dtype(), value) {}

Val::Val(IrBuilderPasskey passkey, PolymorphicValue value, DataType dtype)
    : Val(passkey, ValType::Others, dtype, castToDtype(value, dtype)) {}

bool Val::isConstScalar() const { return isScalar() && !fingerprint().hasSymbol(); }

bool Val::sameAs(const Statement* other) const {
  if (this == other) {
    return true;
  }
  return other != nullptr && other->isVal() && isScalar() && other->asVal()->isScalar() &&
         fingerprint() == other->asVal()->fingerprint();
}

NamedScalar::NamedScalar(IrBuilderPasskey passkey, std::string symbol, DataType dtype)
    : Val(passkey, ValType::NamedScalar, dtype), symbol_(std::move(symbol)) {}

std::string_view exprKindName(ExprKind kind) {
  static constexpr std::string_view kNames[] = {
#define X(Class) #Class,
#include <ir/expr_kinds.def>
#undef X
  };
  return kNames[static_cast<size_t>(kind)];
}

Expr::Expr(IrBuilderPasskey passkey, ExprKind kind, Operands operands)
    : Statement(passkey.fusion), kind_(kind), operands_(std::move(operands)) {
  for (const Val* val : operands_.inputs) {
    check(val != nullptr, "an expression was given a null operand");
    check(val->fusion() == fusion(), "an operand belongs to another Fusion");
  }
  for (const Val* val : operands_.outputs) {
    check(val != nullptr && val->fusion() == fusion(), "a result belongs to another Fusion");
  }
}

std::vector<Val*> Expr::fieldVals() const {
  std::vector<Val*> vals;
  forEachFieldOf(this, [&](const auto&, const auto& value) {
    if constexpr (kIsNode<std::decay_t<decltype(value)>>) {
      vals.push_back(value);
    }
  });
  return vals;
}

bool Expr::sameOp(const Expr* other) const {
  if (other == nullptr || kind_ != other->kind_ || inputs().size() != other->inputs().size()) {
    return false;
  }
  return visitExpr(this, [&](const auto& op) {
    using Class = std::decay_t<decltype(op)>;
    return sameFields(op.fields(), static_cast<const Class*>(other)->fields());
  });
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
