#include <iteration_space/refused_loops.h>

#include <algorithm>
#include <set>

#include <ir/axis_map.h>
#include <ir/scan_loops.h>
#include <iteration_space/held_by_few.h>
#include <iteration_space/reads.h>
#include <iteration_space/refused_scans.h>

namespace nvfuser {

namespace {

class ScheduleCheck {
 public:
  ScheduleCheck(const IdGraph& exact, const LoopModel& loops, Symbols& symbols, LowerTarget target)
      : exact_(exact), loops_(loops), symbols_(symbols), target_(target) {}

  /// The first reason that a tensor, or one of its readers, gives.
  MaybeRefused run(const Fusion& fusion) {
    held_by_few_ = heldByFew(fusion, loops_);
    for (const TensorView* tv : computedTensors(fusion)) {
      for (const auto check :
           {&ScheduleCheck::oneAxisPerDimension, &ScheduleCheck::circularBuffer,
            &ScheduleCheck::covered, &ScheduleCheck::combinedOnce, &ScheduleCheck::scanned}) {
        if (auto refusal = (this->*check)(tv)) {
          return refusal;
        }
      }
      for (const TensorView* consumer : consumersOf(tv)) {
        if (auto refusal = visible(tv, consumer)) {
          return refusal;
        }
      }
    }
    return std::nullopt;
  }

 private:
  MaybeRefused oneAxisPerDimension(const TensorView* tv) const {
    const std::vector<const LoopClass*> path = loops_.path(tv);
    for (size_t i = 0; i < path.size(); ++i) {
      if (isMeshAxis(path[i]->parallel)) {
        return ScheduleRefusal{tv,
                               text(axisText(tv, i), " of T", tv->name(),
                                    " is shared by devices, and a "
                                    "kernel runs on one"),
                               "run it by a MultiDeviceExecutor"};
      }
      for (size_t k = 0; k < i; ++k) {
        if (!path[i]->isThread() || path[k]->parallel != path[i]->parallel) {
          continue;
        }
        const std::string_view name = parallelTypeName(path[i]->parallel);
        return ScheduleRefusal{tv,
                               text("T", tv->name(), " uses ", name, " twice, for ",
                                    axisText(tv, k), " and ", axisText(tv, i)),
                               text("bind one axis to ", name,
                                    "; merge the two first, or bind one of them to "
                                    "another dimension")};
      }
    }
    return std::nullopt;
  }

  /// Whether the loops visit each element, and each is written once where others see it.
  MaybeRefused covered(const TensorView* tv) const {
    const std::vector<const LoopClass*> path = loops_.path(tv);
    if (areOwn(tv, path, exact_)) {
      return std::nullopt;
    }
    const Places places = placesOf(tv->definition(), loops_, exact_, symbols_);
    if (const IterDomain* missing = places.uncovered(tv, true)) {
      return ScheduleRefusal{
          tv,
          text("the loops around T", tv->name(), " do not lead to its axis ", missing,
               ": some of them are shared with a tensor that has other axes merged in, others "
               "are its own"),
          "inline it, and what it reads, further, or not at all"};
    }
    for (const LoopAxis& axis : places.foreign(tv, true)) {
      if (auto refusal = writtenOnce(tv, axis)) {
        return refusal;
      }
    }
    if (const IterDomain* missing = notStored(tv)) {
      return ScheduleRefusal{
          tv,
          text("the loops in which the result of T", tv->name(),
               " is stored do not lead to its axis ", missing,
               ": those in front of its reduction are shared with a tensor that has other axes "
               "merged in, those behind it are its own"),
          text("reorder() the axes that T", tv->name(),
               " reduces behind all others, or inline what it reads at a smaller position")};
    }
    return std::nullopt;
  }

