#include <multidevice/declarations.h>

#include <algorithm>
#include <utility>

#include <ir/builder.h>

namespace nvfuser::multidevice {

namespace {

/// The axes of a schedule for devices in memory, as logical axes: the part of a cut axis stands for
/// it, and the devices for nothing.
std::vector<IterDomain*> memoryOrder(const TensorView* tv) {
  const std::vector<IterDomain*>& logical = tv->getLogicalDomain();
  std::vector<IterDomain*> order;
  for (IterDomain* id : tv->getMaybeAllocationDomain()) {
    const bool is_logical = std::find(logical.begin(), logical.end(), id) != logical.end();
    if (isMeshAxis(id->getParallelType()) && !is_logical) {
      continue;
    }
    const Expr* def = is_logical ? nullptr : id->definition();
    IterDomain* of = def != nullptr && def->isA<Split>() ? def->as<Split>()->in() : id;
    if (std::find(order.begin(), order.end(), of) == order.end()) {
      order.push_back(of);
    }
  }
  if (!std::is_permutation(order.begin(), order.end(), logical.begin(), logical.end())) {
    userError("multidevice: the order in memory of ", *tv,
              " is none of its axes; set an allocation domain of its axes and their parts");
  }
  return order;
}

/// As declared where the order is the declared one; else what lies beside what is not known.
Contiguity contiguityOf(const TensorView* tv, const std::vector<IterDomain*>& order) {
  if (order == tv->getMaybeAllocationDomain()) {
    return tv->getContiguity();
  }
  const bool all = std::none_of(tv->getContiguity().begin(), tv->getContiguity().end(),
                                [](const std::optional<bool>& one) { return one == false; });
  return TensorDomain::getContiguityFilledWith(order, all);
}

}  // namespace

Declarations takeDeclarations(Fusion& fusion) {
  FusionGuard guard(&fusion);
  Declarations found;
  for (TensorView* tv : fusion.allTvs()) {
    Sharding sharding = shardingOf(tv);
    for (const ParallelType axis : kMeshAxes) {
      if (tv->getDeviceMesh().size(axis) == 1) {
        found.of_one[tv][axis] =
            std::exchange(sharding[axis], std::nullopt);  // the part is the whole
      }
    }
    if (tv->hasDeviceMesh()) {
      if (found.mesh.empty()) {
        found.mesh = tv->getDeviceMesh();
      }
      if (tv->getDeviceMesh() != found.mesh) {
        userError("multidevice: ", *tv, " is on ", tv->getDeviceMesh().toString(),
                  ", and others are on ", found.mesh.toString(), "; a stage is on one mesh");
      }
      found.shardings[tv] = sharding;
    } else if (tv->isFusionInput()) {
      found.shardings[tv] = Sharding();
    }
    const std::vector<IterDomain*> order = memoryOrder(tv);
    const bool has_order = tv->hasAllocation() && order != tv->getLogicalDomain();
    Contiguity contiguity = contiguityOf(tv, order);
    const std::vector<IterDomain*> root =
        tv->hasRoot() ? tv->getRootDomain() : std::vector<IterDomain*>();
    ReplaceDomain::set(
        tv, IrBuilder::create<TensorDomain>(root, tv->getLogicalDomain(),
                                            has_order ? order : std::vector<IterDomain*>(),
                                            tv->getLogicalDomain(), std::move(contiguity)));
    tv->setDeviceMesh({});
    for (IterDomain* id : tv->getLogicalDomain()) {
      id->parallelize(ParallelType::Serial);
    }
  }
  if (found.mesh.empty()) {
    userError(
        "multidevice: no tensor of the fusion is on a mesh; call setDeviceMesh on its inputs "
        "and outputs");
  }
  return found;
}

}  // namespace nvfuser::multidevice
