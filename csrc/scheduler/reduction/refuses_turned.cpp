#include <scheduler/reduction/refuses_turned.h>

#include <algorithm>

#include <scheduler/analysis/windows.h>
#include <scheduler/indexed_reads.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kLarge = int64_t{1} << 20;  // bytes; caches hold the lines of smaller ones,
constexpr int64_t kLargeOfMany = 1 << 14;     // which threads still wait for, of so many elements:
constexpr int64_t kMany = int64_t{1} << 21;
constexpr int64_t kLeastOther = 8;  // elements along the other axis

/// The reference's axes in the order in which a window of an input goes along its memory.
std::vector<int64_t> orderOfWindow(const TensorView* window, const Problem& problem) {
  const auto& logical = window->getLogicalDomain();
  const std::vector<int64_t> strides = windowStrides(window, problem.info);
  std::vector<std::pair<int64_t, int64_t>> found;
  for (size_t i = 0; i < problem.axes.axes().size(); ++i) {
    const IterDomain* id = problem.axes.find(window, i);
    const auto place = std::find(logical.begin(), logical.end(), id) - logical.begin();
    if (id != nullptr && strides.at(static_cast<size_t>(place)) != 0) {
      found.emplace_back(-strides[static_cast<size_t>(place)], static_cast<int64_t>(i));
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<int64_t> order;
  for (const auto& [stride, axis] : found) {
    order.push_back(axis);
  }
  return order;
}

/// Behind a reshape: the innermost loop goes along another axis than memory does.
bool isTurnedBehindReshape(const TensorView* tv, const Problem& problem) {
  SchedulerRuntimeInfo& info = problem.info;
  const auto& memory = tv->getMaybeAllocationDomain();
  const auto last = std::find_if(memory.rbegin(), memory.rend(), [&](const IterDomain* id) {
    return !id->isBroadcast() && !id->isReduction() && info.extent(id) > 1;
  });
  if (last == memory.rend() || info.extent(*last) < kLeastOther || problem.inner.empty()) {
    return false;
  }
  const auto loop = static_cast<size_t>(problem.inner.back());
  const ReferenceAxes::Part along = problem.axes.fastestPart(tv, loop, info);
  return along.id != nullptr && along.id != *last && info.extent(along.id) > 1;
}

/// Whether neighbouring threads read one element of a tensor that has these axes, and threads
/// behind one another its neighbours.
bool isSameAlongInner(const std::vector<int64_t>& axes, const Problem& problem) {
  return !problem.inner.empty() &&
         std::none_of(problem.inner.begin(), problem.inner.end(), [&](int64_t inner) {
           return std::find(axes.begin(), axes.end(), inner) != axes.end();
         });
}

/// `order`: the reference's axes along the tensor's memory. `is_small`: what neighbouring threads
/// read of it at one place costs nothing.
bool isTurned(const TensorView* tv, std::vector<int64_t> order, bool is_small,
              const Problem& problem) {
  const auto& logical = problem.form.signature.reference()->getLogicalDomain();
  const auto isReduced = [&](int64_t axis) {
    return logical[static_cast<size_t>(axis)]->isReduction();
  };
  std::erase_if(order, [&](int64_t axis) {
    const IterDomain* id = problem.axes.find(tv, static_cast<size_t>(axis));
    return id == nullptr || problem.info.extent(id) == 1;
  });
  const auto of_rows = std::count_if(order.begin(), order.end(), isReduced);
  if (of_rows == 0 || isSameAlongInner(order, problem)) {
    return false;
  }
  const IterDomain* innermost = problem.axes.find(tv, static_cast<size_t>(order.back()));
  if (problem.info.extent(innermost) < kLeastOther) {
    return false;
  }
  const bool is_total = of_rows == static_cast<std::ptrdiff_t>(order.size());
  if (!is_small && !is_total && isReduced(order.back()) != problem.fastest_dim) {
    return true;
  }
  return !problem.inner.empty() && order.back() != problem.inner.back() &&
         std::find(order.begin(), order.end(), problem.inner.back()) != order.end();
}

/// Whether neighbours along the innermost loop lie as near as any: those of windows that overlap
/// do along two axes.
bool liesAlongInner(const TensorView* tv, const Problem& problem) {
  const std::vector<int64_t> strides = problem.axes.strides(tv, problem.info);
  const int64_t own =
      problem.inner.empty() ? 0 : strides[static_cast<size_t>(problem.inner.back())];
  return own > 0 && std::none_of(strides.begin(), strides.end(),
                                 [&](int64_t stride) { return 0 < stride && stride < own; });
}

}  // namespace

std::optional<Refusal> refusesTurned(const Problem& problem) {
  if (problem.info.isHost()) {
    return std::nullopt;
  }
  for (const TensorView* tv : withWindows(borderTensors(problem.fusion))) {
    if (!tv->isFusionInput() && tv->definition()->isA<SelectOp>()) {
      continue;
    }
    const bool is_window = isWindow(tv);
    const TensorView* source = is_window ? tv->definition()->input(0)->as<TensorView>() : tv;
    const bool is_small = problem.info.bytes(source) < kLarge;
    const bool is_of_many = problem.kept * problem.reduced >= kMany;
    if (is_small && (!is_of_many || problem.info.bytes(source) < kLargeOfMany)) {
      continue;
    }
    bool is_turned = false;
    if (is_window) {
      is_turned = isTurned(tv, orderOfWindow(tv, problem), is_small, problem);
    } else if (problem.axes.covers(tv)) {
      is_turned = !liesAlongInner(tv, problem) &&
                  isTurned(tv, problem.axes.memoryOrder(tv, problem.info), is_small, problem);
    } else if (!is_small && !scheduler_tools::isReadAtIndex(tv)) {
      is_turned = isTurnedBehindReshape(tv, problem);
    }
    if (is_turned) {
      return Refusal{text(source, " does not lie in memory along the rows as others do")};
    }
  }
  return std::nullopt;
}

}  // namespace nvfuser::reduction
