#include <ir/cloner.h>

#include <ir/expr_visit.h>
#include <ir/field_values.h>

namespace nvfuser {

Statement* IrCloner::clone(const Statement* node) {
  auto found = map_.find(node);
  if (found != map_.end()) {
    return found->second;
  }
  Statement* copy = node->isVal() ? static_cast<Statement*>(cloneVal(node->asVal()))
                                  : static_cast<Statement*>(cloneExpr(node->asExpr()));
  return copy;
}

Val* IrCloner::cloneVal(const Val* val) {
  std::unique_ptr<Val> copy;
  switch (val->vtype()) {
    case ValType::IterDomain:
      copy = std::make_unique<IterDomain>(passkey(),
                                          clonedFields(val->as<IterDomain>()->fields(), *this));
      break;
    case ValType::TensorDomain:
      copy = std::make_unique<TensorDomain>(passkey(),
                                            clonedFields(val->as<TensorDomain>()->fields(), *this));
      break;
    case ValType::TensorView:
      copy = std::make_unique<TensorView>(
          passkey(), clonedFields(val->as<TensorView>()->fields(), *this), val->dtype());
      break;
    case ValType::NamedScalar:
      copy =
          std::make_unique<NamedScalar>(passkey(), val->as<NamedScalar>()->symbol(), val->dtype());
      break;
    case ValType::Others:
      copy = std::make_unique<Val>(passkey(), val->vtype(), val->dtype(), val->value());
      break;
  }
  copy->name_ = val->name_;
  copy->is_fusion_input_ = val->is_fusion_input_;
  copy->is_fusion_output_ = val->is_fusion_output_;
  Val* raw = copy.get();
  map_[val] = raw;
  to_->vals_.push_back(std::move(copy));
  return raw;
}

Expr* IrCloner::cloneExpr(const Expr* expr) {
  Operands operands{clone(expr->inputs()), clone(expr->outputs())};
  std::unique_ptr<Expr> copy = visitExpr(expr, [&](const auto& op) -> std::unique_ptr<Expr> {
    using Class = std::decay_t<decltype(op)>;
    return std::make_unique<Class>(passkey(), std::move(operands),
                                   clonedFields(op.fields(), *this));
  });
  copy->name_ = expr->name_;
  Expr* raw = copy.get();
  map_[expr] = raw;
  to_->exprs_.push_back(std::move(copy));
  for (Val* out : raw->operands_.outputs) {
    out->definition_ = raw;
    out->forgetFingerprint();
  }
  for (Val* in : raw->operands_.inputs) {
    if (in->uses_.empty() || in->uses_.back() != raw) {
      in->uses_.push_back(raw);
    }
  }
  return raw;
}

}  // namespace nvfuser
