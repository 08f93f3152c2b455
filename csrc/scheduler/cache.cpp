/// cacheAfter, cacheBefore, cacheFork: a copy of a tensor beside it, with the uses or the
/// definition moved to the copy.
///
///   cacheAfter    T0 → use            becomes   T0 → set → T1 → use          returns T1
///   cacheBefore   op → T2             becomes   op → T3 → set → T2           returns T3
///   cacheFork     op → T2 (output)    becomes   op → T2 → use                returns T4
///                      └→ use                       └→ set → T4 (output)
#include <algorithm>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <scheduler/copy_axes.h>
#include <scheduler/replay_loop.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

void requireNotInlined(std::string_view primitive, const TensorView* tv) {
  const int64_t shared = std::max(tv->getComputeAtPosition(), tv->getMaxProducerPosition());
  if (shared == 0) {
    return;
  }
  scheduleError(
      primitive, tv,
      text("T", tv->name(), " shares its first ", shared, " loops with other tensors already"),
      "make caches before inlining, or call resetInlining(fusion) before");
}

/// Whether an expression reads the tensor and leads to an output.
bool isRead(const TensorView* tv) { return !tv->fusion()->usesOf(tv).empty(); }

/// A fresh domain of a copy of `tv`: its axes without reductions and, if asked for, in its memory
/// order.
TensorDomain* domainOfCopy(const TensorView* tv, bool with_allocation) {
  const std::vector<IterDomain*> from = TensorDomain::noReductions(tv->getLogicalDomain());
  std::vector<IterDomain*> logical = IterDomain::clone(from);
  AxisCopier copier;
  for (size_t i = 0; i < from.size(); ++i) {
    copier.map(from[i], logical[i]);
  }
  Contiguity contiguity = TensorDomain::getContiguityFilledWith(logical, true);
  std::vector<IterDomain*> allocation;
  if (with_allocation && tv->hasAllocation()) {
    contiguity.clear();
    std::vector<IterDomain*> kept;
    for (size_t i = 0; i < tv->getAllocationDomain().size(); ++i) {
      IterDomain* id = tv->getAllocationDomain()[i];
      if (id->isReduction()) {
        continue;
      }
      kept.push_back(id);
      contiguity.push_back(tv->getContiguity()[i]);
    }
    allocation = copier.replayTo(kept, tv->getLogicalDomain());
  } else if (with_allocation) {
    contiguity.clear();
    for (size_t i = 0; i < tv->getLogicalDomain().size(); ++i) {
      if (!tv->getLogicalDomain()[i]->isReduction()) {
        contiguity.push_back(tv->getContiguity()[i]);
      }
    }
  }
  return IrBuilder::createInContainer<TensorDomain>(tv->fusion(), std::vector<IterDomain*>{},
                                                    logical, allocation, logical, contiguity);
}

/// `copy` (just made as a copy of `original`) gets its loops, with their bindings.
void scheduleLike(TensorView* copy, const TensorView* original) {
  const LoopReplay replay =
      replayLoop(original, original->nDims(), copy, ReplayDirection::ProducerToConsumer);
  applyReplay(copy, replay);
  int64_t next = 0;
  for (const IterDomain* id : original->getLoopDomain()) {
    if (next >= replay.position) {
      break;
    }
    if (id->isReduction()) {
      continue;
    }
    copy->axis(next)->parallelize(id->getParallelType());
    if (id->hasPaddingToMultipleOfWarp()) {
      copy->axis(next)->padToMultipleOfWarp(id->getMaybeSizeAfterPadding());
    }
    ++next;
  }
}

void dropAllocation(TensorView* tv) {
  if (!tv->hasAllocation()) {
    return;
  }
  tv->setAllocationDomain({}, TensorDomain::getContiguityFilledWith(tv->getLogicalDomain(), true));
}

}  // namespace

TensorView* TensorView::cacheAfter(LoadStoreOpType type, CacheOp cache_op,
                                   bool propagate_allocation_domain,
                                   std::vector<Expr*> cached_uses) {
  requireNotInlined("cacheAfter", this);
  if (isFusionOutput() && !isFusionInput()) {
    scheduleError("cacheAfter", this, text("T", name(), " is an output of the Fusion"),
                  isRead(this) ? "use cacheFork(), which leaves the uses to a tensor of their own"
                               : "use cacheBefore() to compute it on the chip first");
  }
  if (!isRead(this)) {
    scheduleError("cacheAfter", this, text("nothing that leads to an output reads T", name()),
                  "cache a tensor that is read");
  }
  for (const Expr* use : cached_uses) {
    if (std::find(uses().begin(), uses().end(), use) == uses().end()) {
      scheduleError(
          "cacheAfter", this,
          text("the expression ", use ? use->toString() : "null", " does not read T", name()),
          text("give expressions out of T", name(), "'s uses()"));
    }
  }
  if (cached_uses.empty()) {
    cached_uses = uses();
  }
  auto* copy = IrBuilder::createInContainer<TensorView>(
      fusion(), domainOfCopy(this, propagate_allocation_domain && hasAllocation()), dtype(),
      MemoryType::Local);
  IrBuilder::createInContainer<LoadStoreOp>(fusion(), type, copy, this, cache_op);
  for (Expr* use : cached_uses) {
    fusion()->replaceInput(use, this, copy);
  }
  scheduleLike(copy, this);
  return copy;
}

TensorView* TensorView::cacheBefore(LoadStoreOpType type) {
  if (isFusionInput()) {
    scheduleError("cacheBefore", this,
                  text("T", name(), " is an input of the Fusion and is not computed"),
                  "use cacheAfter() to load it onto the chip");
  }
  requireNotInlined("cacheBefore", this);
  Expr* operation = definition();
  if (operation == nullptr) {
    scheduleError("cacheBefore", this, text("T", name(), " is computed by nothing"),
                  "cache the result of an operation");
  }
  // The copy takes the domain as it is, with all that the operation made of it; this tensor gets a
  // fresh one.
  TensorDomain* fresh = domainOfCopy(this, true);
  auto* copy =
      IrBuilder::createInContainer<TensorView>(fusion(), domain(), dtype(), MemoryType::Local);
  ReplaceDomain::set(this, fresh);
  dropAllocation(copy);
  fusion()->replaceExprOutput(operation, this, copy);
  IrBuilder::createInContainer<LoadStoreOp>(fusion(), type, this, copy);
  scheduleLike(this, copy);
  return copy;
}

TensorView* TensorView::cacheFork() {
  if (!isFusionOutput() || isFusionInput()) {
    scheduleError(
        "cacheFork", this,
        text("T", name(), " is ", isFusionInput() ? "an input" : "no output", " of the Fusion"),
        "fork outputs that are also read; use cacheAfter() elsewhere");
  }
  requireNotInlined("cacheFork", this);
  if (!isRead(this)) {
    scheduleError("cacheFork", this, text("output T", name(), " is read by nothing"),
                  "use cacheBefore() to compute it on the chip first");
  }
  auto* output = IrBuilder::createInContainer<TensorView>(fusion(), domainOfCopy(this, true),
                                                          dtype(), MemoryType::Global);
  IrBuilder::createInContainer<LoadStoreOp>(fusion(), LoadStoreOpType::Set, output, this);
  scheduleLike(output, this);
  fusion()->replaceOutput(this, output);
  dropAllocation(this);
  return output;
}

}  // namespace nvfuser
