#include <ir/fusion.h>

#include <algorithm>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>

namespace nvfuser {

namespace {
thread_local Fusion* current_fusion = nullptr;
}  // namespace

FusionGuard::FusionGuard(Fusion* fusion) : previous_(current_fusion) { current_fusion = fusion; }
FusionGuard::~FusionGuard() { current_fusion = previous_; }
Fusion* FusionGuard::getCurFusion() { return current_fusion; }
void FusionGuard::setCurFusion(Fusion* fusion) { current_fusion = fusion; }

// ---- lifecycle

Fusion::Fusion() = default;
Fusion::~Fusion() = default;
Fusion::Fusion(const Fusion& other) { copy(&other, this); }
Fusion::Fusion(Fusion&& other) noexcept { swap(*this, other); }

Fusion& Fusion::operator=(const Fusion& other) {
  if (this != &other) {
    Fusion fresh(other);
    swap(*this, fresh);
  }
  return *this;
}

Fusion& Fusion::operator=(Fusion&& other) noexcept {
  if (this != &other) {
    clear();
    swap(*this, other);
  }
  return *this;
}

void swap(Fusion& a, Fusion& b) noexcept {
  using std::swap;
  swap(a.vals_, b.vals_);
  swap(a.exprs_, b.exprs_);
  swap(a.inputs_, b.inputs_);
  swap(a.outputs_, b.outputs_);
  swap(a.aliases_, b.aliases_);
  swap(a.mapping_hints_, b.mapping_hints_);
  swap(a.size_requirements_, b.size_requirements_);
  swap(a.val_names_, b.val_names_);
  swap(a.expr_names_, b.expr_names_);
  swap(a.constants_, b.constants_);
  swap(a.managed_, b.managed_);
  swap(a.axes_are_settled_, b.axes_are_settled_);
  swap(a.kernel_hints_, b.kernel_hints_);
  a.adoptAll();
  b.adoptAll();
}

void Fusion::adoptAll() noexcept {
  for (auto& val : vals_) {
    val->fusion_ = this;
  }
  for (auto& expr : exprs_) {
    expr->fusion_ = this;
  }
}

void Fusion::clear() noexcept {
  Fusion empty;
  swap(*this, empty);
}

IrCloner Fusion::copy(const Fusion* from, Fusion* to) {
  to->clear();
  IrCloner cloner(to);
  for (const auto& val : from->vals_) {
    cloner.clone(val.get());
  }
  for (const auto& expr : from->exprs_) {
    cloner.clone(expr.get());
  }
  // Nodes refer to each other, so recursion may have changed the order: names restore it.
  auto order = [](const auto& nodes, const IrCloner& c) {
    std::unordered_map<const Statement*, size_t> rank;
    size_t i = 0;
    for (const auto& node : nodes) {
      rank[c.map_.at(node.get())] = i++;
    }
    return rank;
  };
  auto val_rank = order(from->vals_, cloner);
  std::sort(to->vals_.begin(), to->vals_.end(),
            [&](const auto& a, const auto& b) { return val_rank[a.get()] < val_rank[b.get()]; });
  auto expr_rank = order(from->exprs_, cloner);
  std::sort(to->exprs_.begin(), to->exprs_.end(),
            [&](const auto& a, const auto& b) { return expr_rank[a.get()] < expr_rank[b.get()]; });
  to->inputs_ = cloner.clone(from->inputs_);
  to->outputs_ = cloner.clone(from->outputs_);
  for (const auto& [output, alias] : from->aliases_) {
    to->aliases_[cloner.clone(output)] = {alias.type, cloner.clone(alias.aliased_io),
                                          alias.visibility};
  }
  for (const auto& [a, b] : from->mapping_hints_) {
    to->mapping_hints_.emplace_back(cloner.clone(a), cloner.clone(b));
  }
  for (const SizeRequirement& sizes : from->size_requirements_) {
    to->size_requirements_.push_back(
        {sizes.kind, cloner.clone(sizes.found), cloner.clone(sizes.needed), sizes.message});
  }
  std::copy(std::begin(from->val_names_), std::end(from->val_names_), std::begin(to->val_names_));
  to->expr_names_ = from->expr_names_;
  for (const auto& [key, val] : from->constants_) {
    to->constants_[key] = cloner.clone(val);
  }
  to->managed_ = from->managed_;
  to->axes_are_settled_ = from->axes_are_settled_;
  to->kernel_hints_ = from->kernel_hints_;
  return cloner;
}

IrCloner Fusion::copyPart(const Fusion* from, Fusion* to,
                          const std::vector<const Statement*>& nodes) {
  to->clear();
  IrCloner cloner(to);
  for (const Statement* node : nodes) {
    cloner.clone(node);
  }
  std::sort(to->vals_.begin(), to->vals_.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a->vtype(), a->name()) < std::make_pair(b->vtype(), b->name());
  });
  std::sort(to->exprs_.begin(), to->exprs_.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
  for (const auto& val : to->vals_) {
    val->is_fusion_input_ = false;
    val->is_fusion_output_ = false;
    val->forgetFingerprint();
    // Copied expressions came in some order; readers are listed in theirs.
    std::sort(val->uses_.begin(), val->uses_.end(),
              [](const Expr* a, const Expr* b) { return a->name() < b->name(); });
  }
  for (auto [a, b] : from->mapping_hints_) {
    const auto first = cloner.map_.find(a);
    const auto second = cloner.map_.find(b);
    if (first != cloner.map_.end() && second != cloner.map_.end()) {
      to->mapping_hints_.emplace_back(static_cast<IterDomain*>(first->second),
                                      static_cast<IterDomain*>(second->second));
    }
  }
  for (const auto& [key, val] : from->constants_) {
    const auto copied = cloner.map_.find(val);
    if (copied != cloner.map_.end()) {
      to->constants_[key] = static_cast<Val*>(copied->second);
    }
  }
  std::copy(std::begin(from->val_names_), std::end(from->val_names_), std::begin(to->val_names_));
  to->expr_names_ = from->expr_names_;
  to->managed_ = from->managed_;
  to->axes_are_settled_ = from->axes_are_settled_;
  to->kernel_hints_ = from->kernel_hints_;
  return cloner;
}

