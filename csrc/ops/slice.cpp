#include <algorithm>
#include <limits>

#include <ir/builder.h>
#include <ir/size_arithmetic.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <ops/indexing.h>

namespace nvfuser {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;
using ops::indexConstant;
using Simplify = SimplifyingIrBuilder;

namespace {

using ops::Range;

/// A bound as Python reads it, held between 0 and the extent.
struct Bound {
  enum class Kind { FromStart, FromEnd, Computed };
  Kind kind;
  int64_t distance;  ///< a constant, 0 or more; of a computed bound 0
  Val* val;
};

Bound boundOf(Val* bound, Val* extent) {
  using enum Bound::Kind;
  if (bound->sameAs(extent)) {
    return {FromEnd, 0, extent};
  }
  bound = Simplify::maybeCastExpr(DataType::Index, bound);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (const auto constant = constantOf(bound)) {
    if (*constant == kMost) {
      return {FromEnd, 0, extent};
    }
    if (*constant >= 0) {
      return {FromStart, *constant, SizeArithmetic::atMost(*constant, extent)};
    }
    return {FromEnd, *constant < -kMost ? kMost : -*constant,
            SizeArithmetic::notNegative(SizeArithmetic::sum(extent, bound))};
  }
  Val* zero = extent->fusion()->zeroVal(DataType::Index);
  Val* from_end = Simplify::maxExpr(Simplify::addExpr(extent, bound), zero);
  Val* from_start = Simplify::minExpr(bound, extent);
  return {Computed, 0, Simplify::whereExpr(Simplify::ltExpr(bound, zero), from_end, from_start)};
}

/// How many elements lie from start to stop where constants tell; null elsewhere.
Val* lengthBetween(const Bound& start, const Bound& stop, Val* extent) {
  using enum Bound::Kind;
  auto without = [&](int64_t distance) {
    return SizeArithmetic::notNegative(SizeArithmetic::difference(extent, indexConstant(distance)));
  };
  if (start.kind == FromStart && stop.kind == FromEnd) {
    return start.distance > std::numeric_limits<int64_t>::max() - stop.distance
               ? indexConstant(0)
               : without(start.distance + stop.distance);
  }
  if (start.kind == stop.kind && start.kind != Computed) {
    const auto [near, far] = std::minmax(start.distance, stop.distance);
    const bool is_ordered = (start.kind == FromStart) == (start.distance < stop.distance);
    return is_ordered && far > near ? SizeArithmetic::atMost(far - near, without(near))
                                    : indexConstant(0);
  }
  return nullptr;
}

Range rangeOf(const Slice& slice, Val* extent, bool manual_normalization) {
  Val* zero = extent->fusion()->zeroVal(DataType::Index);
  Val* first = slice.start ? slice.start : zero;
  Val* last = slice.stop ? slice.stop : extent;
  if (manual_normalization) {
    first = Simplify::maybeCastExpr(DataType::Index, first);
    last = Simplify::maybeCastExpr(DataType::Index, last);
    return {first, last, SizeArithmetic::difference(last, first),
            first->isZero() && last->sameAs(extent)};
  }
  const Bound start = boundOf(first, extent);
  const Bound stop = boundOf(last, extent);
  if (Val* length = lengthBetween(start, stop, extent)) {
    // A stop before the start gives an empty range.
    Val* end = stop.val->sameAs(extent) ? extent : SizeArithmetic::sum(start.val, length);
    return {start.val, end, length, start.val->isZero() && end->sameAs(extent)};
  }
  Val* end = stop.val;
  if (!start.val->isZero() && !end->sameAs(extent)) {
    end = Simplify::maxExpr(end, start.val);
  }
  return {start.val, end, Simplify::subExpr(end, start.val),
          start.val->isZero() && end->sameAs(extent)};
}

void checkStep(const Slice& slice, size_t axis, const TensorView* inp) {
  if (slice.step == nullptr || constantOf(slice.step) == 1) {
    return;
  }
  userError(
      "slice: nvFuser Limitation: All slice operation strides must be of const size 1. The stride "
      "of axis ",
      axis, " of ", inp, " is ", slice.step->toInlineString(),
      "\n  help: to take every k-th element, reshape the axis to (n / k, k) and select 0");
}

void checkBound(const Val* bound, const TensorView* inp) {
  if (bound == nullptr || bound->isIntegralScalar()) {
    return;
  }
  userError("slice: bounds are integer scalars, got ", bound, " for ", inp);
}

/// An expanded axis holds one element whatever its range: it is expanded again, to the range's
/// length.
TensorView* sliceExpandedAxis(TensorView* x, size_t axis, const Range& range) {
  TensorView* unit = ops::asBroadcast(x, axis);
  std::vector<Val*> sizes(axesOf(unit).size(), indexConstant(-1));
  sizes[axis] = range.length;
  return expand(unit, sizes);
}

}  // namespace

namespace ops {

TensorView* cutTo(TensorView* inp, const std::vector<Range>& cut) {
  const std::vector<IterDomain*> in = axesOf(inp);
  // Axes of which one element is left are read at it and become broadcast axes; the rest is one
  // SliceOp.
  TensorView* x = inp;
  const auto isResized = [&](size_t i) {
    return !cut[i].whole && !in[i]->hasExpandedExtent() && constantOf(cut[i].length) != 1;
  };
  std::vector<bool> resized(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    resized[i] = isResized(i);
  }
  if (std::find(resized.begin(), resized.end(), true) != resized.end()) {
    x = ops::materialize(x, resized);
    const std::vector<IterDomain*> root = ops::freshAxes(x);
    std::vector<IterDomain*> logical;
    std::vector<Val*> operands;
    for (size_t i = 0; i < root.size(); ++i) {
      Val* extent = extentOf(root[i]);
      Val* zero = extent->fusion()->zeroVal(DataType::Index);
      Val* one = extent->fusion()->oneVal(DataType::Index);
      const bool resize = resized[i];
      operands.insert(operands.end(),
                      {resize ? cut[i].start : zero, resize ? cut[i].stop : extent,
                       resize && cut[i].step != 1 ? indexConstant(cut[i].step) : one});
      logical.push_back(resize ? ops::resizeAxis(root[i], Simplify::negExpr(cut[i].start),
                                                 Simplify::subExpr(cut[i].stop, extent),
                                                 cut[i].length, cut[i].step)
                               : root[i]);
    }
    TensorView* out = ops::newTensor(root, std::move(logical), x->dtype());
    IrBuilder::create<SliceOp>(out, x, operands);
    x = out;
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (cut[i].whole || resized[i]) {
      continue;
    }
    if (in[i]->hasExpandedExtent()) {
      x = sliceExpandedAxis(x, i, cut[i]);
    } else if (!in[i]->isBroadcast()) {
      std::vector<bool> is_new(in.size(), false);
      is_new[i] = true;
      x = broadcast(select(x, static_cast<int64_t>(i), cut[i].start), is_new);
    }
  }
  return x;
}

std::vector<Range> rangesOf(const SliceOp* op) {
  const auto* out = op->out()->as<TensorView>();
  const std::vector<IterDomain*> root = TensorDomain::noReductions(out->getMaybeRootDomain());
  const std::vector<IterDomain*> logical = axesOf(out);
  std::vector<Range> ranges;
  for (size_t i = 0; i < logical.size(); ++i) {
    ranges.push_back({op->start(i), op->stop(i), extentOf(logical[i]), root[i] == logical[i],
                      op->step(i)->value().as<int64_t>()});
  }
  return ranges;
}

}  // namespace ops

TensorView* slice(TensorView* inp, const std::vector<Slice>& ranges, bool manual_normalization) {
  ops::requireTensor(inp, "slice");
  const std::vector<IterDomain*> in = axesOf(inp);
  if (ranges.size() != in.size()) {
    userError("slice: Number of tensor dimensions does not match slice dimensions! Tensor-dims: ",
              in.size(), " Slice-dims: ", ranges.size(), " (", inp, ")");
  }
  const std::vector<Val*> sizes = ops::sizesOf(inp);
  std::vector<Range> cut;
  for (size_t i = 0; i < in.size(); ++i) {
    checkStep(ranges[i], i, inp);
    checkBound(ranges[i].start, inp);
    checkBound(ranges[i].stop, inp);
    cut.push_back(rangeOf(ranges[i], sizes[i], manual_normalization));
    const auto length = constantOf(cut[i].length);
    if (length && *length < 0) {
      userError(
          "slice: Slice operation end_indices must be greater than or equal to "
          "start_indices. Start ",
          cut[i].start->toInlineString(), ", end ", cut[i].stop->toInlineString(), " of axis ", i,
          " of ", inp);
    }
  }
  TensorView* out = ops::cutTo(inp, cut);
  return out == inp ? set(inp) : out;
}

TensorView* slice(TensorView* inp, const std::vector<int64_t>& starts,
                  const std::vector<int64_t>& stops, const std::vector<int64_t>& steps) {
  ops::requireTensor(inp, "slice");
  if (starts.size() != stops.size()) {
    userError("slice: Slice indexing attribute dimensions don't match! ", starts.size(),
              " starts, ", stops.size(), " stops for ", inp);
  }
  if (starts.size() != steps.size()) {
    userError("slice: Slice start_indices and strides don't match! ", starts.size(), " starts, ",
              steps.size(), " strides for ", inp);
  }
  std::vector<Slice> ranges;
  for (size_t i = 0; i < starts.size(); ++i) {
    ranges.push_back({indexConstant(starts[i]), indexConstant(stops[i]), indexConstant(steps[i])});
  }
  return slice(inp, ranges);
}

TensorView* slice(TensorView* inp, const std::vector<int64_t>& starts,
                  const std::vector<int64_t>& stops) {
  return slice(inp, starts, stops, std::vector<int64_t>(starts.size(), 1));
}

namespace {

/// How many elements there are from `start` on, in its direction.
Val* countFrom(Val* start, int64_t step, Val* extent) {
  if (step < 0) {
    Val* left = Simplify::divExpr(start, indexConstant(-step));
    return SizeArithmetic::sum(left, indexConstant(1));
  }
  Val* left = SizeArithmetic::difference(extent, start);
  return step == 1 ? left : Simplify::ceilDivExpr(left, indexConstant(step));
}

ops::Range rangeOf(const Steps& wanted, size_t axis, Val* extent, const TensorView* x) {
  if (wanted.step == 0) {
    userError("strided_slice: the stride of axis ", axis, " of ", ops::describe(x),
              " is 0; it is 1 or more, or negative");
  }
  Val* zero = extent->fusion()->zeroVal(DataType::Index);
  Val* last = SizeArithmetic::difference(extent, indexConstant(1));
  Val* start = wanted.start == nullptr ? (wanted.step < 0 ? last : zero)
                                       : Simplify::maybeCastExpr(DataType::Index, wanted.start);
  Val* size = wanted.size == nullptr ? countFrom(start, wanted.step, extent)
                                     : Simplify::maybeCastExpr(DataType::Index, wanted.size);
  Val* all = wanted.step == 1 ? size : Simplify::mulExpr(size, indexConstant(wanted.step));
  Val* stop = size->sameAs(extent) && wanted.step == -1 && start->sameAs(last)
                  ? indexConstant(-1)
                  : SizeArithmetic::sum(start, all);
  const auto first = constantOf(start);
  const auto count = constantOf(size);
  const auto whole = constantOf(extent);
  if (first && count && whole && *count != 0) {
    const int64_t end = *first + (*count - 1) * wanted.step;
    if (*count < 0 || std::min(*first, end) < 0 || std::max(*first, end) >= *whole) {
      userError("strided_slice: the ", *count, " elements from ", *first, " on, ", wanted.step,
                " apart, are not all within the ", *whole, " of axis ", axis, " of ",
                ops::describe(x));
    }
  }
  return {start, stop, size, wanted.step == 1 && start->isZero() && size->sameAs(extent),
          wanted.step};
}

}  // namespace

TensorView* stridedSlice(TensorView* x, const std::vector<Steps>& steps) {
  ops::requireTensor(x, "strided_slice");
  const std::vector<Val*> sizes = ops::sizesOf(x);
  if (steps.size() != sizes.size()) {
    userError("strided_slice: ", ops::describe(x), " has ", sizes.size(), " axes, but steps of ",
              steps.size(), " are given; give one for each axis");
  }
  std::vector<Range> ranges;
  for (size_t i = 0; i < sizes.size(); ++i) {
    ranges.push_back(rangeOf(steps[i], i, sizes[i], x));
  }
  TensorView* out = ops::cutTo(x, ranges);
  return out == x ? set(x) : out;
}

TensorView* flip(TensorView* x, const std::vector<int64_t>& dims) {
  ops::requireTensor(x, "flip");
  const std::vector<IterDomain*> axes = axesOf(x);
  std::vector<bool> turned(axes.size());
  std::vector<Steps> steps(axes.size());
  for (const int64_t dim : dims) {
    const auto axis = static_cast<size_t>(wrapDim(dim, static_cast<int64_t>(axes.size()), "flip"));
    if (turned[axis]) {
      userError("flip: axis ", axis, " of ", ops::describe(x), " is named twice");
    }
    turned[axis] = true;
    if (!axes[axis]->isBroadcast()) {  // whose elements are one
      steps[axis].step = -1;
    }
  }
  return stridedSlice(x, steps);
}

std::vector<TensorView*> chunk(TensorView* in, int64_t chunks, int64_t dim) {
  ops::requireTensor(in, "chunk");
  if (chunks <= 0) {
    userError("chunk: the number of chunks must be positive, got ", chunks);
  }
  const std::vector<IterDomain*> axes = axesOf(in);
  const auto axis = static_cast<size_t>(wrapDim(dim, static_cast<int64_t>(axes.size()), "chunk"));
  Val* extent = ops::sizesOf(in)[axis];
  Val* length = Simplify::ceilDivExpr(extent, indexConstant(chunks));

  std::vector<TensorView*> pieces;
  for (int64_t i = 0; i < chunks; ++i) {
    std::vector<Slice> ranges(axes.size());
    // The first piece is as long as any, and the last one ends where the axis does.
    auto begin = [&](int64_t piece) {
      return piece == 0        ? extent->fusion()->zeroVal(DataType::Index)
             : piece == chunks ? extent
             : piece == 1      ? length
                               : Simplify::minExpr(Simplify::mulExpr(length, piece), extent);
    };
    ranges[axis].start = begin(i);
    ranges[axis].stop = begin(i + 1);
    // A constant size may be used up early; an empty one gives all chunks, as in PyTorch.
    if (i > 0 && !extent->isZero() && ranges[axis].start->sameAs(extent)) {
      break;
    }
    pieces.push_back(slice(in, ranges, true));
  }
  return pieces;
}

}  // namespace nvfuser
