#include <multidevice/reshard.h>

#include <algorithm>
#include <numeric>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <ops/communication.h>
#include <ops/indexing.h>

namespace nvfuser::multidevice {

namespace {

std::vector<Val*> sizesOf(const TensorView* tv) {
  std::vector<Val*> sizes;
  for (const IterDomain* id : ops::axesOf(tv)) {
    sizes.push_back(ops::extentOf(id));
  }
  return sizes;
}

/// The axis at `from` is at `to` afterwards; the others keep their order.
TensorView* withAxisMoved(TensorView* tv, size_t from, size_t to) {
  std::vector<int64_t> order(ops::axesOf(tv).size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t axis = order[from];
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), axis);
  return permute(tv, order);
}

TensorView* split(TensorView* tv, size_t axis, int64_t parts) {
  std::vector<Val*> sizes = sizesOf(tv);
  // The size of a part is what is left: then the axis is split, and no other size has to be equal.
  sizes[axis] = ops::indexConstant(-1);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), ops::indexConstant(parts));
  return reshape(tv, sizes);
}

}  // namespace

TensorView* Resharder::withPartsInFront(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  return withAxisMoved(split(tv, axis, mesh_.size(mesh_axis)), axis, 0);
}

TensorView* Resharder::joined(TensorView* parts, size_t axis) {
  TensorView* beside = withAxisMoved(parts, 0, axis);
  std::vector<Val*> sizes = sizesOf(beside);
  sizes[axis] = SimplifyingIrBuilder::mulExpr(sizes[axis], sizes[axis + 1]);
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  return reshape(beside, sizes);
}

TensorView* Resharder::gathered(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  return joined(communicate(CommunicationType::Allgather, tv, mesh_, mesh_axis), axis);
}

TensorView* Resharder::ownPart(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  TensorView* parts = split(tv, axis, mesh_.size(mesh_axis));
  return select(parts, static_cast<int64_t>(axis), coordinate_(mesh_axis));
}

TensorView* Resharder::moved(TensorView* tv, size_t from, size_t to, ParallelType mesh_axis) {
  TensorView* parts = withPartsInFront(tv, to, mesh_axis);
  return joined(communicate(CommunicationType::Alltoall, parts, mesh_, mesh_axis), from);
}

TensorView* Resharder::reshard(TensorView* tv, Sharding from, const Sharding& to,
                               const std::string& why) {
  // What is cut no more comes first: an axis may be cut by another axis of the mesh then.
  for (const ParallelType mesh_axis : kMeshAxes) {
    if (from[mesh_axis] && !to[mesh_axis]) {
      note("allgather", tv, mesh_axis, why);
      tv = gathered(tv, *from[mesh_axis], mesh_axis);
      from[mesh_axis] = std::nullopt;
    }
  }
  for (const ParallelType mesh_axis : kMeshAxes) {
    if (from[mesh_axis] == to[mesh_axis]) {
      continue;
    }
    if (from[mesh_axis]) {
      note("alltoall", tv, mesh_axis, why);
      tv = moved(tv, *from[mesh_axis], *to[mesh_axis], mesh_axis);
    } else {
      tv = ownPart(tv, *to[mesh_axis], mesh_axis);
    }
    from[mesh_axis] = to[mesh_axis];
  }
  return tv;
}

TensorView* Resharder::combine(TensorView* tv, ParallelType mesh_axis, BinaryOpType by,
                               std::optional<size_t> axis, const std::string& why) {
  if (axis) {
    note("reduce_scatter", tv, mesh_axis, why);
    return communicate(CommunicationType::ReduceScatter, withPartsInFront(tv, *axis, mesh_axis),
                       mesh_, mesh_axis, by);
  }
  note("allreduce", tv, mesh_axis, why);
  return communicate(CommunicationType::Allreduce, tv, mesh_, mesh_axis, by);
}

void Resharder::note(std::string_view what, const TensorView* tv, ParallelType mesh_axis,
                     const std::string& why) {
  notes_.push_back(
      text(what, " of ", ops::describe(tv), " along ", parallelTypeName(mesh_axis), ": ", why));
}

}  // namespace nvfuser::multidevice
