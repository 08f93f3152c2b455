#include <scheduler/scatter/schedule.h>

#include <algorithm>
#include <unordered_set>

#include <id_model/id_graph.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/row_values.h>
#include <scheduler/utils.h>

namespace nvfuser::scatters {

namespace {

using Tensors = std::unordered_set<TensorView*>;

/// The three loop nests of a scheduled scatter, by the tensor whose loops each has.
struct Nests {
  TensorView* target = nullptr;
  TensorView* write = nullptr;
  TensorView* result = nullptr;
  int64_t dim = 0;
};

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

/// Target, write and result (ir/internal_nodes.h) for the one scatter that there is.
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
    nests.result = expr->output(0)->as<TensorView>();
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

Tensors nestOf(TensorView* reference, const Nests& nests) {
  Tensors others{nests.target, nests.write, nests.result};
  others.erase(reference);
  return nestOf(reference, others);
}

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const ScatterParams& params) : fusion_(fusion), params_(params) {}

  void run() {
    scheduler_utils::clearMemorySpace(fusion_);
    nests_ = separate(fusion_);
    forkOutputs();
    std::unordered_map<const TensorView*, int64_t> held{
        {nests_.target, 0}, {nests_.write, 0}, {nests_.result, 0}};
    for (TensorView* reference : {nests_.target, nests_.write, nests_.result}) {
      makeLoops(reference);
      const Tensors own = nestOf(reference, nests_);
      TransformPropagator propagator(reference);
      SetSelector selector(own);
      MaxLogicalDomainInfoSpanningTree(reference, &selector).traverse(&propagator);
      if (isShared()) {
        reference->axis(0)->parallelize(ParallelType::BIDx);
        scheduler_utils::parallelizeAllLike(reference, -1, {own.begin(), own.end()});
      }
    }
    if (!params_.rows) {
      // Written one by one, behind a loop of vectors that computes as many.
      for (TensorView* in : producersOf(nests_.write)) {
        held.emplace(in, nests_.write->nDims() - 1);
      }
    } else {
      for (TensorView* reference : {nests_.target, nests_.write, nests_.result}) {
        const Tensors own = nestOf(reference, nests_);
        holdRowValues({own.begin(), own.end()}, reference->nDims() - 1, held);
      }
    }
    MaxPosCalculator most(*fusion_, held);
    for (TensorView* tv : fusion_->allTvs()) {
      tv->inlineAt(-1, true, &most);
    }
  }

 private:
  bool isShared() const { return params_.tasks > 1 || params_.columns > 0; }

  /// What is read where it is computed, and stored besides.
  void forkOutputs() {
    const std::vector<Val*> outputs = fusion_->outputs();  // forking changes the list
    for (Val* val : outputs) {
      auto* output = val->as<TensorView>();
      if (output != nests_.result && !output->isFusionInput() && output->isFusionOutput() &&
          !fusion_->usesOf(output).empty()) {
        output->cacheFork();
      }
    }
  }

  /// Of [A…, D, B…] to those of scatter.h.
  void makeLoops(TensorView* tv) {
    while (tv->nDims() > nests_.dim + 2) {
      tv->merge(nests_.dim + 1);
    }
    for (int64_t i = 1; i < nests_.dim; ++i) {
      tv->merge(0);
    }
    const int64_t along = nests_.dim > 0 ? 1 : 0;  // [A?, D, B?]
    if (!params_.rows && tv != nests_.write && tv->nDims() > along + 1) {
      tv->merge(along);  // [A?, D·B]
    }
    if (params_.rows && params_.columns > 0) {
      tv->split(along + 1, params_.columns);
      tv->reorder({{along + 1, 0}});  // [B / X, A?, D, X]
    } else if (!params_.rows) {
      tv->split(along, kPoints);
      if (tv->nDims() > along + 2) {
        tv->reorder({{along + 1, along + 2}, {along + 2, along + 1}});
      }
    }
    if (params_.tasks > 1) {
      tv->split(0, params_.tasks, false);
    }
  }

  Fusion* fusion_;
  const ScatterParams& params_;
  Nests nests_;
};

}  // namespace

void schedule(Fusion* fusion, const ScatterParams& params) {
  FusionGuard guard(fusion);
  Scheduler(fusion, params).run();
}

std::optional<Refusal> refusesLoops(const Fusion& scheduled) {
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
        bool same = tv->nDims() == reference->nDims();
        for (int64_t i = 0; same && i < tv->nDims(); ++i) {
          same = exact.mapped(tv->axis(i), reference->axis(i));
        }
        if (!same) {
          return Refusal{text("output ", tv, " has not the axes of ", reference)};
        }
      } else if (std::any_of(axes.begin() + tv->getComputeAtPosition(), axes.end(),
                             [](const IterDomain* id) {
                               return !id->isBroadcast() && !id->extent()->isConstInt();
                             })) {
        return Refusal{text(tv, " is not read at the element that is computed")};
      }
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser::scatters
