#include "view_form.h"

#include <algorithm>

namespace nvfuser::python {

namespace {

constexpr std::string_view kNames[] = {"same",      "reshape", "expand",     "permute",
                                       "transpose", "t",       "slice",      "select",
                                       "unsqueeze", "squeeze", "squeeze_all"};

bool wrap(int64_t axis, size_t rank, size_t& wrapped) {
  const auto count = static_cast<int64_t>(rank);
  axis += axis < 0 ? count : 0;
  wrapped = static_cast<size_t>(axis);
  return axis >= 0 && axis < count;
}

void append(ViewForm& view, int64_t size, int64_t stride) {
  view.sizes[view.rank] = size;
  view.strides[view.rank++] = stride;
}

/// Writes out the −1 of a reshape to `view`, as its sizes.
bool setSizes(std::span<const int64_t> sizes, int64_t elements, ViewForm& view) {
  int64_t known = 1;
  size_t open = kMostAxes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    view.sizes[axis] = sizes[axis];
    if (sizes[axis] == -1 && open == kMostAxes) {
      open = axis;
    } else if (sizes[axis] > 0) {
      known *= sizes[axis];
    } else {
      return false;
    }
  }
  if (open != kMostAxes) {
    view.sizes[open] = elements / known;
    known *= view.sizes[open];
  }
  view.rank = sizes.size();
  return known == elements;
}

/// Runs of axes of the source that lie in memory like one axis are cut into axes of the view, from
/// the innermost on.
bool reshape(const ViewForm& source, std::span<const int64_t> sizes, ViewForm& view) {
  if (!setSizes(sizes, source.numel(), view)) {
    return false;
  }
  size_t left = view.rank;  // axes of the view without a stride
  int64_t step = 1;
  size_t axis = source.rank;
  while (axis > 0) {
    int64_t run = source.sizes[axis - 1];
    step = source.strides[axis - 1];
    --axis;
    while (axis > 0 && (source.sizes[axis - 1] == 1 || source.strides[axis - 1] == run * step)) {
      run *= source.sizes[--axis];
    }
    int64_t taken = 1;
    while (left > 0 && (taken < run || view.sizes[left - 1] == 1)) {
      --left;
      view.strides[left] = taken * step;
      taken *= view.sizes[left];
    }
    if (taken != run) {
      return false;
    }
  }
  for (; left > 0; --left) {  // of a tensor without axes
    view.strides[left - 1] = 1;
  }
  return true;
}

bool expand(const ViewForm& source, std::span<const int64_t> sizes, ViewForm& view) {
  if (sizes.size() < source.rank) {
    return false;
  }
  const size_t added = sizes.size() - source.rank;
  view.rank = sizes.size();
  for (size_t axis = view.rank;
       axis-- > 0;) {  // a new axis has the stride that follows from the next
    const bool is_new = axis < added;
    const bool has_next = source.rank > 0 && axis + 1 < view.rank;
    const int64_t own = is_new ? 1 : source.sizes[axis - added];
    const int64_t step = !is_new    ? source.strides[axis - added]
                         : has_next ? view.sizes[axis + 1] * view.strides[axis + 1]
                                    : 0;
    const int64_t wanted = sizes[axis] == -1 && !is_new ? own : sizes[axis];
    if (wanted <= 0 || (wanted != own && own != 1)) {
      return false;
    }
    view.sizes[axis] = wanted;
    view.strides[axis] = wanted == own ? step : 0;
  }
  return true;
}

bool permute(const ViewForm& source, std::span<const int64_t> axes, ViewForm& view) {
  unsigned seen = 0;
  for (int64_t each : axes) {
    size_t axis = 0;
    if (!wrap(each, source.rank, axis)) {
      return false;
    }
    seen |= 1U << axis;
    append(view, source.sizes[axis], source.strides[axis]);
  }
  return axes.size() == source.rank && seen + 1 == 1U << source.rank;
}

bool transpose(const ViewForm& source, int64_t first, int64_t second, ViewForm& view) {
  size_t a = 0;
  size_t b = 0;
  view = source;
  if (source.rank == 0) {
    return first >= -1 && first <= 0 && second >= -1 && second <= 0;
  }
  if (!wrap(first, source.rank, a) || !wrap(second, source.rank, b)) {
    return false;
  }
  std::swap(view.sizes[a], view.sizes[b]);
  std::swap(view.strides[a], view.strides[b]);
  return true;
}

bool slice(const ViewForm& source, std::span<const int64_t> operands, ViewForm& view) {
  size_t axis = 0;
  const int64_t step = operands[3];
  if (!wrap(operands[0], source.rank, axis) || step <= 0) {
    return false;
  }
  const int64_t size = source.sizes[axis];
  const auto within = [size](int64_t place) {
    return std::clamp<int64_t>(place < 0 ? place + size : place, 0, size);
  };
  const int64_t first = within(operands[1]);
  const int64_t count = std::max<int64_t>(within(operands[2]) - first, 0);
  view = source;
  view.sizes[axis] = count / step + (count % step != 0 ? 1 : 0);
  view.offset += first * source.strides[axis];
  view.strides[axis] *= step;
  return count != 0;
}

bool select(const ViewForm& source, std::span<const int64_t> operands, ViewForm& view) {
  size_t axis = 0;
  if (!wrap(operands[0], source.rank, axis)) {
    return false;
  }
  const int64_t size = source.sizes[axis];
  const int64_t index = operands[1] < 0 ? operands[1] + size : operands[1];
  for (size_t i = 0; i < source.rank; ++i) {
    if (i != axis) {
      append(view, source.sizes[i], source.strides[i]);
    }
  }
  view.offset += index * source.strides[axis];
  return index >= 0 && index < size;
}

bool unsqueeze(const ViewForm& source, int64_t place, ViewForm& view) {
  size_t at = 0;
  if (!wrap(place, source.rank + 1, at)) {
    return false;
  }
  for (size_t axis = 0; axis <= source.rank; ++axis) {
    if (axis == at) {
      const bool is_last = axis == source.rank;
      append(view, 1, is_last ? 1 : source.sizes[axis] * source.strides[axis]);
    }
    if (axis < source.rank) {
      append(view, source.sizes[axis], source.strides[axis]);
    }
  }
  return true;
}

bool squeeze(const ViewForm& source, std::span<const int64_t> axes, bool all, ViewForm& view) {
  unsigned chosen = all ? ~0U : 0;
  for (int64_t each : axes) {
    size_t axis = 0;
    if (!wrap(each, std::max<size_t>(source.rank, 1), axis)) {
      return false;
    }
    chosen |= 1U << axis;
  }
  for (size_t axis = 0; axis < source.rank; ++axis) {
    if (source.sizes[axis] != 1 || (chosen >> axis & 1U) == 0) {
      append(view, source.sizes[axis], source.strides[axis]);
    }
  }
  return true;
}

}  // namespace

