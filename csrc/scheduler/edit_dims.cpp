#include <scheduler/edit_dims.h>

#include <algorithm>
#include <functional>

#include <scheduler/schedule_error.h>

namespace nvfuser::scheduler_utils {

void splitDims(TensorView* tv, std::vector<std::pair<int64_t, int64_t>> to_split,
               std::vector<int64_t>& to_update) {
  for (auto& [axis, factor] : to_split) {
    axis = requireAxis("splitDims", tv, axis);
  }
  for (int64_t& axis : to_update) {
    axis = requireAxis("splitDims", tv, axis);
  }
  // From the innermost, so that positions further out stay valid.
  std::sort(to_split.begin(), to_split.end(), std::greater<>());
  for (auto [axis, factor] : to_split) {
    tv->split(axis, factor);
    for (int64_t& other : to_update) {
      other += other > axis ? 1 : 0;
    }
  }
}

std::optional<int64_t> mergeDims(TensorView* tv, std::vector<int64_t> to_merge,
                                 std::vector<int64_t>& to_update) {
  if (to_merge.empty()) {
    return std::nullopt;
  }
  for (int64_t& axis : to_merge) {
    axis = requireAxis("mergeDims", tv, axis);
  }
  for (int64_t& axis : to_update) {
    axis = requireAxis("mergeDims", tv, axis);
  }
  std::sort(to_merge.begin(), to_merge.end());
  const int64_t outermost = to_merge.front();
  int64_t inner = outermost;
  for (auto axis = to_merge.rbegin(); axis != to_merge.rend(); ++axis) {
    if (axis == to_merge.rbegin()) {
      inner = *axis;
      continue;
    }
    tv->merge(*axis, inner);
    for (int64_t& other : to_update) {
      if (other == inner) {
        other = *axis;
      } else if (other > inner) {
        --other;
      }
    }
    inner = *axis;
  }
  return outermost;
}

std::pair<bool, bool> canonicalizeReduction(Fusion*, TensorView* tv, bool schedule_3d) {
  std::vector<int64_t> iterated;
  std::vector<int64_t> reduced;
  for (int64_t i = 0; i < tv->nDims(); ++i) {
    (tv->axis(i)->isReduction() ? reduced : iterated).push_back(i);
  }
  const bool has_iterated = !iterated.empty();
  const bool has_reduced = !reduced.empty();
  // 3-D: the innermost run of reductions stays by itself.
  std::vector<int64_t> inner;
  if (schedule_3d) {
    while (!reduced.empty() && (inner.empty() || reduced.back() == inner.back() - 1)) {
      inner.push_back(reduced.back());
      reduced.pop_back();
    }
    std::reverse(inner.begin(), inner.end());
  }
  std::vector<int64_t> order = iterated;
  order.insert(order.end(), reduced.begin(), reduced.end());
  order.insert(order.end(), inner.begin(), inner.end());
  std::vector<int64_t> old2new(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    old2new[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  if (!old2new.empty()) {
    tv->reorder(old2new);
  }
  auto mergeRun = [&](size_t from, size_t count) {
    for (size_t i = 1; i < count; ++i) {
      tv->merge(static_cast<int64_t>(from));
    }
  };
  mergeRun(iterated.size() + reduced.size(), inner.size());
  mergeRun(iterated.size(), reduced.size());
  mergeRun(0, iterated.size());
  return {has_iterated, has_reduced};
}

}  // namespace nvfuser::scheduler_utils
