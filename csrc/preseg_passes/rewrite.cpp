#include <preseg_passes/rewrite.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <ops/utils.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr size_t kMostReaders = 48;  ///< that are gone through

size_t positionOf(const std::vector<IterDomain*>& list, const IterDomain* id) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), id) - list.begin());
}

/// `to`, a plain copy, lies in memory as `from` was declared to.
void takeMemoryOrder(TensorView* to, const TensorView* from) {
  if (!from->hasAllocation()) {
    return;
  }
  const std::vector<IterDomain*> source = ops::axesOf(from);
  const std::vector<IterDomain*> target = ops::axesOf(to);
  std::vector<IterDomain*> allocation;
  for (const IterDomain* id : TensorDomain::noReductions(from->getAllocationDomain())) {
    const size_t place = positionOf(source, id);
    check(place < target.size(), "an allocation domain with splits is not moved");
    allocation.push_back(target[place]);
  }
  Contiguity contiguity = TensorDomain::getContiguityFilledWith(allocation, true);
  to->setAllocationDomain(std::move(allocation), std::move(contiguity));
}

/// Entries of the axes that are in memory.
Contiguity contiguityOf(const TensorView* tv) {
  Contiguity kept;
  const auto& memory = tv->getMaybeAllocationDomain();
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i]->isReduction()) {
      kept.push_back(tv->getContiguity()[i]);
    }
  }
  return kept;
}

bool isPermutedOrPlain(const TensorView* tv) {
  const std::vector<IterDomain*>& logical = tv->getLogicalDomain();
  const auto& memory = tv->getMaybeAllocationDomain();
  return std::all_of(memory.begin(), memory.end(), [&](const IterDomain* id) {
    return positionOf(logical, id) < logical.size();
  });
}

bool goesOn(const Expr* reader) {
  return reader->isOneOf<UnaryOp, BinaryOp, TernaryOp>() || isPlainCopy(reader);
}

/// Calls `take` with each reader of `tv` and of what is made of it element by element, and with
/// null for each of these tensors. False: there are many, not all of which were taken.
template <typename Take>
bool eachReader(const TensorView* tv, const Take& take) {
  std::vector<const TensorView*> open{tv};
  std::set<const TensorView*> seen{tv};
  while (!open.empty() && seen.size() <= kMostReaders) {
    const TensorView* now = open.back();
    open.pop_back();
    take(now, nullptr);
    for (const Expr* reader : tv->fusion()->usesOf(now)) {
      take(now, reader);
      if (goesOn(reader) && seen.insert(reader->output(0)->as<TensorView>()).second) {
        open.push_back(reader->output(0)->as<TensorView>());
      }
    }
  }
  return open.empty();
}

}  // namespace

void replaceTensor(TensorView* old, TensorView* with) {
  Fusion& fusion = *old->fusion();
  FusionGuard guard(&fusion);
  const std::vector<Expr*> readers = old->uses();
  for (Expr* reader : readers) {
    const auto& inputs = reader->inputs();
    if (with->definition() != reader &&
        std::find(inputs.begin(), inputs.end(), old) != inputs.end()) {
      fusion.replaceInput(reader, old, with);
    }
  }
  if (!old->isFusionOutput()) {
    return;
  }
  check(isPermutedOrPlain(old), "an output whose memory is split in axes keeps its definition");
  const bool takes_place = !with->isFusionInput() && !with->isFusionOutput() &&
                           sameMemoryOrder(old, with) && contiguityOf(old) == contiguityOf(with);
  if (!takes_place) {
    TensorView* copy = set(with);
    takeMemoryOrder(copy, old);
    with = copy;
  }
  fusion.replaceOutput(old, with);
}

bool sameForm(const TensorView* a, const TensorView* b) {
  const std::vector<IterDomain*> first = ops::axesOf(a);
  const std::vector<IterDomain*> second = ops::axesOf(b);
  if (a->dtype() != b->dtype() || first.size() != second.size()) {
    return false;
  }
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i]->isBroadcast() != second[i]->isBroadcast() ||
        first[i]->hasExpandedExtent() != second[i]->hasExpandedExtent() ||
        first[i]->isVectorComponent() != second[i]->isVectorComponent()) {
      return false;
    }
  }
  return true;
}