int64_t ViewForm::numel() const {
  int64_t count = 1;
  for (int64_t size : sizeSpan()) {
    count *= size;
  }
  return count;
}

std::string_view toString(ViewKind kind) { return kNames[static_cast<size_t>(kind)]; }

bool viewKindOf(std::string_view name, ViewKind& kind) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  kind = static_cast<ViewKind>(found - std::begin(kNames));
  return found != std::end(kNames);
}

bool takesOperands(ViewKind kind, size_t count) {
  switch (kind) {
    case ViewKind::Same:
    case ViewKind::Flipped:
    case ViewKind::SqueezeAll:
      return count == 0;
    case ViewKind::Unsqueeze:
      return count == 1;
    case ViewKind::Transpose:
    case ViewKind::Select:
      return count == 2;
    case ViewKind::Slice:
      return count == 4;
    case ViewKind::Reshape:
    case ViewKind::Expand:
    case ViewKind::Permute:
    case ViewKind::Squeeze:
      return true;
  }
  return false;
}

bool viewForm(ViewKind kind, const ViewForm& source, std::span<const int64_t> operands,
              ViewForm& view) {
  if (operands.size() > kMostAxes || source.numel() == 0) {
    return false;
  }
  view.rank = 0;
  view.offset = source.offset;
  switch (kind) {
    case ViewKind::Same:
      view = source;
      return true;
    case ViewKind::Reshape:
      return reshape(source, operands, view);
    case ViewKind::Expand:
      return expand(source, operands, view);
    case ViewKind::Permute:
      return permute(source, operands, view);
    case ViewKind::Transpose:
      return transpose(source, operands[0], operands[1], view);
    case ViewKind::Flipped:
      return source.rank < 2 ? (view = source, true)
                             : source.rank == 2 && transpose(source, 0, 1, view);
    case ViewKind::Slice:
      return slice(source, operands, view);
    case ViewKind::Select:
      return select(source, operands, view);
    case ViewKind::Unsqueeze:
      return source.rank < kMostAxes && unsqueeze(source, operands[0], view);
    case ViewKind::Squeeze:
      return squeeze(source, operands, false, view);
    case ViewKind::SqueezeAll:
      return squeeze(source, operands, true, view);
  }
  return false;
}

}  // namespace nvfuser::python
