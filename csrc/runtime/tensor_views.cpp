/// Views of a tensor: other sizes and strides over the same storage.
#include <algorithm>

#include <evaluator/strided_loop.h>
#include <runtime/tensor.h>
#include <runtime/tensor_layout.h>

namespace nvfuser {

Tensor Tensor::permute(const std::vector<int64_t>& new2old) const {
  if (static_cast<int64_t>(new2old.size()) != dim()) {
    userError("permute: ", new2old.size(), " axes were given for a tensor of rank ", dim());
  }
  Tensor result = *this;
  std::vector<bool> used(sizes_.size(), false);
  for (size_t axis = 0; axis < new2old.size(); ++axis) {
    const size_t old = wrapAxis(new2old[axis], "permute");
    if (used[old]) {
      userError("permute: axis ", new2old[axis], " stands twice in [", join(new2old, ", "), "]");
    }
    used[old] = true;
    result.sizes_[axis] = sizes_[old];
    result.strides_[axis] = strides_[old];
  }
  return result;
}

Tensor Tensor::transpose(int64_t axis0, int64_t axis1) const {
  Tensor result = *this;
  const size_t a = wrapAxis(axis0, "transpose");
  const size_t b = wrapAxis(axis1, "transpose");
  std::swap(result.sizes_[a], result.sizes_[b]);
  std::swap(result.strides_[a], result.strides_[b]);
  return result;
}

Tensor Tensor::slice(int64_t axis, int64_t start, int64_t stop, int64_t step) const {
  const size_t at = wrapAxis(axis, "slice");
  if (step < 1) {
    userError("slice: the step must be positive, got ", step);
  }
  auto bound = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + sizes_[at] : index, 0, sizes_[at]);
  };
  Tensor result = *this;
  const int64_t first = bound(start);
  const int64_t last = std::max(first, bound(stop));
  result.offset_ += first * strides_[at];
  result.sizes_[at] = (last - first + step - 1) / step;
  result.strides_[at] *= step;
  return result;
}

Tensor Tensor::select(int64_t axis, int64_t index) const {
  const size_t at = wrapAxis(axis, "select");
  const int64_t wrapped = index < 0 ? index + sizes_[at] : index;
  if (wrapped < 0 || wrapped >= sizes_[at]) {
    userError("select: index ", index, " is out of range for axis ", axis, " of extent ",
              sizes_[at]);
  }
  Tensor result = *this;
  result.offset_ += wrapped * strides_[at];
  result.sizes_.erase(result.sizes_.begin() + static_cast<std::ptrdiff_t>(at));
  result.strides_.erase(result.strides_.begin() + static_cast<std::ptrdiff_t>(at));
  return result;
}

Tensor Tensor::unsqueeze(int64_t axis) const {
  const int64_t at = axis < 0 ? axis + dim() + 1 : axis;
  if (at < 0 || at > dim()) {
    userError("unsqueeze: axis ", axis, " is out of range for a tensor of rank ", dim());
  }
  Tensor result = *this;
  const int64_t stride =
      at < dim() ? sizes_[static_cast<size_t>(at)] * strides_[static_cast<size_t>(at)] : 1;
  result.sizes_.insert(result.sizes_.begin() + at, 1);
  result.strides_.insert(result.strides_.begin() + at, stride);
  return result;
}

Tensor Tensor::expand(const std::vector<int64_t>& sizes) const {
  if (sizes.size() < sizes_.size()) {
    userError("expand: [", join(sizes, ", "), "] has fewer axes than ", *this);
  }
  Tensor result = *this;
  const auto added = static_cast<std::ptrdiff_t>(sizes.size() - sizes_.size());
  result.sizes_.insert(result.sizes_.begin(), static_cast<size_t>(added), 1);
  result.strides_.insert(result.strides_.begin(), static_cast<size_t>(added), 0);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == -1 || sizes[axis] == result.sizes_[axis]) {
      continue;
    }
    if (result.sizes_[axis] != 1) {
      userError("expand: axis ", axis, " of extent ", result.sizes_[axis], " cannot become ",
                sizes[axis], "; only axes of extent 1 expand");
    }
    result.sizes_[axis] = sizes[axis];
    result.strides_[axis] = 0;
  }
  return result;
}

Tensor Tensor::view(std::vector<int64_t> sizes) const {
  if (!isContiguous()) {
    userError("view: ", *this, " is not contiguous; take contiguous() first");
  }
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else {
      known *= size;
    }
  }
  if (open != nullptr && known > 0) {
    *open = numel() / known;
  }
  if (elementCount(sizes) != numel() ||
      std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    userError("view: ", *this, " has ", numel(), " elements and cannot have the sizes [",
              join(sizes, ", "), "]");
  }
  Tensor result = *this;
  result.strides_ = rowMajorStrides(sizes);
  result.sizes_ = std::move(sizes);
  return result;
}

Tensor Tensor::asStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                         int64_t offset) const {
  check(sizes.size() == strides.size(), "sizes and strides differ in number");
  Tensor result = *this;
  result.sizes_ = std::move(sizes);
  result.strides_ = std::move(strides);
  result.offset_ = offset;
  return result;
}

}  // namespace nvfuser
