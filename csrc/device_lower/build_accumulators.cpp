/// Where the state of a reduction (build_reduction.cpp) or a scan is kept.
///
///   T1 in registers            T1 itself
///   T1 in shared memory        acc1, a register, stored to T1 at the end
///   T1 in the CPU's memory     acc1, or T1 itself where that would be too many registers
///
/// Results beside one that has an accumulator have one, too. What adds up many partial sums has one
/// in Double. Loops behind the first one that is reduced have a state for each of their turns.
#include <algorithm>

#include <device_lower/kernel_builder.h>
#include <ir/axis_map.h>
#include <ir/exact_numerics.h>
#include <ir/scan_loops.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// Whether loops of one thread add up many sums, or moments, which others made before. In Double,
/// that loses no digits, and is one wider addition for all that one of these took.
bool addsPartialSums(const Expr* expr, const LoopModel& loops) {
  const Expr* part =
      expr->isOneOf<ReductionOp, WelfordOp>() ? expr->input(0)->definition() : nullptr;
  const bool of_parts = part != nullptr && ((isSum(expr) && isSum(part)) ||
                                            (expr->isA<WelfordOp>() && part->isA<WelfordOp>()));
  constexpr int64_t kFew = 16;
  const TensorView* tv = tensorOutputs(expr).front();
  const auto& axes = tv->getLoopDomain();
  for (size_t i = 0; i < axes.size() && of_parts; ++i) {
    const LoopClass& loop = loops.of(tv, static_cast<int>(i));
    const bool few = loop.extent->isConstant() && loop.extent->value <= kFew;
    if (axes[i]->isReduction() && !axes[i]->isThread() && !few) {
      return true;
    }
  }
  return false;
}

/// Whether exact numerics want it in Double: added one by one, many numbers lose digits.
bool isExactOfOneThread(const Expr* expr, const LoopModel& loops) {
  if (!isComputedExactly(*expr->fusion()) || !hangsOnOrder(expr)) {
    return false;
  }
  const TensorView* tv = tensorOutputs(expr).front();
  const auto& axes = tv->getLoopDomain();
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool of_threads = axes[i]->isReduction() && axes[i]->isThread();
    if (of_threads && !loops.of(tv, static_cast<int>(i)).extent->isConstant(1)) {
      return false;
    }
  }
  return true;
}

}  // namespace

const LoopClass* KernelBuilder::loopOf(const Leaf& leaf, const TensorView* tv, int position) {
  const std::pair<const TensorView*, int> member(tv, position);
  auto found = std::find_if(leaf.path.begin(), leaf.path.end(), [&](const LoopClass* loop) {
    return std::find(loop->members.begin(), loop->members.end(), member) != loop->members.end();
  });
  check(found != leaf.path.end(), "a reduction is in the loops of its axes");
  return *found;
}

std::vector<int> KernelBuilder::loopsBehindFolded(const TensorView* tv, const LoopModel& loops) {
  std::vector<int> positions;
  const std::vector<bool> folded = foldedLoops(tv);
  bool behind = false;
  for (size_t i = 0; i < folded.size(); ++i) {
    behind |= folded[i];
    const LoopClass& loop = loops.of(tv, static_cast<int>(i));
    if (behind && !folded[i] && !loop.isThread() && !loop.extent->isConstant(1)) {
      positions.push_back(static_cast<int>(i));
    }
  }
  return positions;
}

Scalar KernelBuilder::statesOf(const TensorView* tv) const {
  Scalar elements = pool_.one();
  for (int position : loopsBehindFolded(tv, loops_)) {
    const IterDomain* id = tv->getLoopDomain()[static_cast<size_t>(position)];
    elements = pool_.mul(elements, symbols_.extent(id));
  }
  return elements;
}

