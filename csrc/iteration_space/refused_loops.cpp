#include <iteration_space/refused_loops.h>

#include <ir/axis_map.h>

namespace nvfuser {

const IterDomain* notStored(const TensorView* tv, const LoopModel& loops, const IdGraph& exact,
                            Symbols& symbols) {
  const std::vector<const LoopClass*> path = loops.path(tv);
  const auto& axes = tv->getLoopDomain();
  bool behind = false;
  std::vector<LoopAt> around;
  for (size_t i = 0; i < axes.size(); ++i) {
    behind |= axes[i]->isReduction();
    if (!axes[i]->isReduction()) {
      around.push_back({path[i], behind ? axes[i] : path[i]->promoted, path[i]->index});
    }
  }
  return behind ? Places({tv}, around, exact, symbols).uncovered(tv, false) : nullptr;
}

bool readsItsOwn(const TensorView* tv, const TensorView* consumer, ParallelType type, bool once,
                 bool by_few, const LoopModel& loops, const IdGraph& exact) {
  const IterDomain* of = loops.boundAxis(tv, type);
  if (of == nullptr) {
    return true;  // all of them hold all of it
  }
  // (Loops that are shared may run over more than the tensor's own axis: what they run over is
  // what a thread's index means. Of i0 merged with b1 and split, the outer part may be one, and
  // several in the loops over i0·i1: the elements along i0 are then spread over these.)
  const IterDomain* written = loops.promotedAxis(tv, type);
  const bool is_one = of->extent()->isOneInt() && !by_few && exact.mapped(written, of);
  if (!once && (of->isReduction() || of->isBroadcast() || is_one)) {
    return true;  // all of them hold the result
  }
  const IterDomain* read = loops.promotedAxis(consumer, type);
  return read != nullptr && (read == written || exact.mapped(written, read));
}

namespace {

/// A dimension whose threads need what others of them have of `tv` in registers, if there is one.
std::optional<ParallelType> readByOthers(const TensorView* tv, const LoopModel& loops,
                                         const IdGraph& exact) {
  if (tv->getMemoryType() != MemoryType::Local || tv->isFusionOutput()) {
    return std::nullopt;
  }
  for (const TensorView* consumer : consumersOf(tv)) {
    for (const ParallelType type : kParallelTypeThreads) {
      if (loops.isUsed(type) && !readsItsOwn(tv, consumer, type, false, false, loops, exact)) {
        return type;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusedLoops(const Fusion& scheduled, const IdGraph& exact,
                                        LowerTarget target) {
  kir::ScalarPool pool;
  Symbols symbols(scheduled, exact, pool);
  LowerOptions options;
  options.target = target;
  const LoopModel loops(scheduled, exact, symbols, options);
  if (loops.refusal()) {
    return loops.refusal();
  }
  for (const TensorView* tv : computedTensors(scheduled)) {
    if (const auto type = readByOthers(tv, loops, exact)) {
      return text(tv, " is read by other threads of ", parallelTypeName(*type));
    }
    if (areOwn(tv, loops.path(tv), exact)) {
      continue;
    }
    const Places places = placesOf(tv->definition(), loops, exact, symbols);
    if (const IterDomain* missing = places.uncovered(tv, true)) {
      return text("the loops around ", tv, " do not lead to its axis ", missing);
    }
    if (const IterDomain* missing = notStored(tv, loops, exact, symbols)) {
      return text("the loops in which ", tv, " is stored do not lead to its axis ", missing);
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser
