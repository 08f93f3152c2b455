#include <scheduler/schedule_error.h>

#include <algorithm>

namespace nvfuser {

std::string axisText(const TensorView* tv, int64_t axis) {
  const IterDomain* id = tv->axis(axis);
  return text("axis ", axis, " (", id, ", extent ", id->getMaybeExpandedExtent()->toInlineString(),
              ") of T", tv->name());
}

std::string loopDomainText(const TensorView* tv) {
  return text("loop domain of T", tv->name(), " [", join(tv->getLoopDomain(), ", "), "]");
}

void scheduleError(std::string_view primitive, const TensorView* tv, std::string_view what,
                   std::string_view help) {
  userError(primitive, ": ", what, "\n  note: ", loopDomainText(tv), "\n  help: ", help);
}

int64_t requireAxis(std::string_view primitive, const TensorView* tv, int64_t axis) {
  const int64_t n = tv->nDims();
  if (n == 0) {
    scheduleError(primitive, tv, text("T", tv->name(), " has no axes, so there is no axis ", axis),
                  "0-dim tensors need no schedule");
  }
  const int64_t wrapped = axis < 0 ? axis + n : axis;
  if (wrapped < 0 || wrapped >= n) {
    scheduleError(primitive, tv,
                  text("axis ", axis, " is outside the loop domain of T", tv->name(),
                       ", which has ", n, n == 1 ? " axis" : " axes"),
                  text("use an axis from ", -n, " to ", n - 1));
  }
  return wrapped;
}

int64_t requirePosition(std::string_view primitive, const TensorView* tv, int64_t position) {
  const int64_t n = tv->nDims();
  const int64_t wrapped = position < 0 ? position + n + 1 : position;
  if (wrapped < 0 || wrapped > n) {
    scheduleError(primitive, tv,
                  text("position ", position, " is outside the loop domain of T", tv->name(),
                       ", which has ", n, n == 1 ? " axis" : " axes"),
                  text("use a position from ", -n - 1, " to ", n));
  }
  return wrapped;
}

void requireNotShared(std::string_view primitive, const TensorView* tv, int64_t axis) {
  const int64_t shared = std::max(tv->getComputeAtPosition(), tv->getMaxProducerPosition());
  if (axis >= shared) {
    return;
  }
  scheduleError(primitive, tv,
                text(axisText(tv, axis), " is a loop shared with other tensors: the first ", shared,
                     " axes are fixed by inlining"),
                "transform first and inline last, or call resetInlining(fusion) before");
}

void requireSerial(std::string_view primitive, const TensorView* tv, int64_t axis) {
  const IterDomain* id = tv->axis(axis);
  if (!id->isParallelized()) {
    return;
  }
  scheduleError(primitive, tv,
                text(axisText(tv, axis), " is bound to ", parallelTypeName(id->getParallelType()),
                     " already"),
                "transform first and parallelize last, or bind it to Serial again");
}

}  // namespace nvfuser
