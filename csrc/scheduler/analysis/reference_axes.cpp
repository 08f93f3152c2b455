#include <scheduler/analysis/reference_axes.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include <scheduler/analysis/carried_strides.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/indexed_reads.h>

namespace nvfuser {

ReferenceAxes::ReferenceAxes(const Fusion& fusion, const TensorView* reference)
    : reference_(reference),
      graph_(fusion, IdGraph::Mode::Permissive),
      axes_(TensorDomain::noReductions(reference->getLogicalDomain())) {}

IterDomain* ReferenceAxes::find(const TensorView* tv, size_t i) const {
  const int wanted = graph_.classOf(axes_[i]);
  for (IterDomain* id : tv->getLogicalDomain()) {
    if (!id->isBroadcast() && !id->isReduction() && wanted >= 0 && graph_.classOf(id) == wanted) {
      return id;
    }
  }
  return nullptr;
}

ReferenceAxes::Part ReferenceAxes::fastestPart(const TensorView* tv, size_t i,
                                               SchedulerRuntimeInfo& info) const {
  // Classes of axes, each with what divides the extents of all on the way to it.
  std::vector<std::pair<int, int64_t>> parts;
  const auto add = [&](const IterDomain* id, int64_t run) {
    const int part = graph_.classOf(id);
    const bool known =
        std::any_of(parts.begin(), parts.end(), [&](const auto& of) { return of.first == part; });
    if (part >= 0 && !known) {
      parts.emplace_back(part, std::gcd(run, info.extent(id)));
    }
  };
  add(axes_[i], 0);
  for (size_t next = 0; next < parts.size(); ++next) {
    const auto [part, run] = parts[next];
    for (IterDomain* axis : tv->getLogicalDomain()) {
      if (!axis->isBroadcast() && !axis->isReduction() && graph_.classOf(axis) == part) {
        return {axis, run};
      }
    }
    for (const Expr* made : graph_.definitions(part)) {
      if (made->isA<Merge>()) {
        add(made->as<Merge>()->inner(), run);
      } else if (made->isA<Split>() && graph_.classOf(made->as<Split>()->inner()) == part) {
        add(made->as<Split>()->in(), run);
      }
    }
    for (const Expr* use : graph_.uses(part)) {
      if (use->isA<Split>()) {
        add(use->as<Split>()->inner(), run);
      } else if (use->isA<Merge>() && graph_.classOf(use->as<Merge>()->inner()) == part) {
        add(use->as<Merge>()->out(), run);
      }
    }
  }
  return {};
}

bool ReferenceAxes::covers(const TensorView* tv) const {
  for (const IterDomain* id : tv->getLogicalDomain()) {
    if (id->isBroadcast() || id->isReduction()) {
      continue;
    }
    const int found = graph_.classOf(id);
    if (found < 0 || std::none_of(
                         axes_.begin(), axes_.end(),
                         [&](const IterDomain* axis) { return graph_.classOf(axis) == found; })) {
      return false;
    }
  }
  return true;
}

/// An axis of memory that has an extent, with its stride in elements.
struct ReferenceAxes::MemoryAxis {
  IterDomain* id;
  int64_t extent;
  int64_t stride;
  bool contiguous;  ///< declared to be, with the next inner one
};

std::vector<ReferenceAxes::MemoryAxis> ReferenceAxes::memoryAxes(const TensorView* tv,
                                                                 SchedulerRuntimeInfo& info) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const std::vector<int64_t> strides = isWindow(tv) ? windowStrides(tv, info) : info.strides(tv);
  const auto& memory = tv->getMaybeAllocationDomain();
  std::vector<MemoryAxis> axes;
  for (size_t i = 0; i < memory.size(); ++i) {
    const auto place = std::find(logical.begin(), logical.end(), memory[i]);
    if (place == logical.end() || memory[i]->isBroadcast()) {
      continue;
    }
    axes.push_back({memory[i], info.extent(memory[i]),
                    strides[static_cast<size_t>(place - logical.begin())],
                    tv->getContiguity()[i].value_or(false)});
  }
  return axes;
}