void Fusion::settleAxes() {
  axes_are_settled_ = true;
  for (const auto& val : vals_) {
    if (val->isA<IterDomain>() && val->as<IterDomain>()->isSymbolic()) {
      val->as<IterDomain>()->fields_.iter_type = IterType::Iteration;
    }
  }
}

// ---- registration

void Fusion::nameVal(Val* val) { val->name_ = val_names_[static_cast<size_t>(val->vtype())]++; }

void Fusion::registerExpr(Expr* expr) {
  expr->name_ = expr_names_++;
  for (Val* out : expr->operands_.outputs) {
    check(out->definition_ == nullptr || out->is_fusion_input_, "a value was defined twice");
    out->definition_ = expr;
    out->forgetFingerprint();
  }
  for (Val* in : expr->operands_.inputs) {
    if (in->uses_.empty() || in->uses_.back() != expr) {
      in->uses_.push_back(expr);
    }
  }
}

Val* Fusion::constant(PolymorphicValue value, DataType dtype) {
  const auto key = std::make_pair(static_cast<int>(dtype.type), value.as<int64_t>());
  if (const auto known = constants_.find(key); known != constants_.end()) {
    return known->second;
  }
  Val* const made = IrBuilder::createInContainer<Val>(this, value, dtype);
  constants_.emplace(key, made);  // not before it is made, for which there may be no memory
  return made;
}

Val* Fusion::zeroVal() { return zeroVal(DataType::Index); }
Val* Fusion::zeroVal(DataType dtype) { return constant(PolymorphicValue(0), dtype); }
Val* Fusion::oneVal() { return oneVal(DataType::Index); }
Val* Fusion::oneVal(DataType dtype) { return constant(PolymorphicValue(1), dtype); }
Val* Fusion::trueVal() { return constant(PolymorphicValue(true), DataType::Bool); }
Val* Fusion::falseVal() { return constant(PolymorphicValue(false), DataType::Bool); }

// ---- mutation

void Fusion::removeExpr(Expr* expr) {
  for (Val* out : expr->operands_.outputs) {
    if (out->definition_ == expr) {
      out->definition_ = nullptr;
      out->forgetFingerprint();
    }
  }
  for (Val* in : expr->operands_.inputs) {
    std::erase(in->uses_, expr);
  }
  std::erase_if(exprs_, [&](const auto& owned) { return owned.get() == expr; });
}

void Fusion::replaceInput(Expr* expr, Val* old_input, Val* replacement) {
  bool found = false;
  for (Val*& in : expr->operands_.inputs) {
    if (in == old_input) {
      in = replacement;
      found = true;
    }
  }
  check(found, "an operand to be replaced is not one of the expression");
  for (Val* out : expr->operands_.outputs) {
    out->forgetFingerprint();
  }
  std::erase(old_input->uses_, expr);
  if (std::find(replacement->uses_.begin(), replacement->uses_.end(), expr) ==
      replacement->uses_.end()) {
    replacement->uses_.push_back(expr);
  }
}

void Fusion::replaceExprOutput(Expr* expr, Val* old_output, Val* val) {
  auto found =
      std::find(expr->operands_.outputs.begin(), expr->operands_.outputs.end(), old_output);
  check(found != expr->operands_.outputs.end(),
        "a result to be replaced is not one of the expression");
  check(val->definition_ == nullptr, "the replacing value is computed already");
  *found = val;
  old_output->definition_ = nullptr;
  old_output->forgetFingerprint();
  val->definition_ = expr;
  val->forgetFingerprint();
}

}  // namespace nvfuser
