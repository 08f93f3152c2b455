#include <algorithm>
#include <map>
#include <numeric>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>

namespace nvfuser {

namespace {

std::vector<int64_t> identity(size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

}  // namespace

TensorView* permute(TensorView* x, const std::vector<int64_t>& new2old) {
  ops::requireTensor(x, "permute");
  const std::vector<IterDomain*> root = ops::freshAxes(x);
  if (new2old.size() != root.size()) {
    userError(
        "permute: Operator permute expects `dims` argument to have the same length as input! It "
        "has ",
        new2old.size(), " entries for the ", root.size(), " axes of ", x);
  }
  std::vector<int64_t> order;
  for (int64_t old_position : new2old) {
    const int64_t axis = wrapDim(old_position, static_cast<int64_t>(root.size()), "permute");
    if (std::find(order.begin(), order.end(), axis) != order.end()) {
      userError("permute: axis ", axis, " of ", x,
                " is named twice in the permutation; each axis is named once");
    }
    order.push_back(axis);
  }
  if (order == identity(root.size())) {
    return set(x);
  }

  std::vector<IterDomain*> logical;
  for (int64_t axis : order) {
    logical.push_back(root[static_cast<size_t>(axis)]);
  }
  TensorView* out = ops::newTensor(root, logical, x->dtype());
  IrBuilder::create<LoadStoreOp>(LoadStoreOpType::Set, out, x);
  return out;
}

TensorView* permute(TensorView* x, std::initializer_list<int64_t> new2old) {
  return permute(x, std::vector<int64_t>(new2old));
}

TensorView* permute(TensorView* x, const std::unordered_map<int64_t, int64_t>& old2new) {
  ops::requireTensor(x, "permute");
  const size_t rank = ops::axesOf(x).size();
  const auto n = static_cast<int64_t>(rank);
  std::vector<int64_t> new2old(rank, -1);
  std::vector<bool> placed(rank, false);
  // In order of the axes, so that the first complaint does not depend on the map's order.
  for (const auto& [from, to] : std::map<int64_t, int64_t>(old2new.begin(), old2new.end())) {
    const auto old_axis = static_cast<size_t>(wrapDim(from, n, "permute"));
    const auto new_axis = static_cast<size_t>(wrapDim(to, n, "permute"));
    if (placed[old_axis] || new2old[new_axis] >= 0) {
      userError("permute: axis ", from, " of ", x, " cannot go to position ", to,
                ": the axis or the position is named twice");
    }
    placed[old_axis] = true;
    new2old[new_axis] = static_cast<int64_t>(old_axis);
  }
  size_t next = 0;
  for (int64_t& slot : new2old) {
    if (slot >= 0) {
      continue;
    }
    while (placed[next]) {
      ++next;
    }
    slot = static_cast<int64_t>(next++);
  }
  return permute(x, new2old);
}

TensorView* permute(TensorView* x,
                    std::initializer_list<std::pair<const int64_t, int64_t>> old2new) {
  return permute(x, std::unordered_map<int64_t, int64_t>(old2new));
}

TensorView* transpose(TensorView* x, int64_t dim0, int64_t dim1) {
  ops::requireTensor(x, "transpose");
  std::vector<int64_t> order = identity(ops::axesOf(x).size());
  const auto n = static_cast<int64_t>(order.size());
  std::swap(order[static_cast<size_t>(wrapDim(dim0, n, "transpose"))],
            order[static_cast<size_t>(wrapDim(dim1, n, "transpose"))]);
  return permute(x, order);
}

TensorView* transpose(TensorView* x) {
  ops::requireTensor(x, "transpose");
  const size_t rank = ops::axesOf(x).size();
  if (rank > 2) {
    userError("transpose: ", x, " has ", rank,
              " axes; without positions only tensors of at most 2 axes can be transposed");
  }
  return rank == 2 ? transpose(x, 0, 1) : set(x);
}

}  // namespace nvfuser
