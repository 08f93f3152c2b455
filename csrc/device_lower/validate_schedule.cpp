#include <device_lower/validate_schedule.h>

#include <algorithm>

#include <device_lower/async_copy.h>
#include <device_lower/held_by_few.h>
#include <device_lower/loop_tree.h>
#include <device_lower/schedule_error.h>
#include <device_lower/validate_scans.h>
#include <iteration_space/refused_loops.h>

namespace nvfuser {

namespace {

class ScheduleCheck {
 public:
  ScheduleCheck(const IdGraph& exact, const LoopModel& loops, Symbols& symbols, LowerTarget target)
      : exact_(exact), loops_(loops), symbols_(symbols), target_(target) {}

  void run(const Fusion& fusion) {
    held_by_few_ = heldByFew(fusion, loops_);
    for (TensorView* tv : computedTensors(fusion)) {
      oneAxisPerDimension(tv);
      circularBuffer(tv);
      validateBulk(tv, loops_);
      covered(tv);
      validateScan(tv, exact_, loops_, symbols_);
      for (TensorView* consumer : consumersOf(tv)) {
        visible(tv, consumer);
      }
    }
  }

 private:
  void oneAxisPerDimension(const TensorView* tv) {
    const std::vector<const LoopClass*> path = loops_.path(tv);
    for (size_t i = 0; i < path.size(); ++i) {
      if (isMeshAxis(path[i]->parallel)) {
        refuseSchedule(tv,
                       text(axisText(tv, i), " of T", tv->name(),
                            " is shared by devices, and a "
                            "kernel runs on one"),
                       "run it by a MultiDeviceExecutor");
      }
      for (size_t k = 0; k < i; ++k) {
        if (!path[i]->isThread() || path[k]->parallel != path[i]->parallel) {
          continue;
        }
        const std::string_view name = parallelTypeName(path[i]->parallel);
        refuseSchedule(tv,
                       text("T", tv->name(), " uses ", name, " twice, for ", axisText(tv, k),
                            " and ", axisText(tv, i)),
                       text("bind one axis to ", name,
                            "; merge the two first, or bind one of them to "
                            "another dimension"));
      }
    }
  }

  /// Whether the loops visit each element, and each is written once where others see it.
  void covered(const TensorView* tv) const {
    const std::vector<const LoopClass*> path = loops_.path(tv);
    if (areOwn(tv, path, exact_)) {
      return;
    }
    const Places places = placesOf(tv->definition(), loops_, exact_, symbols_);
    if (const IterDomain* missing = places.uncovered(tv, true)) {
      refuseSchedule(
          tv,
          text("the loops around T", tv->name(), " do not lead to its axis ", missing,
               ": some of them are shared with a tensor that has other axes merged in, others "
               "are its own"),
          "inline it, and what it reads, further, or not at all");
    }
    for (const LoopAxis& axis : places.foreign(tv, true)) {
      writtenOnce(tv, axis);
    }
    if (const IterDomain* missing = notStored(tv, loops_, exact_, symbols_)) {
      refuseSchedule(
          tv,
          text("the loops in which the result of T", tv->name(),
               " is stored do not lead to its axis ", missing,
               ": those in front of its reduction are shared with a tensor that has other axes "
               "merged in, those behind it are its own"),
          text("reorder() the axes that T", tv->name(),
               " reduces behind all others, or inline what it reads at a smaller position"));
    }
  }

  void writtenOnce(const TensorView* tv, const LoopAxis& foreign) const {
    const bool global = tv->getMemoryType() == MemoryType::Global || tv->isFusionOutput();
    if (foreign.id->isBroadcast() || (tv->getMemoryType() == MemoryType::Local && !global)) {
      return;
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
      return;
    }
    // Behind a barrier the one write is seen; tasks of the CPU do not wait for it.
    const bool unseen = !global || repeated ||
                        (target_ == LowerTarget::Cpu && isParallelTypeBlockDim(mixed->parallel));
    if (unseen && (!global || !consumersOf(tv).empty())) {
      refuseSchedule(tv,
                     text("several of ", parallelTypeName(mixed->parallel),
                          " compute one element of T", tv->name(), ", which is kept in ",
                          global ? "global" : "shared", " memory: their loop runs over ",
                          foreign.id, ", too, an axis of a tensor that shares it"),
                     text("setMemoryType(MemoryType::Local) of T", tv->name(),
                          ", or inline it at a position before that loop"));
    }
  }

  void circularBuffer(const TensorView* tv) {
    if (!tv->isCircularBuffered()) {
      return;
    }
    const int64_t position = tv->getComputeAtPosition();
    if (tv->getMemoryType() == MemoryType::Global) {
      refuseSchedule(
          tv,
          text("T", tv->name(),
               " is a circular buffer but is kept in global memory; only memory on the chip "
               "has stages"),
          "setMemoryType(MemoryType::Shared), or leave out circularBuffer()");
    }
    if (position == 0) {
      refuseSchedule(
          tv,
          text("T", tv->name(),
               " is a circular buffer but is inside no loop, so nothing can be loaded ahead"),
          "inline it into its consumer behind the loop to pipeline: inlineAt(position)");
    }
    const LoopClass& loop = loops_.of(tv, static_cast<int>(position) - 1);
    if (loop.parallel != ParallelType::Serial && loop.parallel != ParallelType::Unroll) {
      refuseSchedule(tv,
                     text("T", tv->name(),
                          " is a circular buffer, but the loop that it would run ahead "
                          "in, ",
                          axisText(tv, static_cast<size_t>(position) - 1), ", is bound to ",
                          parallelTypeName(loop.parallel)),
                     "inline it behind a serial loop");
    }
  }

