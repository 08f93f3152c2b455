#include <scheduler/reduction/refuses_loops.h>

#include <algorithm>
#include <set>

#include <ir/axis_map.h>
#include <iteration_space/refused_loops.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/indexed_reads.h>
#include <scheduler/utils.h>

namespace nvfuser::reduction {

namespace {

/// A tensor as the user knows it: a copy at the border is the input that it copies.
std::string nameIn(const TensorView* tv) {
  if (tv->definition() != nullptr && tv->definition()->isA<LoadStoreOp>() &&
      tv->definition()->input(0)->isFusionInput()) {
    tv = tv->definition()->input(0)->as<TensorView>();
  }
  return text("T", tv->name());
}

/// Whether threads that share the reference's row hold other elements in `loop`: threads may have
/// rows for themselves, but what they hold of one row is no one value.
bool sharesRowApart(const TensorView* reference, const IterDomain* loop, const OwnLoops& own) {
  for (int64_t i = 0; i < reference->nDims(); ++i) {
    const IterDomain* other = reference->axis(i);
    if (other->getParallelType() == loop->getParallelType() && other->isReduction() &&
        !own.isShared(loop, i)) {
      return true;
    }
  }
  return false;
}

}  // namespace

const IterDomain* loopOfOwn(const TensorView* tv, const TensorView* reference,
                            const IdGraph& permissive) {
  const auto& shared = reference->getLoopDomain();
  for (const IterDomain* loop : tv->getLoopDomain()) {
    if (!loop->isBroadcast() &&
        std::none_of(shared.begin(), shared.end(),
                     [&](const IterDomain* id) { return permissive.mapped(id, loop); })) {
      return loop;
    }
  }
  return nullptr;
}

std::optional<Refusal> refusesLoops(const Fusion& scheduled, const ReductionParams& params) {
  const IdGraph graph(scheduled, IdGraph::Mode::Permissive);
  const IdGraph exact(scheduled, IdGraph::Mode::Exact);
  const auto signature = reductionSignature(scheduled, graph);
  const auto* of_copy = std::get_if<ReductionSignature>(&signature);
  const TensorView* reference = nullptr;
  for (const TensorView* tv : scheduled.allTvs()) {
    if (tv->definition() != nullptr && isReduction(tv->definition()) &&
        (reference == nullptr || tv->nDims() > reference->nDims())) {
      reference = tv;
    }
  }
  std::set<const TensorView*> held;
  if (of_copy != nullptr) {
    const PersistentBuffers buffers(scheduled, graph, *of_copy);
    held.insert(buffers.held().begin(), buffers.held().end());
  }
  std::vector<TensorView*> nest = scheduled.allTvs();
  std::erase_if(nest, [](const TensorView* tv) { return tv->isFusionInput(); });
  const OwnLoops own(scheduled, reference, nest);
  const bool may_hold = params.persistence != Persistence::None || params.host;
  for (const TensorView* tv : scheduled.allTvs()) {
    if (tv->isFusionInput()) {
      continue;
    }
    if (const IterDomain* id = loopOfOwn(tv, reference, graph)) {
      return Refusal{text(nameIn(tv), " has an axis, ", id, ", that no reduction has")};
    }
    const bool is_reduced = isReduction(tv->definition());
    // Neighbouring columns are reduced as a group, in a loop of its own.
    if (is_reduced && !params.fastest_dim && !own.mayHaveInnermost(tv)) {
      return Refusal{text(nameIn(tv), " shares loops with a tensor that has more axes in them")};
    }
    if (tv->isFusionOutput()) {
      continue;
    }
    const bool one_a_row = of_copy != nullptr && (is_reduced || !of_copy->spansReduced(tv, graph));
    // One value a row: kept where the row is, and computed before it is read in any case.
    if (one_a_row && !consumersOf(tv).empty() && reference->axis(0)->isBlockDim() &&
        !reference->axis(0)->isReduction() && tv->nDims() > 0 && !tv->axis(0)->isBroadcast() &&
        tv->getComputeAtPosition() == 0) {
      return Refusal{text(nameIn(tv), " is not read in the row that it belongs to")};
    }
    if (is_reduced) {
      continue;
    }
    if (one_a_row) {
      for (int64_t i = tv->getComputeAtPosition(); i < tv->nDims(); ++i) {
        const IterDomain* id = tv->axis(i);
        if (!id->isBroadcast() && (id->isThread() ? sharesRowApart(reference, id, own)
                                                  : !id->extent()->isConstScalar())) {
          return Refusal{text(nameIn(tv), " has a row of other elements than those reduced")};
        }
      }
      continue;
    }
    bool rest = false;  // elements that are computed before they are read
    for (int64_t i = tv->getComputeAtPosition(); i < tv->nDims(); ++i) {
      rest |= !tv->axis(i)->isBroadcast() && !tv->axis(i)->isThread();
    }
    const std::vector<Expr*> uses = scheduled.usesOf(tv);
    const bool elsewhere = std::any_of(uses.begin(), uses.end(), [&](const Expr* use) {
      return scheduler_tools::readsElsewhere(use, tv);
    });
    if (rest && (elsewhere || !(may_hold && held.count(tv) != 0))) {
      return Refusal{text(nameIn(tv),
                          " is needed both before and behind a reduction, or is not read at "
                          "the element that is computed")};
    }
  }
  if (auto why =
          refusedLoops(scheduled, exact, params.host ? LowerTarget::Cpu : LowerTarget::Cuda)) {
    return Refusal{std::move(*why)};
  }
  return std::nullopt;
}

}  // namespace nvfuser::reduction
