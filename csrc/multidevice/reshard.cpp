#include <multidevice/reshard.h>

#include <algorithm>
#include <numeric>

#include <ir/builder.h>
#include <multidevice/way_of_resharding.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/communication.h>
#include <ops/indexing.h>
#include <ops/reshape_plan.h>

namespace nvfuser::multidevice {

namespace {

/// The axis at `from` is at `to` afterwards; the others keep their order.
TensorView* withAxisMoved(TensorView* tv, size_t from, size_t to) {
  if (from == to) {
    return tv;  // a permutation that moves nothing is a copy
  }
  std::vector<int64_t> order(ops::axesOf(tv).size());
  std::iota(order.begin(), order.end(), 0);
  const int64_t axis = order[from];
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), axis);
  return permute(tv, order);
}

/// Axes in groups of one, but for `axis`, which stands for `old_axes` and becomes `new_axes`.
std::vector<ops::AxisGroup> groupsAround(size_t rank, size_t axis, size_t old_axes,
                                         size_t new_axes) {
  std::vector<ops::AxisGroup> groups;
  size_t from = 0, to = 0;
  while (from < rank) {
    const bool is_axis = from == axis;
    groups.push_back({from, from + (is_axis ? old_axes : 1), to, to + (is_axis ? new_axes : 1)});
    from = groups.back().old_end;
    to = groups.back().new_end;
  }
  return groups;
}

/// Axis `axis` of `tv` as [parts, what is left].
TensorView* split(TensorView* tv, size_t axis, int64_t parts) {
  const size_t rank = ops::axesOf(tv).size();
  std::vector<Val*> sizes(rank + 1, nullptr);
  sizes[axis] = ops::indexConstant(parts);
  return ops::regroup(tv, groupsAround(rank, axis, 1, 2), sizes);
}

/// Its rows are computed one part after the other, each on its way to its device while the next
/// ones are computed (runtime/run_exchanges.h): sums of parts are then left to a kernel.
bool isMatrixProduct(const TensorView* tv) {
  return tv->definition() != nullptr && tv->definition()->isOneOf<MatmulOp, LinearOp>() &&
         ops::axesOf(tv).size() == 2;
}

}  // namespace

TensorView* Resharder::withPartsInFront(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  requireEqualParts(tv, axis, mesh_axis);
  return withAxisMoved(split(tv, axis, mesh_.size(mesh_axis)), axis, 0);
}

/// Where the size is known only to the call, that call is told.
void Resharder::requireEqualParts(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  Val* extent = ops::sizesOf(tv)[axis];
  const int64_t devices = mesh_.size(mesh_axis);
  const auto fails = [&](const auto& has) {
    return text("multidevice: axis ", axis, " of ", *tv, has, devices,
                " devices cannot share equally; pad it, or cut another axis");
  };
  if (const auto size = ops::constantOf(extent)) {
    if (*size % devices != 0) {
      userError(fails(text(" has ", *size, " elements, which ")));
    }
    return;
  }
  Val* part = SimplifyingIrBuilder::ceilDivExpr(extent, ops::indexConstant(devices));
  Val* whole = SimplifyingIrBuilder::mulExpr(part, ops::indexConstant(devices));
  if (!whole->sameAs(extent)) {
    tv->fusion()->requireSizes({SizeRequirement::Kind::SameCount, extent, whole,
                                fails(" has a number of elements that ")});
  }
}

TensorView* Resharder::joined(TensorView* parts, size_t axis) {
  TensorView* beside = withAxisMoved(parts, 0, axis);
  const size_t rank = ops::axesOf(beside).size();
  return ops::regroup(beside, groupsAround(rank, axis, 2, 1), std::vector<Val*>(rank - 1, nullptr));
}

TensorView* Resharder::exchanged(CommunicationType type, TensorView* tv, ParallelType mesh_axis,
                                 BinaryOpType by, const TensorView* of, const std::string& why) {
  last_ = communicate(type, tv, mesh_, mesh_axis, by, last_);
  asked_.push_back({last_, ops::describe(of), why});
  return last_;
}

/// Each part has the one element that stands for all of the axis.
TensorView* Resharder::stretched(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  std::vector<Val*> sizes = ops::sizesOf(tv);
  sizes[axis] =
      SimplifyingIrBuilder::mulExpr(sizes[axis], ops::indexConstant(mesh_.size(mesh_axis)));
  std::vector<bool> flags(sizes.size(), false);
  flags[axis] = true;
  return expand(broadcast(squeeze(tv, flags, true), flags), sizes);
}

TensorView* Resharder::gathered(TensorView* tv, size_t axis, ParallelType mesh_axis,
                                const std::string& why) {
  return joined(exchanged(CommunicationType::Allgather, tv, mesh_axis, BinaryOpType::Add, tv, why),
                axis);
}

TensorView* Resharder::ownPart(TensorView* tv, size_t axis, ParallelType mesh_axis) {
  requireEqualParts(tv, axis, mesh_axis);
  TensorView* parts = split(tv, axis, mesh_.size(mesh_axis));
  return select(parts, static_cast<int64_t>(axis), coordinate_(mesh_axis));
}

TensorView* Resharder::moved(TensorView* tv, size_t from, size_t to, ParallelType mesh_axis,
                             const std::string& why) {
  TensorView* parts = withPartsInFront(tv, to, mesh_axis);
  return joined(
      exchanged(CommunicationType::Alltoall, parts, mesh_axis, BinaryOpType::Add, tv, why), from);
}

TensorView* Resharder::reshard(TensorView* tv, Sharding from, const Sharding& to,
                               const std::string& why) {
  for (const auto& [mesh_axis, axis] : cheapestWay(mesh_, from, to).steps) {
    tv = step(tv, mesh_axis, from[mesh_axis], axis, why);
    from[mesh_axis] = axis;
  }
  return tv;
}

TensorView* Resharder::step(TensorView* tv, ParallelType mesh_axis, std::optional<size_t> from,
                            std::optional<size_t> to, const std::string& why) {
  if (from && ops::axesOf(tv)[*from]->hasExpandedExtent()) {
    tv = stretched(tv, *from, mesh_axis);
    from = std::nullopt;
    if (!to) {
      return tv;
    }
  }
  if (!from) {
    return ownPart(tv, *to, mesh_axis);
  }
  return to ? moved(tv, *from, *to, mesh_axis, why) : gathered(tv, *from, mesh_axis, why);
}

TensorView* Resharder::combine(TensorView* tv, ParallelType mesh_axis, BinaryOpType by,
                               std::optional<size_t> axis, const std::string& why) {
  if (axis && *axis == 0 && by == BinaryOpType::Add && isMatrixProduct(tv)) {
    TensorView* parts = exchanged(CommunicationType::Alltoall,
                                  withPartsInFront(tv, *axis, mesh_axis), mesh_axis, by, tv, why);
    return sum(parts, {0});
  }
  if (axis) {
    return exchanged(CommunicationType::ReduceScatter, withPartsInFront(tv, *axis, mesh_axis),
                     mesh_axis, by, tv, why);
  }
  return exchanged(CommunicationType::Allreduce, tv, mesh_axis, by, tv, why);
}

}  // namespace nvfuser::multidevice
