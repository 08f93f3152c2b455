/// merge: [.., o, .., i, ..] → [.., o·|i| + i, ..] at the place of the outer axis; flatten merges a
/// whole range.
#include <ir/builder.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

std::string_view kindText(IterType type) {
  using enum IterType;
  switch (type) {
    case Reduction:
      return "a reduction";
    case VectorComponent:
      return "a part of complex numbers";
    case GatherScatter:
      return "an axis of indices";
    case Stride:
      return "a stride";
    case Iteration:
    case Broadcast:
    case Symbolic:
      return "no reduction";
  }
  throw InternalError("an axis of an unknown kind");
}

}  // namespace

TensorView* TensorView::merge(int64_t axis_o, int64_t axis_i) {
  axis_o = requireAxis("merge", this, axis_o);
  axis_i = requireAxis("merge", this, axis_i);
  if (axis_o == axis_i) {
    scheduleError("merge", this, text(axisText(this, axis_o), " cannot be merged with itself"),
                  "name two different axes");
  }
  for (int64_t axis : {axis_o, axis_i}) {
    requireNotShared("merge", this, axis);
    requireSerial("merge", this, axis);
  }
  IterDomain* outer = axis(axis_o);
  IterDomain* inner = axis(axis_i);
  if (!mergedIterType(outer->getIterType(), inner->getIterType())) {
    scheduleError("merge", this,
                  text(axisText(this, axis_o), " is ", kindText(outer->getIterType()), " but ",
                       axisText(this, axis_i), " is ", kindText(inner->getIterType())),
                  "merge iterated axes with iterated axes and reductions with reductions");
  }
  std::vector<IterDomain*> loop = getLoopDomain();
  loop[static_cast<size_t>(axis_o)] = IterDomain::merge(outer, inner);
  loop.erase(loop.begin() + axis_i);
  setLoopDomain(std::move(loop));
  return this;
}

TensorView* TensorView::flatten(int64_t from, int64_t to) {
  if (isZeroDim()) {
    return this;
  }
  from = requireAxis("flatten", this, from);
  to = requireAxis("flatten", this, to);
  if (from > to) {
    scheduleError("flatten", this, text("the range from axis ", from, " to axis ", to, " is empty"),
                  "name the outer axis first");
  }
  for (int64_t merged = from; merged < to; ++merged) {
    merge(from, from + 1);
  }
  return this;
}

}  // namespace nvfuser
