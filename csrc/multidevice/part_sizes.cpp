#include <multidevice/part_sizes.h>

#include <ir/builder.h>
#include <ops/axes.h>

namespace nvfuser::multidevice {

Val* PartSizes::wholeOf(Val* part, ParallelType mesh_axis) {
  const int64_t devices = mesh_.size(mesh_axis);
  Val* whole =
      IrBuilder::mulExpr(part, IrBuilder::create<Val>(PolymorphicValue(devices), part->dtype()));
  part_of_[whole] = {devices, part};
  return whole;
}

Val* PartSizes::partOf(Val* whole, ParallelType mesh_axis, const TensorView* tv,
                       size_t axis) const {
  const int64_t devices = mesh_.size(mesh_axis);
  if (const auto found = part_of_.find(whole);
      found != part_of_.end() && found->second.devices == devices) {
    return found->second.extent;
  }
  if (const auto size = ops::constantOf(whole)) {
    if (*size % devices != 0) {
      userError("multidevice: axis ", axis, " of ", *tv, " has ", *size, " elements, which ",
                devices, " devices cannot share equally; pad it, or cut another axis");
    }
    return ops::indexConstant(*size / devices);
  }
  return SimplifyingIrBuilder::ceilDivExpr(whole, ops::indexConstant(devices));
}

}  // namespace nvfuser::multidevice