  /// A reduction or a scan combines an element at index 0 of each foreign axis. Where loops outside
  /// of it have a part in that index, an iteration may come to the element without ever coming to
  /// index 0: (i0·b) / 4, 4 has rows of b that begin before.
  MaybeRefused combinedOnce(const TensorView* tv) const {
    const std::vector<bool> folded = foldedLoops(tv);
    const auto first = std::find(folded.begin(), folded.end(), true);
    const std::vector<const LoopClass*> path = loops_.path(tv);
    const auto is_broadcast = [](const IterDomain* id) { return id->isBroadcast(); };
    const auto& axes = tv->getLoopDomain();
    const auto& logical = tv->getLogicalDomain();
    if (first == folded.end() ||
        (areOwn(tv, path, exact_) && std::none_of(axes.begin(), axes.end(), is_broadcast) &&
         std::none_of(logical.begin(), logical.end(), is_broadcast))) {
      return std::nullopt;
    }
    // Loops whose iterations have a state each.
    std::set<const LoopClass*> outside;
    for (size_t i = 0; i < path.size(); ++i) {
      const bool is_behind = static_cast<std::ptrdiff_t>(i) > first - folded.begin();
      const bool has_state = !is_behind || path[i]->isThread() ||
                             (exact_.mapped(path[i]->promoted, axes[i]) && !axes[i]->isBroadcast());
      if (!folded[i] && has_state) {
        outside.insert(path[i]);
      }
    }
    const Places places = placesOf(tv->definition(), loops_, exact_, symbols_);
    for (const LoopAxis& axis : places.foreign(tv, true)) {
      const bool repeats =
          std::any_of(axis.loops.begin(), axis.loops.end(),
                      [&](const LoopClass* loop) { return outside.count(loop) == 0; });
      const bool is_begun_outside =
          std::any_of(axis.loops.begin(), axis.loops.end(), [&](const LoopClass* loop) {
            return outside.count(loop) != 0 && !loop->isThread() && !loop->index->isConstant() &&
                   kir::ScalarPool::contains(axis.index, loop->index);
          });
      if (repeats && is_begun_outside) {
        return ScheduleRefusal{
            tv,
            text("T", tv->name(), " combines elements once for all of axis ", axis.id,
                 ", which another tensor has in the loops that they share, merged with its own and "
                 "split: ",
                 axis.index->toString()),
            "inline it at a position before those loops, or split by a multiple of that axis"};
      }
    }
    return std::nullopt;
  }

  MaybeRefused scanned(const TensorView* tv) const {
    return refusedScan(tv, exact_, loops_, symbols_);
  }

  MaybeRefused writtenOnce(const TensorView* tv, const LoopAxis& foreign) const {
    const bool global = tv->getMemoryType() == MemoryType::Global || tv->isFusionOutput();
    if (foreign.id->isBroadcast() || (tv->getMemoryType() == MemoryType::Local && !global)) {
      return std::nullopt;
    }
    const LoopClass* mixed = nullptr;
    bool repeated = false;
    for (const LoopClass* loop : foreign.loops) {
      if (!loop->isThread()) {
        repeated |= !loop->extent->isConstant(1);
      } else if (loops_.isUsed(loop->parallel) && loops_.isSpread(tv, loop->parallel) &&
                 (global || isParallelTypeThreadDim(loop->parallel)) &&
                 (mixed == nullptr || isParallelTypeBlockDim(loop->parallel))) {
        mixed = loop;
      }
    }
    if (mixed == nullptr) {
      return std::nullopt;
    }
    // Behind a barrier the one write is seen; tasks of the CPU do not wait for it.
    const bool unseen = !global || repeated ||
                        (target_ == LowerTarget::Cpu && isParallelTypeBlockDim(mixed->parallel));
    if (unseen && (!global || !consumersOf(tv).empty())) {
      return ScheduleRefusal{tv,
                             text("several of ", parallelTypeName(mixed->parallel),
                                  " compute one element of T", tv->name(), ", which is kept in ",
                                  global ? "global" : "shared", " memory: their loop runs over ",
                                  foreign.id, ", too, an axis of a tensor that shares it"),
                             text("setMemoryType(MemoryType::Local) of T", tv->name(),
                                  ", or inline it at a position before that loop")};
    }
    return std::nullopt;
  }

