#include <scheduler/scatter/nests.h>

#include <algorithm>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/scatter/schedule.h>
#include <scheduler/utils.h>

namespace nvfuser::scatters {

namespace {

using Tensors = std::unordered_set<TensorView*>;

/// As `tv`: the same axes, and as they lie in memory.
TensorView* tensorLike(const TensorView* tv) {
  const std::vector<IterDomain*> old = TensorDomain::noReductions(tv->getLogicalDomain());
  const std::vector<IterDomain*> axes = IterDomain::clone(old);
  std::vector<IterDomain*> in_memory;
  if (tv->hasAllocation()) {
    for (const IterDomain* id : tv->getAllocationDomain()) {
      const auto place = std::find(old.begin(), old.end(), id);
      in_memory.push_back(axes[static_cast<size_t>(place - old.begin())]);
    }
  }
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      tv->fusion(), std::vector<IterDomain*>{}, axes, in_memory, axes, tv->getContiguity());
  return IrBuilder::createInContainer<TensorView>(tv->fusion(), domain, tv->dtype(),
                                                  MemoryType::Global);
}

/// With the axes of index and source where either has elements, iterated.
TensorView* entriesOf(const TensorView* index, const TensorView* source) {
  const std::vector<IterDomain*> of_index = TensorDomain::noReductions(index->getLogicalDomain());
  const std::vector<IterDomain*> of_source = TensorDomain::noReductions(source->getLogicalDomain());
  std::vector<IterDomain*> axes;
  for (size_t i = 0; i < of_index.size(); ++i) {
    const IterDomain* id = of_index[i]->isBroadcast() ? of_source[i] : of_index[i];
    axes.push_back(id->isBroadcast() ? IterDomainBuilder(index->fusion()->zeroVal(DataType::Index),
                                                         id->getMaybeExpandedExtent())
                                           .build()
                                     : IterDomain::clone(std::vector<IterDomain*>{
                                           const_cast<IterDomain*>(id)})[0]);
  }
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      index->fusion(), std::vector<IterDomain*>{}, axes, std::vector<IterDomain*>{}, axes,
      TensorDomain::getContiguityFilledWith(axes, true));
  return IrBuilder::createInContainer<TensorView>(index->fusion(), domain, source->dtype(),
                                                  MemoryType::Global);
}

/// Tensors that are computed in the loops of `reference`: those that lead to it and what else is
/// made of these, up to the `others`.
Tensors nestOf(TensorView* reference, const Tensors& others) {
  Tensors found;
  std::vector<TensorView*> open{reference};
  while (!open.empty()) {
    TensorView* tv = open.back();
    open.pop_back();
    if (tv->isFusionInput() || others.count(tv) != 0 || !found.insert(tv).second) {
      continue;
    }
    const std::vector<TensorView*> before = producersOf(tv);
    const std::vector<TensorView*> behind = consumersOf(tv);
    open.insert(open.end(), before.begin(), before.end());
    open.insert(open.end(), behind.begin(), behind.end());
  }
  return found;
}

}  // namespace

bool hasGaps(const TensorView* tv) {
  const Contiguity& contiguity = tv->getContiguity();
  return std::find(contiguity.begin(), contiguity.end(), false) != contiguity.end();
}

TensorView* storedResult(const ScatterOp* op) {
  auto* result = op->output(0)->as<TensorView>();
  const Fusion* fusion = op->fusion();
  const std::vector<Expr*> readers = fusion->usesOf(result);
  if (result->isFusionOutput() || readers.size() != 1 || !readers[0]->isA<LoadStoreOp>()) {
    return result;
  }
  auto* copy = readers[0]->output(0)->as<TensorView>();
  const bool is_plain =
      readers[0]->as<LoadStoreOp>()->opType() == LoadStoreOpType::Set && !copy->hasRoot();
  const bool is_new = copy->isFusionOutput() && fusion->usesOf(copy).empty() &&
                      fusion->getOutputAlias(copy).type == AllocationType::New;
  const bool lies_alike = sameMemoryOrder(result, copy) && !hasGaps(copy);
  return is_plain && is_new && lies_alike ? copy : result;
}

Nests separate(Fusion* fusion) {
  for (Expr* expr : fusion->exprs()) {
    if (!expr->isA<ScatterOp>()) {
      continue;
    }
    const auto type = expr->as<ScatterOp>()->accumulateOp();
    Val* self = expr->input(0);
    Val* index = expr->input(1);
    Val* source = expr->input(2);
    Nests nests;
    nests.dim = expr->as<ScatterOp>()->dim();
    nests.result = storedResult(expr->as<ScatterOp>());
    if (nests.result != expr->output(0)) {
      fusion->removeExpr(nests.result->definition());
    }
    fusion->removeExpr(expr);
    nests.target = tensorLike(nests.result);
    nests.write = entriesOf(index->as<TensorView>(), source->as<TensorView>());
    IrBuilder::createInContainer<LoadStoreOp>(fusion, LoadStoreOpType::Set, nests.target, self);
    IrBuilder::createInContainer<WriteAtOp>(fusion, nests.write, nests.target, nests.dim, index,
                                            source, type);
    IrBuilder::createInContainer<WrittenOp>(fusion, nests.result, nests.target, nests.write);
    nests.result->setMemoryType(MemoryType::Global);
    return nests;
  }
  throw InternalError("a scatter is scheduled where there is one");
}

Nests nestsOf(const Fusion& scheduled) {
  for (const Expr* expr : scheduled.exprs()) {
    if (expr->isA<WrittenOp>()) {
      auto* write = expr->input(1)->as<TensorView>();
      return {expr->input(0)->as<TensorView>(), write, expr->output(0)->as<TensorView>(),
              write->definition()->as<WriteAtOp>()->dim()};
    }
  }
  throw InternalError("a scheduled scatter has its write");
}

Tensors nestOf(TensorView* reference, const Nests& nests) {
  Tensors others{nests.target, nests.write, nests.result};
  others.erase(reference);
  return nestOf(reference, others);
}

void mergeAround(TensorView* tv, int64_t dim) {
  while (tv->nDims() > dim + 2) {
    tv->merge(dim + 1);
  }
  for (int64_t i = 1; i < dim; ++i) {
    tv->merge(0);
  }
}

std::optional<Refusal> refusesLoops(const Fusion& scheduled, int64_t most) {
  const IdGraph exact(scheduled, IdGraph::Mode::Exact);
  const Nests nests = nestsOf(scheduled);
  Tensors seen;
  for (TensorView* reference : {nests.target, nests.write, nests.result}) {
    for (TensorView* tv : nestOf(reference, nests)) {
      if (!seen.insert(tv).second) {
        return Refusal{text(tv, " is needed for the entries of a scatter and for its result")};
      }
      if (tv == reference) {
        continue;
      }
      const auto& axes = tv->getLoopDomain();
      if (tv->isFusionOutput()) {
        if (!haveSameLoops(tv, reference, exact)) {
          return Refusal{text("output ", tv, " has not the axes of ", reference)};
        }
      } else if (std::any_of(axes.begin() + tv->getComputeAtPosition(), axes.end(),
                             [&](const IterDomain* id) {
                               const Val* extent = id->extent();
                               return !id->isBroadcast() &&
                                      !(extent->isConstInt() &&
                                        extent->evaluate().as<int64_t>() <= most);
                             })) {
        return Refusal{text(tv, " is not read at the element that is computed")};
      }
    }
  }
  const std::unordered_set<const Val*> reached(seen.begin(), seen.end());
  for (const Val* output : scheduled.outputs()) {
    if (reached.count(output) == 0) {
      return Refusal{
          text("output ", output, " is neither read by the scatter nor computed from it")};
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser::scatters
