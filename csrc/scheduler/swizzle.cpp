/// swizzle: a bijection of two axes, so that neighbouring threads meet different banks. Shapes stay
/// as they are.
#include <ir/builder.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

/// XOR maps [0, |y|) onto itself exactly if |y| is a power of two and x stays below it.
void requireXorIsBijective(const TensorView* tv, int64_t x, int64_t y) {
  const Val* extent_x = tv->axis(x)->extent();
  const Val* extent_y = tv->axis(y)->extent();
  if (!extent_x->isConst() || !extent_y->isConst()) {
    scheduleError(
        "swizzle", tv,
        text("XOR needs constant extents, got ", axisText(tv, x), " and ", axisText(tv, y)),
        "split both axes by constant factors first, or use CyclicShift");
  }
  const auto size_x = extent_x->value().as<int64_t>();
  const auto size_y = extent_y->value().as<int64_t>();
  if (size_y <= 0 || (size_y & (size_y - 1)) != 0 || size_x > size_y) {
    scheduleError("swizzle", tv,
                  text("XOR is no bijection of ", axisText(tv, x), " and ", axisText(tv, y),
                       ": the second extent must be a power of two and at least the first"),
                  "use equal powers of two, or CyclicShift");
  }
}

}  // namespace

TensorView* TensorView::swizzle(SwizzleType type, int64_t x, int64_t y) {
  if (type == SwizzleType::NoSwizzle) {
    return this;
  }
  x = requireAxis("swizzle", this, x);
  y = requireAxis("swizzle", this, y);
  if (x == y) {
    scheduleError("swizzle", this, text(axisText(this, x), " cannot be swizzled with itself"),
                  "name two different axes");
  }
  for (int64_t at : {x, y}) {
    requireNotShared("swizzle", this, at);
    requireSerial("swizzle", this, at);
    if (axis(at)->isReduction() || axis(at)->isBroadcast()) {
      scheduleError(
          "swizzle", this,
          text(axisText(this, at), " is a ", axis(at)->isReduction() ? "reduction" : "broadcast"),
          "swizzle two iterated axes");
    }
  }
  if (type == SwizzleType::XOR) {
    requireXorIsBijective(this, x, y);
  }
  std::vector<IterDomain*> loop = getLoopDomain();
  auto [out_x, out_y] = IterDomain::swizzle(type, axis(x), axis(y));
  loop[static_cast<size_t>(x)] = out_x;
  loop[static_cast<size_t>(y)] = out_y;
  setLoopDomain(std::move(loop));
  return this;
}

}  // namespace nvfuser
