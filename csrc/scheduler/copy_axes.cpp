#include <scheduler/copy_axes.h>

#include <id_model/axes_before.h>
#include <ir/builder.h>
#include <scheduler/copy_operation.h>

namespace nvfuser {

IterDomain* AxisCopier::copyOf(const IterDomain* original) {
  IterDomain*& copy = copies_[original];
  if (copy == nullptr) {
    copy = make ? make(original) : IterDomainBuilder(original).build();
    if (original->isClusteredBlockDim()) {
      copy->setClusteredBlocks();
    }
  }
  return copy;
}

std::vector<IterDomain*> AxisCopier::copiesOf(const std::vector<IterDomain*>& originals) {
  std::vector<IterDomain*> result;
  result.reserve(originals.size());
  for (const IterDomain* id : originals) {
    result.push_back(copyOf(id));
  }
  return result;
}

std::vector<IterDomain*> AxisCopier::copyAdditional(const TensorDomain* original) {
  Fusion* fusion = original->fusion();
  const auto known = fusion->registeredExactMappings();
  std::vector<IterDomain*> copies;
  for (IterDomain* id : original->additionalIDs()) {
    if (!has(id)) {
      continue;  // no longer part of the loop domain
    }
    copies.push_back(copyOf(id));
    for (auto [stand_in, axis] : known) {
      if (stand_in == id) {
        fusion->registerExactMapping(copies.back(), axis);
      }
    }
  }
  return copies;
}

void AxisCopier::takeOver(Fusion* fusion) {
  const auto known = fusion->registeredExactMappings();
  for (auto [stand_in, axis] : known) {
    if (has(axis) && !has(stand_in)) {
      fusion->registerExactMapping(stand_in, copyOf(axis));
    }
  }
}

void AxisCopier::replay(const Expr* transform) {
  std::vector<Val*> inputs;
  std::vector<Val*> outputs;
  for (const Val* in : transform->inputs()) {
    inputs.push_back(copyOf(in->as<IterDomain>()));
  }
  for (const Val* out : transform->outputs()) {
    outputs.push_back(copyOf(out->as<IterDomain>()));
  }
  copyOperation(transform, std::move(inputs), std::move(outputs));
}

std::vector<IterDomain*> AxisCopier::replayTo(const std::vector<IterDomain*>& ends,
                                              const std::vector<IterDomain*>& stop) {
  for (const Expr* transform : transformsBefore(ends, stop)) {
    replay(transform);
  }
  return copiesOf(ends);
}

TensorView* computedLike(const TensorView* tv) {
  AxisCopier copier;
  const std::vector<IterDomain*> root = copier.copiesOf(tv->getRootDomain());
  const std::vector<IterDomain*> axes =
      root.empty() ? IterDomain::clone(TensorDomain::noReductions(tv->getLogicalDomain()))
                   : copier.replayTo(tv->getLogicalDomain(), tv->getRootDomain());
  auto* domain = IrBuilder::createInContainer<TensorDomain>(
      tv->fusion(), root, axes, std::vector<IterDomain*>{}, axes,
      TensorDomain::getContiguityFilledWith(axes, true));
  return IrBuilder::createInContainer<TensorView>(tv->fusion(), domain, tv->dtype(),
                                                  MemoryType::Local);
}

}  // namespace nvfuser