const kir::Buffer* KernelBuilder::declareState(const TensorView* tv, const std::string& name,
                                               DataType dtype) {
  kir::Buffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  buffer.elements = statesOf(tv);
  buffer.read = buffer.written = true;
  const std::vector<bool> folded = foldedLoops(tv);
  const LoopClass* scope = nullptr;
  for (size_t i = 0; i < folded.size() && !folded[i]; ++i) {
    scope = &loops_.of(tv, static_cast<int>(i));
  }
  const kir::Buffer* made = kernel_.addBuffer(std::move(buffer));
  declared_in_[scope].push_back(made);
  return made;
}

void KernelBuilder::makeAccumulators(const Expr* expr) {
  const std::vector<TensorView*> outputs = tensorOutputs(expr);
  const auto isInRegisters = [&](const TensorView* tv) {
    return allocations_.of(tv).buffer->memory == MemoryType::Local;
  };
  const bool is_wide = outputs.front()->dtype() == DataType::Float &&
                       (addsPartialSums(expr, loops_) || isExactOfOneThread(expr, loops_));
  if (!is_wide && std::all_of(outputs.begin(), outputs.end(), isInRegisters)) {
    return;
  }
  // Parts of one state are kept alike, also those whose results stay in registers.
  for (const TensorView* tv : outputs) {
    const Allocation& allocation = allocations_.of(tv);
    const Scalar elements = statesOf(tv);
    if (!elements->isConstant() || elements->value > kMaxAccumulators) {
      if (options_.target != LowerTarget::Cpu && !isInRegisters(tv)) {
        userError("lower: ", tv, " is reduced straight into memory, in ", elements->toString(),
                  " sums at a time; that many do not fit registers: cacheBefore() it and inline "
                  "the reduction, or split the axis behind the reduction by a constant");
      }
      if (!isInRegisters(tv)) {
        accumulators_[tv] = nullptr;  // one task owns the memory
        predicates_.noteSummedInMemory(tv);
      }
      continue;
    }
    const DataType dtype = allocation.buffer->dtype;
    accumulators_[tv] =
        declareState(tv, text("acc", tv->name()),
                     is_wide && dtype == DataType::Float ? DataType(DataType::Double) : dtype);
  }
}

Scalar KernelBuilder::placeOfState(const Leaf& leaf, const TensorView* tv,
                                   const Places& places) const {
  Scalar index = pool_.zero();
  for (int position : loopsBehindFolded(tv, loops_)) {
    const LoopClass* loop = loopOf(leaf, tv, position);
    const IterDomain* id = tv->getLoopDomain()[static_cast<size_t>(position)];
    // The loop may be shared with a tensor that has more axes merged in.
    const bool is_own = exact_.mapped(loop->promoted, id);
    Scalar sum = is_own ? indexer_.iteration(loop) : places.index(id);
    if (id->isBroadcast() && !is_own) {
      sum = pool_.zero();
    }
    if (sum == nullptr) {
      userError("lower: the loops around ", tv, " do not lead to its axis ", id,
                ", behind those that it reduces or scans, which it shares with a tensor of more "
                "axes; inline that at a position before it");
    }
    index = pool_.add(pool_.mul(index, symbols_.extent(id)), sum);
  }
  return index;
}

std::vector<kir::Ref> KernelBuilder::state(Leaf& leaf, const Places& places) {
  std::vector<kir::Ref> result;
  for (const TensorView* tv : tensorOutputs(leaf.expr)) {
    auto accumulator = accumulators_.find(tv);
    if (accumulator == accumulators_.end() || accumulator->second == nullptr) {
      result.push_back(markWritten(markRead(indexer_.write(tv, places))));
      continue;
    }
    result.push_back({accumulator->second, placeOfState(leaf, tv, places), 1});
  }
  return result;
}

bool KernelBuilder::isSummedInMemory(const TensorView* tv) const {
  auto accumulator = accumulators_.find(tv);
  return accumulator != accumulators_.end() && accumulator->second == nullptr;
}

}  // namespace nvfuser
