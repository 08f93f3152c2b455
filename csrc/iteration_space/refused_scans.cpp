#include <iteration_space/refused_scans.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <ir/scan_loops.h>
#include <iteration_space/places.h>

namespace nvfuser {

namespace {

class ScanCheck {
 public:
  ScanCheck(const IdGraph& exact, const LoopModel& loops, Symbols& symbols)
      : exact_(exact), loops_(loops), symbols_(symbols) {}

  /// Whether the loops along a scan's axis come to its elements in order, where each step can see
  /// what the one before it left.
  MaybeRefused scannedInOrder(const TensorView* tv) const {
    const ScanLoops along = scanLoops(tv);
    if (!along.broken.empty()) {
      return ScheduleRefusal{
          tv, text("T", tv->name(), " is scanned in order, but ", along.broken),
          "keep the parts of that axis apart from others, and each inside of the part that "
          "it was split from"};
    }
    if (auto refusal = noneRepeatsWithin(tv, along.positions)) {
      return refusal;
    }
    int threads = -1;  // the innermost loop bound to threads so far
    for (size_t i = 0; i < along.positions.size(); ++i) {
      const int position = along.positions[i];
      const LoopClass& loop = loops_.of(tv, position);
      const ParallelType type = loop.parallel;
      const auto axis = axisText(tv, static_cast<size_t>(position));
      if (isParallelTypeBlockDim(type) && loops_.isUsed(type)) {
        return ScheduleRefusal{
            tv,
            text("T", tv->name(), " is scanned along ", axis, ", which is bound to ",
                 parallelTypeName(type), ", but blocks do not wait for each other"),
            "bind it to threads of a block, or to none"};
      }
      if (type == ParallelType::Vectorize || type == ParallelType::Group ||
          type == ParallelType::Bulk) {
        return ScheduleRefusal{
            tv,
            text("T", tv->name(), " is scanned along ", axis, ", which is bound to ",
                 parallelTypeName(type), ", but each step needs the one before it"),
            "bind it to threads of a block, or to none"};
      }
      if (loop.descending != scanOf(tv)->isBackward() && !loop.extent->isConstant(1)) {
        return ScheduleRefusal{tv,
                               text("T", tv->name(), " is scanned forward along ", axis,
                                    ", in a loop that it shares with a scan backward"),
                               "inline one of them at a position before it"};
      }
      if (!isParallelTypeThreadDim(type) || !loops_.isUsed(type)) {
        continue;
      }
      for (size_t k = static_cast<size_t>(threads + 1); threads >= 0 && k < i; ++k) {
        if (!loops_.of(tv, along.positions[k]).extent->isConstant(1)) {
          return ScheduleRefusal{
              tv,
              text("T", tv->name(), " is scanned along threads in ", axis, " and outside of ",
                   axisText(tv, static_cast<size_t>(along.positions[k]))),
              "split so that the parts bound to threads are neighbours"};
        }
      }
      if (threads >= 0 &&
          type < loops_.of(tv, along.positions[static_cast<size_t>(threads)]).parallel) {
        return ScheduleRefusal{
            tv,
            text("T", tv->name(),
                 " is scanned along threads, whose order in a block is x "
                 "inside of y inside of z, but ",
                 axis, " is inside of ",
                 axisText(tv, static_cast<size_t>(along.positions[static_cast<size_t>(threads)]))),
            "bind the inner one to threadIdx.x"};
      }
      threads = static_cast<int>(i);
    }
    return std::nullopt;
  }

  /// Threads that share the axis combine their own elements before they go through them.
  MaybeRefused operandInTime(const TensorView* tv) const {
    const std::vector<int> threads = threadsOfScan(tv, loops_);
    for (int position : threads.empty() ? std::vector<int>() : scanLoops(tv).positions) {
      if (position < threads.back() || isParallelTypeThreadDim(loops_.of(tv, position).parallel)) {
        continue;
      }
      for (const TensorView* in : tensorInputs(tv->definition())) {
        if (in->definition() != nullptr && in->getComputeAtPosition() > position) {
          return ScheduleRefusal{
              in,
              text("T", tv->name(),
                   " is scanned along threads, each of which needs all of "
                   "its elements of T",
                   in->name(), " first, but T", in->name(), " is computed inside ",
                   axisText(tv, static_cast<size_t>(position))),
              text("inline T", in->name(), " at position ", position, " at most")};
        }
      }
    }
    return std::nullopt;
  }

 private:
  /// A loop that comes to the elements again may stand around a scan, which starts anew then, or
  /// inside of it, at one element; not between its loops, where the next turn goes on with the sum.
  MaybeRefused noneRepeatsWithin(const TensorView* tv, const std::vector<int>& along) const {
    const std::vector<const LoopClass*> path = loops_.path(tv);
    if (along.size() < 2 || areOwn(tv, path, exact_)) {
      return std::nullopt;
    }
    const Places places = placesOf(tv->definition(), loops_, exact_, symbols_);
    for (int position = along.front() + 1; position < along.back(); ++position) {
      const LoopClass* loop = path[static_cast<size_t>(position)];
      const bool is_serial = !loop->isThread() && !loop->extent->isConstant(1);
      const auto& foreign = places.foreign(tv, true);
      const bool repeats = std::any_of(foreign.begin(), foreign.end(), [&](const LoopAxis& axis) {
        return std::find(axis.loops.begin(), axis.loops.end(), loop) != axis.loops.end();
      });
      if (is_serial && repeats) {
        return ScheduleRefusal{tv,
                               text("T", tv->name(), " is scanned in loops of which one, over ",
                                    loop->promoted, ", comes to the same elements again"),
                               text("inline what T", tv->name(), " reads at position ", position,
                                    " at most, or reorder() that loop outside of those that scan")};
      }
    }
    return std::nullopt;
  }

  const IdGraph& exact_;
  const LoopModel& loops_;
  Symbols& symbols_;
};

}  // namespace

std::vector<int> threadsOfScan(const TensorView* scanned, const LoopModel& loops) {
  std::vector<int> threads = scanLoops(scanned).positions;
  std::erase_if(threads, [&](int position) {
    const ParallelType type = loops.of(scanned, position).parallel;
    return !isParallelTypeThreadDim(type) || !loops.isUsed(type);
  });
  return threads;
}

MaybeRefused refusedScan(const TensorView* tv, const IdGraph& exact, const LoopModel& loops,
                         Symbols& symbols) {
  if (scanOf(tv) == nullptr) {
    return std::nullopt;
  }
  const ScanCheck check(exact, loops, symbols);
  auto refusal = check.scannedInOrder(tv);
  return refusal ? refusal : check.operandInTime(tv);
}

}  // namespace nvfuser
