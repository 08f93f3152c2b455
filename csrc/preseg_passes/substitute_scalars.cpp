#include <preseg_passes/substitute_scalars.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>

namespace nvfuser::preseg_passes {

namespace {

bool contains(const std::vector<Val*>& list, const Val* val) {
  return std::find(list.begin(), list.end(), val) != list.end();
}

}  // namespace

void ScalarSubstitution::apply() {
  for (Expr* expr : fusion_.exprs()) {
    if (!tensorOutputs(expr).empty()) {
      operands(expr);
    }
  }
  for (TensorView* tv : fusion_.allTvs()) {
    axes(tv);
  }
}

void ScalarSubstitution::operands(Expr* expr) {
  const std::vector<Val*> inputs = expr->inputs();
  for (Val* in : inputs) {
    if (in->isScalar() && of(in) != in && contains(expr->inputs(), in)) {
      fusion_.replaceInput(expr, in, of(in));
    }
  }
}

void ScalarSubstitution::axes(TensorView* tv) {
  const TensorDomain* domain = tv->domain();
  const std::vector<IterDomain*> ids = domain->allIDs();
  const std::vector<Expr*> transforms = domain->allExprs();
  const bool changes = std::any_of(ids.begin(), ids.end(), [&](IterDomain* id) {
    return of(id->start()) != id->start() || of(id->extent()) != id->extent() ||
           of(id->expandedExtent()) != id->expandedExtent();
  });
  const bool known = std::all_of(transforms.begin(), transforms.end(), [](const Expr* expr) {
    return expr->isOneOf<Split, Merge, Resize>();
  });
  if (!changes || !known) {
    return;
  }
  std::unordered_map<const Val*, IterDomain*> fresh;
  for (IterDomain* id : ids) {
    fresh[id] = IterDomainBuilder(id)
                    .start(of(id->start()))
                    .extent(of(id->extent()))
                    .expanded_extent(of(id->expandedExtent()))
                    .stop_offset(of(id->stopOffset()))
                    .build();
  }
  for (const Expr* expr : transforms) {
    transform(expr, fresh);
  }
  auto mapped = [&](const std::vector<IterDomain*>& list) {
    std::vector<IterDomain*> result;
    for (const IterDomain* id : list) {
      result.push_back(fresh.at(id));
    }
    return result;
  };
  auto* replacement = IrBuilder::createInContainer<TensorDomain>(
      &fusion_, mapped(domain->root()), mapped(domain->logical()), mapped(domain->allocation()),
      mapped(domain->loop()), domain->contiguity(), mapped(domain->additionalIDs()));
  ReplaceDomain::set(tv, replacement);
}

void ScalarSubstitution::transform(const Expr* expr,
                                   const std::unordered_map<const Val*, IterDomain*>& fresh) {
  if (expr->isA<Split>()) {
    const auto* split = expr->as<Split>();
    IrBuilder::createInContainer<Split>(&fusion_, fresh.at(split->outer()),
                                        fresh.at(split->inner()), fresh.at(split->in()),
                                        of(split->factor()), split->innerSplit());
  } else if (expr->isA<Merge>()) {
    const auto* merge = expr->as<Merge>();
    IrBuilder::createInContainer<Merge>(&fusion_, fresh.at(merge->out()), fresh.at(merge->outer()),
                                        fresh.at(merge->inner()));
  } else {
    const auto* resize = expr->as<Resize>();
    IrBuilder::createInContainer<Resize>(&fusion_, fresh.at(resize->out()), fresh.at(resize->in()),
                                         of(resize->leftExpand()), of(resize->rightExpand()),
                                         resize->step());
  }
}

Val* ScalarSubstitution::of(Val* val) {
  if (val == nullptr || val->isConst()) {
    return val;
  }
  const auto found = new_of_.find(val);
  if (found != new_of_.end()) {
    return found->second;
  }
  const Expr* def = val->definition();
  Val* result = def == nullptr ? val : computed(val, def);
  new_of_[val] = result;
  return result;
}

Val* ScalarSubstitution::computed(Val* val, const Expr* def) {
  std::vector<Val*> operands;
  bool changed = false;
  for (Val* in : def->inputs()) {
    operands.push_back(in->isScalar() ? of(in) : in);
    changed |= operands.back() != in;
  }
  if (!changed) {
    return val;
  }
  Val* result = nullptr;
  if (def->isA<BinaryOp>()) {
    result = SimplifyingIrBuilder::binaryExpr(def->as<BinaryOp>()->getBinaryOpType(), operands[0],
                                              operands[1]);
  } else if (def->isA<UnaryOp>() && def->as<UnaryOp>()->getUnaryOpType() != UnaryOpType::Cast) {
    result = IrBuilder::unaryExpr(def->as<UnaryOp>()->getUnaryOpType(), operands[0]);
  } else if (def->isOneOf<UnaryOp, LoadStoreOp>()) {
    result = operands[0];
  } else if (def->isA<TernaryOp>() &&
             def->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Where) {
    result = SimplifyingIrBuilder::whereExpr(operands[0], operands[1], operands[2]);
  } else {
    result = IrBuilder::createInContainer<Val>(&fusion_, val->dtype());
    IrBuilder::createInContainer<TernaryOp>(&fusion_, def->as<TernaryOp>()->getTernaryOpType(),
                                            result, operands[0], operands[1], operands[2]);
  }
  return SimplifyingIrBuilder::maybeCastExpr(val->dtype(), result);
}

}  // namespace nvfuser::preseg_passes
