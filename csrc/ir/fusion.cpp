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
        {cloner.clone(sizes.found), cloner.clone(sizes.needed), sizes.message});
  }
  std::copy(std::begin(from->val_names_), std::end(from->val_names_), std::begin(to->val_names_));
  to->expr_names_ = from->expr_names_;
  for (const auto& [key, val] : from->constants_) {
    to->constants_[key] = cloner.clone(val);
  }
  to->managed_ = from->managed_;
  return cloner;
}

// ---- registration

void Fusion::nameVal(Val* val) { val->name_ = val_names_[static_cast<size_t>(val->vtype())]++; }

void Fusion::registerExpr(Expr* expr) {
  expr->name_ = expr_names_++;
  for (Val* out : expr->fields_.outputs) {
    check(out->definition_ == nullptr || out->is_fusion_input_, "a value was defined twice");
    out->definition_ = expr;
  }
  for (Val* in : expr->fields_.inputs) {
    if (in->uses_.empty() || in->uses_.back() != expr) {
      in->uses_.push_back(expr);
    }
  }
}

Val* Fusion::constant(PolymorphicValue value, DataType dtype) {
  const auto key = std::make_pair(static_cast<int>(dtype.type), value.as<int64_t>());
  Val*& slot = constants_[key];
  if (slot == nullptr) {
    slot = IrBuilder::createInContainer<Val>(this, value, dtype);
  }
  return slot;
}

Val* Fusion::zeroVal() { return zeroVal(DataType::Index); }
Val* Fusion::zeroVal(DataType dtype) { return constant(PolymorphicValue(0), dtype); }
Val* Fusion::oneVal() { return oneVal(DataType::Index); }
Val* Fusion::oneVal(DataType dtype) { return constant(PolymorphicValue(1), dtype); }
Val* Fusion::trueVal() { return constant(PolymorphicValue(true), DataType::Bool); }
Val* Fusion::falseVal() { return constant(PolymorphicValue(false), DataType::Bool); }

// ---- interface

void Fusion::addInput(Val* input) {
  if (input == nullptr || input->fusion() != this) {
    userError("addInput: ", input ? input->toString() : "null",
              " does not belong to this Fusion; create it under a FusionGuard of this Fusion");
  }
  if (std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end()) {
    userError("addInput: ", input->toString(), " is registered already; an input is added once");
  }
  if (!input->isA<TensorView>() && !input->isScalar()) {
    userError("addInput: ", input->toString(), " is neither a tensor nor a scalar");
  }
  if (input->isConst()) {
    userError("addInput: ", input->toString(), " is a constant; an input is a symbolic value");
  }
  if (input->isA<TensorView>()) {
    auto* tv = input->as<TensorView>();
    if (tv->hasReduction()) {
      userError("addInput: ", tv->toString(),
                " has reduction axes; only tensors that were made as inputs can be registered");
    }
    tv->setMemoryType(MemoryType::Global);
  }
  input->is_fusion_input_ = true;
  inputs_.push_back(input);
}

void Fusion::addOutput(Val* output) {
  if (output == nullptr || output->fusion() != this) {
    userError("addOutput: ", output ? output->toString() : "null",
              " does not belong to this Fusion");
  }
  if (!output->isA<TensorView>()) {
    userError("Non-TensorView outputs are not supported at this point: addOutput got ",
              output->toString(), "; turn it into a 0-dim tensor first");
  }
  auto* tv = output->as<TensorView>();
  if (!tv->isFusionInput() && tv->definition() == nullptr) {
    userError("addOutput: ", tv->toString(),
              " is neither an input nor computed by an operation; add it as an input first");
  }
  if (!tv->isFusionInput()) {
    tv->setMemoryType(MemoryType::Global);
  }
  output->is_fusion_output_ = true;
  outputs_.push_back(output);
  auto alias = aliases_.find(output);
  if (alias != aliases_.end()) {
    alias->second.visibility = OutputVisibility::kVisible;
  }
}

void Fusion::removeInput(Val* input) {
  auto found = std::find(inputs_.begin(), inputs_.end(), input);
  if (found == inputs_.end()) {
    return;
  }
  inputs_.erase(found);
  input->is_fusion_input_ = false;
}

void Fusion::removeOutput(Val* output) {
  auto found = std::find(outputs_.begin(), outputs_.end(), output);
  if (found == outputs_.end()) {
    return;
  }
  outputs_.erase(found);
  output->is_fusion_output_ = std::find(outputs_.begin(), outputs_.end(), output) != outputs_.end();
}

