#include <scheduler/analysis/cache_lines.h>

#include <algorithm>
#include <map>
#include <set>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/indexed_reads.h>
#include <support/round.h>

namespace nvfuser {

namespace {

constexpr int64_t kLineBytes = 128;
constexpr int64_t kWarp = 32;
/// What the caches of all multiprocessors hand out while the memory hands out a byte: 132 lines a
/// clock of 1.7 GHz are 10 beside an H100's 3 TB/s, and 6 beside an H200's 4.8.
constexpr double kCacheBytes = 7;
/// What they may be behind before each thread has a single element, and the place of each read of
/// it for itself.
constexpr double kCacheBytesOfOne = 12;

/// Bytes of lines that a warp touches for each of its elements, if a thread has `elements` side by
/// side.
double touched(const LineAccess& access, const ReferenceAxes::Step& step, int64_t elements) {
  if (access.width == 0 && step.elements == 0) {
    return 0;
  }
  const int64_t size = SchedulerRuntimeInfo::elementBytes(access.tensor);
  const int64_t width = std::max<int64_t>(access.width, 1);
  const int64_t apart =
      std::max<int64_t>(elements / width, 1) * std::max<int64_t>(step.elements, 1) * size;
  // (What repeats within a warp is in few lines, wherever its elements lie.)
  const int64_t span = ceilDiv(std::max<int64_t>(step.span, 1) * size, kLineBytes) * kLineBytes;
  const int64_t bytes = std::min(kWarp * std::min(apart, kLineBytes), span);
  const double read_once =
      static_cast<double>(elements + access.spread) / static_cast<double>(access.beside * elements);
  return access.times * std::min(read_once, 1.0) * static_cast<double>(bytes) /
         static_cast<double>(kWarp);
}

/// At how many places an input is selected.
size_t placesOf(const TensorView* input) {
  std::set<std::pair<int64_t, std::string>> places;
  for (const Expr* use : input->fusion()->usesOf(input)) {
    if (use->isA<SelectOp>()) {
      places.emplace(use->as<SelectOp>()->dim(), use->input(1)->toInlineString());
    }
  }
  return places.size();
}

/// The part of a window's elements that lie in its input; for the others nothing is read.
double partInInput(const TensorView* window, SchedulerRuntimeInfo& info) {
  const auto* input = window->definition()->input(0)->as<TensorView>();
  const std::vector<IterDomain*> from = TensorDomain::noReductions(input->getLogicalDomain());
  const std::vector<IterDomain*>& axes = window->getLogicalDomain();
  double part = 1;
  for (size_t i = 0; i < axes.size() && i < from.size(); ++i) {
    const auto whole = static_cast<double>(std::max<int64_t>(info.extent(axes[i]), 1));
    part *= std::min(1.0, static_cast<double>(info.extent(from[i])) / whole);
  }
  return part;
}

/// Slices whose elements along the innermost axis are those of the same row of an input.
void noteSlicesBeside(const ReferenceAxes& axes, int64_t innermost, SchedulerRuntimeInfo& info,
                      std::vector<LineAccess>& accesses) {
  std::map<std::pair<const Val*, std::vector<int64_t>>, std::map<LineAccess*, int64_t>> rows;
  for (LineAccess& access : accesses) {
    const auto* slice = dynamic_cast<const SliceOp*>(access.tensor->definition());
    const IterDomain* along = axes.find(access.tensor, static_cast<size_t>(innermost));
    if (slice == nullptr || along == nullptr || access.width != 1) {
      continue;
    }
    const std::vector<IterDomain*>& logical = access.tensor->getLogicalDomain();
    int64_t at = 0;
    std::vector<int64_t> starts;
    for (size_t i = 0; i < logical.size(); ++i) {
      const int64_t start = info.evaluate(slice->start(i));
      const int64_t step = info.evaluate(slice->step(i));
      at = logical[i] == along ? start : at;
      starts.push_back(logical[i] == along ? 0 : start);
      starts.push_back(step);
    }
    rows[{slice->in(), std::move(starts)}].emplace(&access, at);
  }
  for (const auto& [row, slices] : rows) {
    const auto [first, last] =
        std::minmax_element(slices.begin(), slices.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [access, at] : slices) {
      access->beside = static_cast<int64_t>(slices.size());
      access->spread = last->second - first->second;
    }
  }
}

}  // namespace

std::vector<LineAccess> lineAccesses(const ReferenceAxes& axes,
                                     const std::vector<TensorView*>& tensors,
                                     const std::vector<TensorView*>& windows,
                                     const std::vector<int64_t>& inner,
                                     SchedulerRuntimeInfo& info) {
  std::vector<LineAccess> accesses;
  for (const TensorView* tv : tensors) {
    const size_t places = placesOf(tv);
    if (places > 0 || !scheduler_tools::isReadAtIndex(tv)) {
      const int64_t width = axes.vectorWidth(tv, inner, info, true);
      accesses.push_back({tv, width, static_cast<double>(std::max<size_t>(places, 1))});
    }
  }
  for (const TensorView* window : windows) {
    const IterDomain* along =
        inner.size() == 1 ? axes.find(window, static_cast<size_t>(inner.back())) : nullptr;
    const int64_t width = along == nullptr ? 1 : windowWidth(window, along, info);
    accesses.push_back({window, width, partInInput(window, info)});
  }
  if (!inner.empty()) {
    noteSlicesBeside(axes, inner.back(), info, accesses);
  }
  return accesses;
}

int64_t elementsOfLines(const std::vector<LineAccess>& accesses, const ReferenceAxes& axes,
                        const std::vector<int64_t>& inner, int64_t total, int64_t elements,
                        SchedulerRuntimeInfo& info) {
  double moved = 0;  // by the memory, for all elements
  std::set<const TensorView*> seen;
  for (const LineAccess& access : accesses) {
    const bool is_border = access.tensor->isFusionInput() || access.tensor->isFusionOutput();
    const TensorView* tv =
        is_border ? access.tensor : access.tensor->definition()->input(0)->as<TensorView>();
    moved += seen.insert(tv).second ? static_cast<double>(info.bytes(tv)) : 0;
  }
  const auto all = [&](int64_t count) {
    double bytes = 0;
    for (const LineAccess& access : accesses) {
      bytes += touched(access, axes.step(access.tensor, inner, info), count);
    }
    return bytes * static_cast<double>(total);
  };
  const auto isBehind = [&](int64_t count) {
    return all(count) > (count > 2 ? kCacheBytes : kCacheBytesOfOne) * moved;
  };
  while (elements > 1 && isBehind(elements) && all(elements / 2) < all(elements)) {
    elements /= 2;
  }
  return elements;
}

}  // namespace nvfuser