  /// The axis of `tv` whose loop is bound to the dimension; −1 if none is.
  int boundAxis(const TensorView* tv, ParallelType type) const {
    const std::vector<const LoopClass*> path = loops_.path(tv);
    for (size_t i = 0; i < path.size(); ++i) {
      if (path[i]->parallel == type) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  void visible(const TensorView* tv, const TensorView* consumer) const {
    if (tv->isFusionInput()) {
      return;
    }
    const bool global = tv->getMemoryType() == MemoryType::Global || tv->isFusionOutput();
    if (global && target_ != LowerTarget::Cpu) {
      writtenInTime(tv, consumer);
      return;  // barriers make it visible
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
        writtenByOneTask(tv, consumer, type);
        continue;
      }
      if (tv->getMemoryType() == MemoryType::Shared && loops_.isSpread(tv, type) &&
          loops_.isRepeated(tv, type)) {
        readsOfFirstBlock(tv, type);
      }
      if (readsItsOwn(tv, consumer, type, global, isHeldByFew(tv, type, held_by_few_), loops_,
                      exact_)) {
        continue;
      }
      const int written = boundAxis(tv, type);
      const int read = boundAxis(consumer, type);
      const std::string reader = read < 0
                                     ? text("reads it in every ", block ? "block" : "thread")
                                     : text("binds ", axisText(consumer, static_cast<size_t>(read)),
                                            " to it, which is another index");
      const char* memory = global                                      ? "global memory"
                           : tv->getMemoryType() == MemoryType::Shared ? "shared memory"
                                                                       : "registers";
      refuseSchedule(tv,
                     text("T", tv->name(), " is kept in ", memory, ", where each ",
                          global ? "task of the CPU" : (block ? "block" : "thread"), " of ",
                          parallelTypeName(type), " sees its own part, ",
                          axisText(tv, static_cast<size_t>(written)), ", but its consumer T",
                          consumer->name(), " ", reader),
                     global
                         ? "tasks cannot wait for each other: bind both alike, or make two kernels "
                           "(segment_set)"
                         : text("bind both alike (scheduler_utils::parallelizeAllLike), or "
                                "setMemoryType(MemoryType::",
                                block ? "Global" : "Shared", ") of T", tv->name()));
    }
  }

  /// Of elements that come again, the place is that of the first time: in another block's memory.
  [[noreturn]] void readsOfFirstBlock(const TensorView* tv, ParallelType type) const {
    const auto bound = static_cast<size_t>(boundAxis(tv, type));
    refuseSchedule(tv,
                   text("T", tv->name(), " is kept in shared memory, but several blocks of ",
                        parallelTypeName(type), " come to the same element, as ",
                        axisText(tv, bound), " has a broadcast axis merged in"),
                   text("bind an axis without the broadcast one, or setMemoryType() of T",
                        tv->name(), " to Local or Global"));
  }

  /// Of elements that come again, one place writes: no other one may come to them in an earlier
  /// iteration of a loop that the barrier is in.
  void writtenInTime(const TensorView* tv, const TensorView* consumer) const {
    const auto& axes = tv->getLoopDomain();
    const auto shared = axes.begin() + tv->getComputeAtPosition();
    const auto again = std::find_if(axes.begin(), shared, [](const IterDomain* axis) {
      return !isParallelTypeThread(axis->getParallelType()) && LoopModel::isRepeated(axis);
    });
    for (ParallelType type : kParallelTypeThreads) {
      if (again != shared && loops_.isUsed(type) && loops_.isRepeated(tv, type)) {
        refuseSchedule(
            tv,
            text("T", tv->name(), " is written at the first of several places where ",
                 axisText(tv, static_cast<size_t>(again - axes.begin())), " and ",
                 parallelTypeName(type), " come to the same element, but its consumer T",
                 consumer->name(), " in the same loop may read it before"),
            text("inline T", tv->name(), " outside of that loop, or keep it in registers"));
      }
    }
  }

  /// Task 0 writes such a tensor; it may read it, too.
  void writtenByOneTask(const TensorView* tv, const TensorView* consumer, ParallelType type) const {
    const bool global =
        consumer->getMemoryType() == MemoryType::Global || consumer->isFusionOutput();
    if (global && !loops_.isSpread(tv, type) && !loops_.isSpread(consumer, type)) {
      return;
    }
    refuseSchedule(
        tv,
        text("T", tv->name(), " is kept in global memory, which one task of ",
             parallelTypeName(type), " writes for several, but its consumer T", consumer->name(),
             " reads it in others, too"),
        text("tasks cannot wait for each other: setMemoryType(MemoryType::Local) of T", tv->name(),
             ", so that each has its own, or make two kernels (segment_set)"));
  }

  const IdGraph& exact_;
  const LoopModel& loops_;
  Symbols& symbols_;
  LowerTarget target_;
  HeldByFew held_by_few_;
};

}  // namespace

void validateSchedule(const Fusion& fusion, const IdGraph& exact, const LoopModel& loops,
                      Symbols& symbols, LowerTarget target) {
  ScheduleCheck(exact, loops, symbols, target).run(fusion);
}

}  // namespace nvfuser