std::optional<std::vector<size_t>> permutationOf(const Expr* expr) {
  const auto* op = dynamic_cast<const LoadStoreOp*>(expr);
  if (op == nullptr || op->opType() != LoadStoreOpType::Set || !op->out()->isA<TensorView>() ||
      !op->out()->as<TensorView>()->hasRoot()) {
    return std::nullopt;
  }
  const auto* out = op->out()->as<TensorView>();
  std::vector<size_t> order;
  for (const IterDomain* id : out->getLogicalDomain()) {
    order.push_back(positionOf(out->getRootDomain(), id));
    if (order.back() == out->getRootDomain().size()) {
      return std::nullopt;
    }
  }
  return order;
}

bool isPlainCopy(const Expr* expr) {
  const auto* op = dynamic_cast<const LoadStoreOp*>(expr);
  return op != nullptr && op->opType() == LoadStoreOpType::Set && op->in()->isA<TensorView>() &&
         !op->out()->as<TensorView>()->hasRoot();
}

ReaderCounts::ReaderCounts(const Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    for (const Val* in : expr->inputs()) {
      ++counts_[in];
    }
  }
  for (const Val* out : fusion.outputs()) {
    ++counts_[out];
  }
}

int ReaderCounts::of(const Val* val) const {
  const auto found = counts_.find(val);
  return found == counts_.end() ? 0 : found->second;
}

std::optional<size_t> onlyTensorOperand(const Expr* expr) {
  if (!expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>()) {
    return std::nullopt;
  }
  std::optional<size_t> place;
  for (size_t i = 0; i < expr->inputs().size(); ++i) {
    if (!expr->input(i)->isA<TensorView>()) {
      continue;
    }
    if (place) {
      return std::nullopt;
    }
    place = i;
  }
  return place;
}

bool endsInReductions(const TensorView* tv) {
  bool ends = true;
  const bool seen_all = eachReader(tv, [&](const TensorView* of, const Expr* reader) {
    ends &= reader != nullptr ? goesOn(reader) || isReduction(reader) || reader->isA<GatherOp>()
                              : !of->isFusionOutput();
  });
  return seen_all && ends;
}

bool leadsToReductions(const TensorView* tv) {
  bool leads = false;
  const bool seen_all = eachReader(tv, [&](const TensorView*, const Expr* reader) {
    leads |= reader != nullptr && isReduction(reader);
  });
  return !seen_all || leads;
}

TensorView* applyTo(const Expr* expr, const std::vector<Val*>& operands) {
  Fusion& fusion = *expr->fusion();
  FusionGuard guard(&fusion);
  TensorView* out = ops::newOutputTV(operands, expr->output(0)->dtype(), expr->getOpString());
  if (expr->isA<UnaryOp>()) {
    IrBuilder::create<UnaryOp>(expr->as<UnaryOp>()->getUnaryOpType(), out, operands.at(0));
  } else if (expr->isA<BinaryOp>()) {
    IrBuilder::create<BinaryOp>(expr->as<BinaryOp>()->getBinaryOpType(), out, operands.at(0),
                                operands.at(1));
  } else {
    IrBuilder::create<TernaryOp>(expr->as<TernaryOp>()->getTernaryOpType(), out, operands.at(0),
                                 operands.at(1), operands.at(2));
  }
  return out;
}

TensorView* applyToOthers(const Expr* expr, const std::function<TensorView*(TensorView*)>& of) {
  std::vector<Val*> operands = expr->inputs();
  for (Val*& operand : operands) {
    if (operand->isA<TensorView>()) {
      operand = of(operand->as<TensorView>());
    }
    if (operand == nullptr) {
      return nullptr;
    }
  }
  return applyTo(expr, operands);
}

void sweep(Fusion& fusion) {
  const std::vector<Expr*> alive = fusion.exprs();
  std::unordered_set<const Expr*> kept(alive.begin(), alive.end());
  // Scalars and axes are described by expressions that lead to no output: they stay.
  std::vector<Expr*> dead;
  for (const auto& expr : fusion.allExprs()) {
    if (kept.count(expr.get()) == 0 && !tensorOutputs(expr.get()).empty()) {
      dead.push_back(expr.get());
    }
  }
  for (Expr* expr : dead) {
    fusion.removeExpr(expr);
  }
}

}  // namespace nvfuser::preseg_passes
