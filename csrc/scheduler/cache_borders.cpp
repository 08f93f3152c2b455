#include <scheduler/cache_borders.h>

#include <algorithm>
#include <map>

#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/indexed_reads.h>

namespace nvfuser::scheduler_utils {

std::vector<TensorView*> cacheInputs(
    Fusion* fusion, bool unroll,
    const std::function<int64_t(const TensorView*, const Expr*)>& group) {
  std::vector<TensorView*> copies;
  if (!unroll) {
    return copies;
  }
  for (Val* input : fusion->inputs()) {
    if (!input->isA<TensorView>()) {
      continue;
    }
    auto* tv = input->as<TensorView>();
    std::map<int64_t, std::vector<Expr*>> direct;
    for (Expr* use : fusion->usesOf(tv)) {
      if (!scheduler_tools::readsElsewhere(use, tv)) {
        direct[group ? group(tv, use) : 0].push_back(use);
      }
    }
    if (direct.empty() || tv->isCpuScalar()) {
      continue;
    }
    for (const auto& [number, uses] : direct) {
      // On the chip the order of loops counts, not that of the input in memory.
      copies.push_back(tv->cacheAfter(LoadStoreOpType::Set, CacheOp::Unspecified, false, uses));
    }
  }
  return copies;
}

std::vector<std::pair<TensorView*, TensorView*>> cacheAndForkOutputs(Fusion* fusion, bool unroll) {
  std::vector<std::pair<TensorView*, TensorView*>> copies;
  const std::vector<Val*> outputs = fusion->outputs();  // forking changes the list
  for (Val* val : outputs) {
    auto* output = val->as<TensorView>();
    if (output->isFusionInput() || !output->isFusionOutput()) {
      continue;  // forked already
    }
    if (!fusion->usesOf(output).empty()) {
      output = output->cacheFork();
    }
    if (!unroll) {
      continue;
    }
    const bool done = std::any_of(copies.begin(), copies.end(),
                                  [&](const auto& pair) { return pair.second == output; });
    if (!done) {
      copies.emplace_back(output->cacheBefore(), output);
    }
  }
  return copies;
}

void handOverOutput(Fusion* fusion, TensorView* output, TensorView* with) {
  if (output->hasAllocation()) {
    const std::vector<IterDomain*>& logical = output->getLogicalDomain();
    std::vector<IterDomain*> ordered;
    for (const IterDomain* id : output->getAllocationDomain()) {
      const auto place = std::find(logical.begin(), logical.end(), id) - logical.begin();
      ordered.push_back(with->getLogicalDomain()[static_cast<size_t>(place)]);
    }
    with->setAllocationDomain(std::move(ordered), output->getContiguity());
    output->setAllocationDomain(
        {}, TensorDomain::getContiguityFilledWith(output->getLogicalDomain(), true));
  }
  fusion->replaceOutput(output, with);
}

void streamCopy(TensorView* copied) {
  const Expr* definition = copied->definition();
  if (definition != nullptr && definition->isA<LoadStoreOp>()) {
    recopy(copied, definition->as<LoadStoreOp>()->opType(), CacheOp::Streaming);
  }
}

void recopy(TensorView* copied, LoadStoreOpType type, CacheOp cache) {
  Expr* definition = copied->definition();
  Val* from = definition->input(0);
  Fusion* fusion = copied->fusion();
  fusion->removeExpr(definition);
  IrBuilder::createInContainer<LoadStoreOp>(fusion, type, copied, from, cache);
}

void clearMemorySpace(Fusion* fusion) {
  for (TensorView* tv : fusion->allTvs()) {
    const bool at_border = tv->isFusionInput() || tv->isFusionOutput();
    tv->setMemoryType(at_border ? MemoryType::Global : MemoryType::Local);
  }
}

}  // namespace nvfuser::scheduler_utils