void Fusion::replaceOutput(Val* output, Val* replacement) {
  auto found = std::find(outputs_.begin(), outputs_.end(), output);
  if (found == outputs_.end()) {
    userError("replaceOutput: ", output ? output->toString() : "null",
              " is not an output of this Fusion");
  }
  if (replacement == nullptr || replacement->fusion() != this) {
    userError("replaceOutput: the replacement ",
              replacement ? replacement->toString() + " does not belong to this Fusion" : "is null",
              "; name a tensor that this Fusion computes");
  }
  std::replace(outputs_.begin(), outputs_.end(), output, replacement);
  output->is_fusion_output_ = false;
  replacement->is_fusion_output_ = true;
  if (replacement->isA<TensorView>() && !replacement->isFusionInput()) {
    replacement->as<TensorView>()->setMemoryType(MemoryType::Global);
  }
  if (output->isA<TensorView>() && !output->isFusionInput()) {
    output->as<TensorView>()->setMemoryType(MemoryType::Local);
  }
  auto alias = aliases_.find(output);
  if (alias != aliases_.end()) {
    aliases_[replacement] = alias->second;
    aliases_.erase(output);
  }
}

namespace {

/// Storage can be shared by tensors with the same number of axes, none of which has two constant
/// sizes.
void requireOneShape(const TensorView* output, const TensorView* input) {
  const auto written = TensorDomain::noReductions(output->getLogicalDomain());
  const auto given = TensorDomain::noReductions(input->getLogicalDomain());
  if (written.size() != given.size()) {
    userError("aliasOutputToInput: ", output, " has ", written.size(), " axes, but ", input,
              ", whose storage it is to reuse, has ", given.size());
  }
  for (size_t axis = 0; axis < written.size(); ++axis) {
    const Val* a = written[axis]->getMaybeExpandedExtent();
    const Val* b = given[axis]->getMaybeExpandedExtent();
    if (a->isConst() && b->isConst() && !(a->value() == b->value())) {
      userError("aliasOutputToInput: ", output, " cannot be written to ", input, ": sizes ", a,
                " and ", b, " of axis ", axis, " differ");
    }
  }
}

}  // namespace

void Fusion::aliasOutputToInput(Val* output, Val* input, AllocationType type) {
  for (const Val* val : {output, input}) {
    const char* which = val == output ? "output" : "input";
    if (val == nullptr) {
      userError("aliasOutputToInput: the ", which, " is null; name a tensor of this Fusion");
    }
    if (val->fusion() != this) {
      userError("aliasOutputToInput: the ", which, " ", val->toString(),
                " does not belong to this Fusion");
    }
  }
  if (!input->isFusionInput() || !input->isA<TensorView>()) {
    userError("aliasOutputToInput: ", input->toString(),
              " is not an input tensor; an output can only reuse the storage of an input");
  }
  if (input->dtype() != output->dtype()) {
    userError("aliasOutputToInput: ", output->toString(), " cannot be written to ",
              input->toString(), ": dtypes ", output->dtype(), " and ", input->dtype(), " differ");
  }
  if (!output->isA<TensorView>()) {
    userError("aliasOutputToInput: ", output->toString(),
              " is a scalar; only a tensor can reuse the storage of an input");
  }
  requireOneShape(output->as<TensorView>(), input->as<TensorView>());
  for (const auto& [other, alias] : aliases_) {
    if (alias.aliased_io == input && other != output) {
      userError("aliasOutputToInput: ", input->toString(), " is reused by ", other->toString(),
                " already; give ", output->toString(), " the storage of another input, or none");
    }
  }
  const bool visible = output->isFusionOutput();
  if (!visible) {
    addOutput(output);
  }
  aliases_[output] = {type, input,
                      visible ? OutputVisibility::kVisible : OutputVisibility::kHidden};
}

const AliasInfo& Fusion::getOutputAlias(const Val* output) const {
  static const AliasInfo kNone;
  auto found = aliases_.find(output);
  return found == aliases_.end() ? kNone : found->second;
}

// ---- graph

