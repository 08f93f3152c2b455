/// resize: the loop runs over `left` more iterations before and `right` more behind the axis (fewer
/// where negative).
#include <ir/builder.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

TensorView* TensorView::resize(int64_t axis, Val* left, Val* right,
                               std::optional<IterType> iter_type) {
  axis = requireAxis("resize", this, axis);
  requireNotShared("resize", this, axis);
  requireSerial("resize", this, axis);
  for (const Val* width : {left, right}) {
    if (width == nullptr || !width->isIntegralScalar()) {
      scheduleError("resize", this,
                    text("widths for ", axisText(this, axis), " must be integer scalars, got ",
                         width ? width->toString() : "null"),
                    "pass two Vals of an integer type");
    }
  }
  IterDomain* id = this->axis(axis);
  if (id->isReduction()) {
    scheduleError("resize", this, text(axisText(this, axis), " is a reduction"),
                  "resize iterated axes; pad or slice the operand of the reduction instead");
  }
  std::vector<IterDomain*> loop = getLoopDomain();
  IterDomain* resized = IterDomain::resize(id, left, right, false, iter_type);
  const Val* extent = resized->extent();
  if (extent->isConst() && extent->value().as<int64_t>() < 0) {
    scheduleError("resize", this,
                  text(axisText(this, axis), " cannot be resized by ", left->toInlineString(),
                       " and ", right->toInlineString(), ": ", extent, " iterations would be left"),
                  "cut off at most the extent of the axis");
  }
  loop[static_cast<size_t>(axis)] = resized;
  setLoopDomain(std::move(loop));
  return this;
}

}  // namespace nvfuser
