#include <multidevice/sharding.h>

#include <algorithm>

#include <ir/internal_nodes.h>
#include <ops/axes.h>

namespace nvfuser::multidevice {

namespace {

std::string_view nameOf(ParallelType mesh_axis) {
  static constexpr std::string_view kNames[] = {"DIDx", "DIDy", "DIDz"};
  return kNames[placeOf(mesh_axis)];
}

/// The logical axis of which `id` is all, or the outer part.
const IterDomain* cutAxis(const TensorView* tv, const IterDomain* id) {
  const auto& logical = tv->getLogicalDomain();
  if (std::find(logical.begin(), logical.end(), id) != logical.end()) {
    return id;
  }
  const Expr* def = id->definition();
  if (def == nullptr || !def->isA<Split>() || def->as<Split>()->outer() != id) {
    return nullptr;
  }
  const IterDomain* in = def->as<Split>()->in();
  return std::find(logical.begin(), logical.end(), in) != logical.end() ? in : nullptr;
}

}  // namespace

std::string Sharding::toString() const {
  std::string result;
  for (const ParallelType mesh_axis : kMeshAxes) {
    if (const auto axis = (*this)[mesh_axis]) {
      result += text(result.empty() ? "" : ", ", nameOf(mesh_axis), " cuts axis ", *axis);
    }
  }
  return result.empty() ? "whole" : result;
}

Sharding shardingOf(const TensorView* tv) {
  Sharding sharding;
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
  for (const IterDomain* id : tv->getLoopDomain()) {
    const ParallelType mesh_axis = id->getParallelType();
    if (!isMeshAxis(mesh_axis)) {
      continue;
    }
    const std::string_view name = nameOf(mesh_axis);
    if (!tv->hasDeviceMesh()) {
      userError("sharding: axis ", *id, " of ", *tv, " is bound to ", name,
                ", but the tensor has no mesh; call setDeviceMesh");
    }
    const IterDomain* cut = cutAxis(tv, id);
    const auto place = std::find(axes.begin(), axes.end(), cut);
    if (cut == nullptr || place == axes.end()) {
      userError(
          "sharding: axis ", *id, " of ", *tv, " is bound to ", name,
          ", but is not the outer part of one of its axes; split one by the number of devices "
          "with inner_split = false (outer_split) and bind its outer part");
    }
    const int64_t devices = tv->getDeviceMesh().size(mesh_axis);
    const auto parts = ops::constantOf(id->extent());
    if (parts ? *parts != devices : cut != id) {
      userError("sharding: axis ", *id, " of ", *tv, " is bound to ", name, ", but has not ",
                devices, " elements, as many as ", tv->getDeviceMesh().toString(),
                " has devices along it");
    }
    const auto axis = static_cast<size_t>(place - axes.begin());
    if (sharding[mesh_axis] || sharding.of(axis)) {
      userError("sharding: ", *tv, " is cut twice, by ", name, " along axis ", axis,
                "; an axis of the mesh cuts one axis of a tensor, and another one another");
    }
    sharding[mesh_axis] = axis;
  }
  return sharding;
}

}  // namespace nvfuser::multidevice
