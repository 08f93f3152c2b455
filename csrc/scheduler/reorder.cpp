/// reorder: the same axes in another order. A map names where some axes go; the others keep their
/// order in the places that are left. A permutation p is the map {i → p[i]} over all axes.
#include <map>

#include <scheduler/schedule_error.h>

namespace nvfuser {

TensorView* TensorView::reorder(const std::unordered_map<int64_t, int64_t>& old2new) {
  // Ordered, so that of several mistakes the same one is reported each time.
  const std::map<int64_t, int64_t> requested(old2new.begin(), old2new.end());
  const auto n = static_cast<size_t>(nDims());
  std::vector<IterDomain*> placed(n, nullptr);
  std::vector<bool> moved(n, false);
  for (auto [from, to] : requested) {
    const auto old_axis = static_cast<size_t>(requireAxis("reorder", this, from));
    const auto new_axis = static_cast<size_t>(requireAxis("reorder", this, to));
    if (moved[old_axis]) {
      scheduleError("reorder", this,
                    text(axisText(this, static_cast<int64_t>(old_axis)), " is moved twice"),
                    "name each axis once; negative axes count from the end");
    }
    if (placed[new_axis] != nullptr) {
      scheduleError("reorder", this,
                    text(axisText(this, static_cast<int64_t>(old_axis)), " and ", placed[new_axis],
                         " are both moved to position ", new_axis),
                    "give each axis a position of its own");
    }
    moved[old_axis] = true;
    placed[new_axis] = getLoopDomain()[old_axis];
  }
  size_t next = 0;
  for (IterDomain*& slot : placed) {
    if (slot != nullptr) {
      continue;
    }
    while (moved[next]) {
      ++next;
    }
    slot = getLoopDomain()[next++];
  }
  for (size_t i = 0; i < n; ++i) {
    if (placed[i] != getLoopDomain()[i]) {
      requireNotShared("reorder", this, static_cast<int64_t>(i));
      break;  // the first axis that changes is the outermost
    }
  }
  setLoopDomain(std::move(placed));
  return this;
}

TensorView* TensorView::reorder(std::initializer_list<std::pair<const int64_t, int64_t>> old2new) {
  const std::unordered_map<int64_t, int64_t> map(old2new);
  if (map.size() != old2new.size()) {
    scheduleError("reorder", this, text("an axis of T", name(), " is moved twice"),
                  "name each axis once");
  }
  return reorder(map);
}

TensorView* TensorView::reorder(const std::vector<int64_t>& permutation) {
  if (static_cast<int64_t>(permutation.size()) != nDims()) {
    scheduleError("reorder", this,
                  text("the permutation has ", permutation.size(), " entries for the ", nDims(),
                       nDims() == 1 ? " axis" : " axes", " of T", name()),
                  "give a position for each axis, or a map {{from, to}, …} of some");
  }
  std::unordered_map<int64_t, int64_t> old2new;
  for (size_t i = 0; i < permutation.size(); ++i) {
    old2new[static_cast<int64_t>(i)] = permutation[i];
  }
  return reorder(old2new);
}

TensorView* TensorView::reorder(std::initializer_list<int64_t> permutation) {
  return reorder(std::vector<int64_t>(permutation));
}

}  // namespace nvfuser
