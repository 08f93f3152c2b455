/// split: [.., i, ..] → [.., i/f, f, ..] (inner) or [.., f, i/f, ..] (outer).
#include <ir/builder.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

TensorView* TensorView::split(int64_t axis, Val* factor, bool inner_split) {
  axis = requireAxis("split", this, axis);
  requireNotShared("split", this, axis);
  requireSerial("split", this, axis);
  if (factor == nullptr || !factor->isIntegralScalar()) {
    scheduleError("split", this,
                  text("factor for ", axisText(this, axis), " must be an integer scalar, got ",
                       factor ? factor->toString() : "null",
                       factor ? text(" of type ", dataTypeName(factor->dtype())) : std::string()),
                  "pass an int64_t, or a Val of an integer type");
  }
  if (factor->isConst() && factor->value().as<int64_t>() <= 0) {
    scheduleError(
        "split", this,
        text("factor must be positive, got ", factor->toString(), " for ", axisText(this, axis)),
        "use a factor of at least 1");
  }
  std::vector<IterDomain*> loop = getLoopDomain();
  const auto at = loop.begin() + axis;
  auto [outer, inner] = IterDomain::split(*at, factor, inner_split);
  *at = outer;
  loop.insert(at + 1, inner);
  setLoopDomain(std::move(loop));
  return this;
}

TensorView* TensorView::split(int64_t axis, int64_t factor, bool inner_split) {
  const Fusion::Mark before = fusion()->mark();
  Val* constant = IrBuilder::createInContainer<Val>(fusion(), PolymorphicValue(factor),
                                                    DataType(DataType::Index));
  try {
    return split(axis, constant, inner_split);
  } catch (const UserError&) {  // thrown before anything is changed
    fusion()->rollBack(before);
    throw;
  }
}

}  // namespace nvfuser
