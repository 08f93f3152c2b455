/// broadcast: a loop that the tensor has no axis for, put into the loop domain at a position.
#include <algorithm>

#include <ir/builder.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

TensorView* TensorView::broadcast(int64_t axis, Val* extent) {
  axis = requirePosition("broadcast", this, axis);
  const int64_t shared = std::max(getComputeAtPosition(), getMaxProducerPosition());
  if (axis < shared) {
    scheduleError("broadcast", this,
                  text("position ", axis, " lies inside the first ", shared, " axes of T", name(),
                       ", which are shared with other tensors"),
                  "transform first and inline last, or call resetInlining(fusion) before");
  }
  if (extent == nullptr || !extent->isIntegralScalar() ||
      (extent->isConst() && extent->value().as<int64_t>() <= 0)) {
    scheduleError(
        "broadcast", this,
        text("the extent of a new axis of T", name(), " must be a positive integer scalar, got ",
             extent ? extent->toString() : "null"),
        "use 1 unless the loop must run more often");
  }
  IterDomain* id = IterDomainBuilder(fusion()->zeroVal(DataType::Index), extent)
                       .iter_type(IterType::Broadcast)
                       .build();
  std::vector<IterDomain*> loop = getLoopDomain();
  loop.insert(loop.begin() + axis, id);
  domain()->addAdditionalId(id);
  setLoopDomain(std::move(loop));
  return this;
}

TensorView* TensorView::broadcast(int64_t axis, int64_t extent) {
  return broadcast(axis, IrBuilder::createInContainer<Val>(fusion(), PolymorphicValue(extent),
                                                           DataType(DataType::Index)));
}

}  // namespace nvfuser