namespace {

/// Axes in the order of their strides, outermost first. Those without one keep their places.
std::vector<int64_t> orderOf(const std::vector<int64_t>& strides) {
  std::vector<int64_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  const auto stride = [&](int64_t axis) {  // a window may go backwards
    return std::abs(strides[static_cast<size_t>(axis)]);
  };
  std::vector<int64_t> moved;
  std::copy_if(order.begin(), order.end(), std::back_inserter(moved),
               [&](int64_t axis) { return stride(axis) != 0; });
  const std::vector<int64_t> places = moved;
  std::stable_sort(moved.begin(), moved.end(),
                   [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
  for (size_t k = 0; k < places.size(); ++k) {
    order[static_cast<size_t>(places[k])] = moved[k];
  }
  return order;
}

}  // namespace

std::vector<int64_t> ReferenceAxes::strides(const TensorView* tv,
                                            SchedulerRuntimeInfo& info) const {
  std::vector<int64_t> strides(axes_.size(), 0);
  const std::vector<MemoryAxis> memory = memoryAxes(tv, info);
  for (size_t i = 0; i < axes_.size(); ++i) {
    const IterDomain* id = find(tv, i);
    const auto axis =
        std::find_if(memory.begin(), memory.end(), [&](const MemoryAxis& m) { return m.id == id; });
    if (id != nullptr && axis != memory.end() && axis->extent != 1) {
      strides[i] = axis->stride;
    }
  }
  return strides;
}

std::vector<int64_t> ReferenceAxes::memoryOrder(const TensorView* tv,
                                                SchedulerRuntimeInfo& info) const {
  return orderOf(strides(tv, info));
}

std::vector<int64_t> ReferenceAxes::memoryOrderOfLargest(const std::vector<TensorView*>& tensors,
                                                         SchedulerRuntimeInfo& info) const {
  std::vector<int64_t> order(axes_.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t largest = -1;
  for (const TensorView* tv : tensors) {
    if (covers(tv) && info.bytes(tv) > largest) {
      order = memoryOrder(tv, info);
      largest = info.bytes(tv);
    }
  }
  for (const TensorView* tv : tensors) {
    if (covers(tv) || !tv->isFusionInput() || scheduler_tools::isReadAtIndex(tv) ||
        info.bytes(tv) <= largest) {
      continue;
    }
    if (const auto strides = carriedStrides(tv, reference_, info)) {
      order = orderOf(*strides);
      largest = info.bytes(tv);
    }
  }
  return order;
}

bool ReferenceAxes::isReshapedWhole(const TensorView* tv, const std::vector<int64_t>& inner,
                                    const std::vector<MemoryAxis>& memory,
                                    SchedulerRuntimeInfo& info) const {
  if (!tv->isFusionInput() || covers(tv)) {
    return false;
  }
  int64_t elements = 1;
  for (auto axis = memory.rbegin(); axis != memory.rend(); ++axis) {
    if (!axis->id->extent()->isConstScalar() || !axis->contiguous || axis->stride != elements) {
      return false;
    }
    elements *= axis->extent;
  }
  // Where the outer axes are one on either side: what several on both sides are divided into,
  // lowering does not put together again.
  size_t shared = 0;
  while (shared < memory.size() && shared < inner.size() &&
         find(tv, static_cast<size_t>(inner[inner.size() - 1 - shared])) ==
             memory[memory.size() - 1 - shared].id) {
    ++shared;
  }
  if (memory.size() - shared > 1 && inner.size() - shared > 1) {
    return false;
  }
  const auto strides = carriedStrides(tv, reference_, info);
  int64_t loop = 1;
  for (auto axis = inner.rbegin(); strides && axis != inner.rend(); ++axis) {
    const auto i = static_cast<size_t>(*axis);
    const int64_t extent = info.extent(axes_[i]);
    if (!axes_[i]->extent()->isConstScalar() || (extent != 1 && (*strides)[i] != loop)) {
      return false;
    }
    loop *= extent;
  }
  return strides.has_value() && loop == elements;
}

ReferenceAxes::Run ReferenceAxes::runOf(const TensorView* tv, const std::vector<int64_t>& inner,
                                        const std::vector<MemoryAxis>& memory,
                                        SchedulerRuntimeInfo& info) const {
  Run run;
  if (isReshapedWhole(tv, inner, memory, info)) {
    std::transform(memory.rbegin(), memory.rend(), std::back_inserter(run.extents),
                   [](const MemoryAxis& axis) { return axis.extent; });
    return run;
  }
  for (auto axis = inner.rbegin(); axis != inner.rend(); ++axis) {
    const auto i = static_cast<size_t>(*axis);
    if (axes_[i]->isBroadcast()) {
      continue;
    }
    // A size that merely happens to be 1 is a size like any other: the kernel divides by it.
    const IterDomain* id = find(tv, i);
    const Part part = id == nullptr ? fastestPart(tv, i, info) : Part();
    if (part.id != nullptr && !run.extents.empty()) {
      run.whole = false;  // a reshape of outer axes: what is left of the loop is divided
      break;
    }
    if (part.id != nullptr && !memory.empty() && memory.back().id == part.id &&
        memory.back().contiguous) {
      run.extents.push_back(part.run);
      run.whole = false;
      break;
    }
    if (id == nullptr) {
      run.lacks_axis = true;
      break;
    }
    const size_t used = run.extents.size();
    run.whole = used < memory.size() && memory[memory.size() - 1 - used].id == id &&
                memory[memory.size() - 1 - used].contiguous;
    if (!run.whole) {
      break;
    }
    run.extents.push_back(memory[memory.size() - 1 - used].extent);
    if (!axes_[i]->extent()->sameAs(id->extent())) {
      run.whole = false;  // equal by chance, or one is repeated: no division cancels
      break;
    }
  }
  return run;
}

bool ReferenceAxes::isRun(const TensorView* tv, const std::vector<int64_t>& inner,
                          SchedulerRuntimeInfo& info) const {
  const Run run = runOf(tv, inner, memoryAxes(tv, info), info);
  if (!run.lacks_axis) {
    return run.whole;
  }
  return run.extents.empty() && std::none_of(inner.begin(), inner.end(), [&](int64_t axis) {
           return find(tv, static_cast<size_t>(axis)) != nullptr;
         });
}

int64_t ReferenceAxes::vectorWidth(const TensorView* tv, const std::vector<int64_t>& inner,
                                   SchedulerRuntimeInfo& info, bool tail) const {
  const int64_t size = SchedulerRuntimeInfo::elementBytes(tv);
  const std::vector<MemoryAxis> memory = memoryAxes(tv, info);
  const auto [run, is_whole, lacks_axis] = runOf(tv, inner, memory, info);
  if (lacks_axis) {
    // Without some of the merged axes the tensor's own loop is another one, of which the shared
    // loops are no part: element by element.
    return run.empty() ? 0 : 1;
  }
  const bool are_constant = std::all_of(memory.begin(), memory.end(), [](const MemoryAxis& axis) {
    return axis.id->extent()->isConstScalar();
  });
  if (!is_whole && run.size() > 1 && !are_constant) {
    return 1;  // the index is divided by a product of extents, which lowering does not take apart
  }
  const int64_t together = std::accumulate(run.begin(), run.end(), int64_t{1}, std::multiplies<>());
  if (together == 0) {
    return 1;  // no elements: those of other tensors decide
  }
  int64_t width = 1;
  auto fits = [&](int64_t elements) {
    if (elements * size > kMaxVectorBytes || (together % elements != 0 && !(tail && is_whole)) ||
        info.alignment(tv) % (elements * size) != 0) {
      return false;
    }
    if (!is_whole && std::any_of(run.begin(), run.end(),
                                 [&](int64_t extent) { return extent % elements != 0; })) {
      return false;
    }
    for (size_t k = 0; k + run.size() < memory.size(); ++k) {
      if (memory[k].extent > 1 && memory[k].stride % elements != 0) {
        return false;
      }
    }
    return true;
  };
  while (fits(width * 2)) {
    width *= 2;
  }
  return width;
}

ReferenceAxes::Step ReferenceAxes::step(const TensorView* tv, const std::vector<int64_t>& inner,
                                        SchedulerRuntimeInfo& info) const {
  const std::vector<MemoryAxis> memory = memoryAxes(tv, info);
  Step step;
  for (auto axis = inner.rbegin(); axis != inner.rend(); ++axis) {
    const auto i = static_cast<size_t>(*axis);
    if (axes_[i]->isBroadcast()) {
      continue;
    }
    const IterDomain* id = find(tv, i);
    const auto own =
        std::find_if(memory.begin(), memory.end(), [&](const MemoryAxis& m) { return m.id == id; });
    if (id == nullptr || own == memory.end()) {
      break;
    }
    step.elements = step.span == 0 ? own->stride : step.elements;
    step.span = std::max(step.span, own->stride * own->extent);
  }
  return step;
}

std::vector<TensorView*> borderTensors(const Fusion& fusion) {
  std::vector<TensorView*> tensors;
  for (Val* input : fusion.inputs()) {
    if (input->isA<TensorView>() && !fusion.usesOf(input).empty()) {
      tensors.push_back(input->as<TensorView>());
    }
  }
  for (Val* output : fusion.outputs()) {
    if (output->isA<TensorView>() && !output->isFusionInput()) {
      tensors.push_back(output->as<TensorView>());
    }
  }
  return tensors;
}

}  // namespace nvfuser