namespace {

/// Values that an expression depends on: operands, and the extents of tensors made from nothing are
/// not operands.
std::vector<Expr*> expressionsLeadingTo(const std::vector<Val*>& targets,
                                        const std::vector<std::unique_ptr<Expr>>& all) {
  std::unordered_set<const Expr*> needed;
  std::vector<const Val*> open(targets.begin(), targets.end());
  while (!open.empty()) {
    const Val* val = open.back();
    open.pop_back();
    const Expr* def = val->definition();
    if (def == nullptr || !needed.insert(def).second) {
      continue;
    }
    for (const Val* in : def->inputs()) {
      open.push_back(in);
    }
    for (const Val* out : def->outputs()) {
      open.push_back(out);
    }
  }
  // Definition order is topological unless scheduling inserted expressions (caches, rFactor) later
  // on.
  std::vector<Expr*> pending;
  for (const auto& expr : all) {
    if (needed.count(expr.get()) != 0) {
      pending.push_back(expr.get());
    }
  }
  std::vector<Expr*> sorted;
  std::unordered_set<const Expr*> done;
  std::vector<std::pair<Expr*, size_t>> stack;
  for (Expr* root : pending) {
    if (done.count(root) != 0) {
      continue;
    }
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [expr, next] = stack.back();
      if (next == expr->inputs().size()) {
        if (done.insert(expr).second) {
          sorted.push_back(expr);
        }
        stack.pop_back();
        continue;
      }
      Expr* def = expr->input(next++)->definition();
      if (def != nullptr && done.count(def) == 0) {
        stack.emplace_back(def, 0);
      }
    }
  }
  return sorted;
}

}  // namespace

std::vector<Expr*> Fusion::exprs() const { return expressionsLeadingTo(outputs_, exprs_); }

std::vector<Val*> Fusion::usedMathVals() const {
  std::vector<Val*> result(inputs_.begin(), inputs_.end());
  std::unordered_set<const Val*> seen(inputs_.begin(), inputs_.end());
  for (Expr* expr : exprs()) {
    for (const auto* list : {&expr->inputs(), &expr->outputs()}) {
      for (Val* val : *list) {
        if (seen.insert(val).second) {
          result.push_back(val);
        }
      }
    }
  }
  for (Val* val : outputs_) {
    if (seen.insert(val).second) {
      result.push_back(val);
    }
  }
  return result;
}

std::vector<TensorView*> Fusion::allTvs() const {
  std::vector<TensorView*> result;
  for (Val* val : usedMathVals()) {
    if (val->isA<TensorView>()) {
      result.push_back(val->as<TensorView>());
    }
  }
  return result;
}

std::vector<Expr*> Fusion::usesOf(const Val* val) const {
  // An expression is alive if it leads to an output: walk forward from its results.
  std::vector<Expr*> alive;
  for (Expr* use : val->uses()) {
    std::vector<const Expr*> open{use};
    std::unordered_set<const Expr*> seen;
    bool found = false;
    while (!open.empty() && !found) {
      const Expr* expr = open.back();
      open.pop_back();
      if (!seen.insert(expr).second) {
        continue;
      }
      for (const Val* out : expr->outputs()) {
        if (out->isFusionOutput()) {
          found = true;
        }
        for (const Expr* next : out->uses()) {
          open.push_back(next);
        }
      }
    }
    if (found) {
      alive.push_back(use);
    }
  }
  return alive;
}

bool Fusion::isNoOp() const { return exprs().empty(); }

// ---- mutation

void Fusion::removeExpr(Expr* expr) {
  for (Val* out : expr->fields_.outputs) {
    if (out->definition_ == expr) {
      out->definition_ = nullptr;
    }
  }
  for (Val* in : expr->fields_.inputs) {
    std::erase(in->uses_, expr);
  }
  std::erase_if(exprs_, [&](const auto& owned) { return owned.get() == expr; });
}

void Fusion::replaceInput(Expr* expr, Val* old_input, Val* replacement) {
  bool found = false;
  for (Val*& in : expr->fields_.inputs) {
    if (in == old_input) {
      in = replacement;
      found = true;
    }
  }
  check(found, "an operand to be replaced is not one of the expression");
  std::erase(old_input->uses_, expr);
  if (std::find(replacement->uses_.begin(), replacement->uses_.end(), expr) ==
      replacement->uses_.end()) {
    replacement->uses_.push_back(expr);
  }
}

void Fusion::replaceExprOutput(Expr* expr, Val* old_output, Val* val) {
  auto found = std::find(expr->fields_.outputs.begin(), expr->fields_.outputs.end(), old_output);
  check(found != expr->fields_.outputs.end(),
        "a result to be replaced is not one of the expression");
  check(val->definition_ == nullptr, "the replacing value is computed already");
  *found = val;
  old_output->definition_ = nullptr;
  val->definition_ = expr;
}

}  // namespace nvfuser