  MaybeRefused circularBuffer(const TensorView* tv) const {
    if (!tv->isCircularBuffered()) {
      return std::nullopt;
    }
    const int64_t position = tv->getComputeAtPosition();
    if (tv->getMemoryType() == MemoryType::Global) {
      return ScheduleRefusal{
          tv,
          text("T", tv->name(),
               " is a circular buffer but is kept in global memory; only memory on the chip "
               "has stages"),
          "setMemoryType(MemoryType::Shared), or leave out circularBuffer()"};
    }
    if (position == 0) {
      return ScheduleRefusal{
          tv,
          text("T", tv->name(),
               " is a circular buffer but is inside no loop, so nothing can be loaded ahead"),
          "inline it into its consumer behind the loop to pipeline: inlineAt(position)"};
    }
    const LoopClass& loop = loops_.of(tv, static_cast<int>(position) - 1);
    if (loop.parallel != ParallelType::Serial && loop.parallel != ParallelType::Unroll) {
      return ScheduleRefusal{tv,
                             text("T", tv->name(),
                                  " is a circular buffer, but the loop that it would run ahead "
                                  "in, ",
                                  axisText(tv, static_cast<size_t>(position) - 1), ", is bound to ",
                                  parallelTypeName(loop.parallel)),
                             "inline it behind a serial loop"};
    }
    return std::nullopt;
  }

  /// The axis of `tv` whose loop is bound to the dimension, in words.
  std::string boundText(const TensorView* tv, ParallelType type) const {
    const auto& axes = tv->getLoopDomain();
    const auto at = std::find(axes.begin(), axes.end(), loops_.boundAxis(tv, type));
    return axisText(tv, static_cast<size_t>(at - axes.begin()));
  }

  MaybeRefused visible(const TensorView* tv, const TensorView* consumer) const {
    const bool global = tv->getMemoryType() == MemoryType::Global || tv->isFusionOutput();
    if (global && target_ != LowerTarget::Cpu) {
      return writtenInTime(tv, consumer);  // barriers make it visible
    }
    for (ParallelType type : kParallelTypeThreads) {
      const bool block = isParallelTypeBlockDim(type);
      if ((tv->getMemoryType() == MemoryType::Shared || global) && !block) {
        continue;
      }
      if (!loops_.isUsed(type)) {
        continue;
      }
      if (global && (!loops_.isSpread(tv, type) || loops_.isRepeated(tv, type))) {
        if (auto refusal = writtenByOneTask(tv, consumer, type)) {
          return refusal;
        }
        continue;
      }
      if (tv->getMemoryType() == MemoryType::Shared && loops_.isSpread(tv, type) &&
          loops_.isRepeated(tv, type)) {
        return readsOfFirstBlock(tv, type);
      }
      if (readsItsOwn(tv, consumer, type, global)) {
        continue;
      }
      const std::string reader =
          loops_.boundAxis(consumer, type) == nullptr
              ? text("reads it in every ", block ? "block" : "thread")
              : text("binds ", boundText(consumer, type), " to it, which is another index");
      const char* memory = global                                      ? "global memory"
                           : tv->getMemoryType() == MemoryType::Shared ? "shared memory"
                                                                       : "registers";
      return ScheduleRefusal{
          tv,
          text("T", tv->name(), " is kept in ", memory, ", where each ",
               global ? "task of the CPU" : (block ? "block" : "thread"), " of ",
               parallelTypeName(type), " sees its own part, ", boundText(tv, type),
               ", but its consumer T", consumer->name(), " ", reader),
          global ? "tasks cannot wait for each other: bind both alike, or make two kernels "
                   "(segment_set)"
                 : text("bind both alike (scheduler_utils::parallelizeAllLike), or "
                        "setMemoryType(MemoryType::",
                        block ? "Global" : "Shared", ") of T", tv->name())};
    }
    return std::nullopt;
  }

  /// Of elements that come again, the place is that of the first time: in another block's memory.
  MaybeRefused readsOfFirstBlock(const TensorView* tv, ParallelType type) const {
    return ScheduleRefusal{
        tv,
        text("T", tv->name(), " is kept in shared memory, but several blocks of ",
             parallelTypeName(type), " come to the same element, as ", boundText(tv, type),
             " has a broadcast axis merged in"),
        text("bind an axis without the broadcast one, or setMemoryType() of T", tv->name(),
             " to Local or Global")};
  }

  /// Of elements that come again, one place writes: no other one may come to them in an earlier
  /// iteration of a loop that the barrier is in.
  MaybeRefused writtenInTime(const TensorView* tv, const TensorView* consumer) const {
    const auto& axes = tv->getLoopDomain();
    const auto shared = axes.begin() + tv->getComputeAtPosition();
    const auto again = std::find_if(axes.begin(), shared, [](const IterDomain* axis) {
      return !isParallelTypeThread(axis->getParallelType()) && LoopModel::isRepeated(axis);
    });
    for (ParallelType type : kParallelTypeThreads) {
      if (again != shared && loops_.isUsed(type) && loops_.isRepeated(tv, type)) {
        return ScheduleRefusal{
            tv,
            text("T", tv->name(), " is written at the first of several places where ",
                 axisText(tv, static_cast<size_t>(again - axes.begin())), " and ",
                 parallelTypeName(type), " come to the same element, but its consumer T",
                 consumer->name(), " in the same loop may read it before"),
            text("inline T", tv->name(), " outside of that loop, or keep it in registers")};
      }
    }
    return std::nullopt;
  }

  /// Task 0 writes such a tensor; it may read it, too.
  MaybeRefused writtenByOneTask(const TensorView* tv, const TensorView* consumer,
                                ParallelType type) const {
    const bool global =
        consumer->getMemoryType() == MemoryType::Global || consumer->isFusionOutput();
    if (global && !loops_.isSpread(tv, type) && !loops_.isSpread(consumer, type)) {
      return std::nullopt;
    }
    return ScheduleRefusal{
        tv,
        text("T", tv->name(), " is kept in global memory, which one task of ",
             parallelTypeName(type), " writes for several, but its consumer T", consumer->name(),
             " reads it in others, too"),
        text("tasks cannot wait for each other: setMemoryType(MemoryType::Local) of T", tv->name(),
             ", so that each has its own, or make two kernels (segment_set)")};
  }

  /// An axis of `tv` that the loops in which it is stored do not lead to, or null.
  const IterDomain* notStored(const TensorView* tv) const {
    const auto& axes = tv->getLoopDomain();
    const bool reduces = std::any_of(axes.begin(), axes.end(),
                                     [](const IterDomain* id) { return id->isReduction(); });
    return reduces ? storedAt(tv, loops_, exact_, symbols_).uncovered(tv, false) : nullptr;
  }

  /// Whether each thread (block) of the dimension reads of `tv` what it wrote itself. `once`: what
  /// is not spread over the dimension is written by the first one alone, not by each for itself.
  bool readsItsOwn(const TensorView* tv, const TensorView* consumer, ParallelType type,
                   bool once) const {
    const IterDomain* of = loops_.boundAxis(tv, type);
    if (of == nullptr) {
      return true;  // all of them hold all of it
    }
    // (Loops that are shared may run over more than the tensor's own axis: what they run over is
    // what a thread's index means. Of i0 merged with b1 and split, the outer part may be one, and
    // several in the loops over i0·i1: the elements along i0 are then spread over these.)
    const IterDomain* written = loops_.promotedAxis(tv, type);
    const bool is_one = of->extent()->isOneInt() && !isHeldByFew(tv, type, held_by_few_) &&
                        exact_.mapped(written, of);
    if (!once && (of->isReduction() || of->isBroadcast() || is_one)) {
      return true;  // all of them hold the result
    }
    const IterDomain* read = loops_.promotedAxis(consumer, type);
    return read != nullptr && (read == written || exact_.mapped(written, read));
  }

  const IdGraph& exact_;
  const LoopModel& loops_;
  Symbols& symbols_;
  LowerTarget target_;
  HeldByFew held_by_few_;
};

}  // namespace

MaybeRefused refusedSchedule(const Fusion& fusion, const IdGraph& exact, const LoopModel& loops,
                             Symbols& symbols, LowerTarget target) {
  return ScheduleCheck(exact, loops, symbols, target).run(fusion);
}

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
  auto refusal = refusedSchedule(scheduled, exact, loops, symbols, target);
  if (!refusal) {
    refusal = refusedReads(scheduled, exact, loops, symbols);
  }
  return refusal ? std::optional(std::move(refusal->what)) : std::nullopt;
}

}  // namespace nvfuser
