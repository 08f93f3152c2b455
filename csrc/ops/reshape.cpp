#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <ops/indexing.h>
#include <ops/regroup_axes.h>
#include <ops/reshape_plan.h>

namespace nvfuser {

using ops::axesOf;
using ops::AxisGroup;
using ops::constantOf;
using ops::extentOf;
using ops::indexConstant;

namespace {

bool isOne(const Val* size) { return constantOf(size) == 1; }
bool isZero(const Val* size) { return constantOf(size) == 0; }

/// Checks what the new sizes say by themselves and turns −1 into null.
std::vector<Val*> checkedSizes(const TensorView* x, std::vector<Val*> sizes) {
  int64_t inferred = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == nullptr || !sizes[i]->isIntegralScalar()) {
      userError("reshape: sizes are integer scalars, got ", sizes[i], " at position ", i);
    }
    const auto size = constantOf(sizes[i]);
    if (size && *size < -1) {
      userError("reshape: size ", *size, " at position ", i, " of the new shape of ", x,
                " is negative; -1 stands for what is left");
    }
    if (size == -1) {
      sizes[i] = nullptr;
      ++inferred;
    }
  }
  if (inferred > 1) {
    userError("reshape: A maximum of one value of -1 can be provided to reshape. The new shape of ",
              x, " has ", inferred);
  }
  return sizes;
}

/// The product of sizes if all but null ones are constants.
std::optional<int64_t> countOf(const std::vector<Val*>& sizes) {
  int64_t count = 1;
  for (Val* size : sizes) {
    if (size == nullptr) {
      continue;
    }
    const auto constant = constantOf(size);
    if (!constant) {
      return std::nullopt;
    }
    count *= *constant;
  }
  return count;
}

std::string shown(const Val* size) { return size != nullptr ? size->toInlineString() : "-1"; }

/// −1 as a constant where constants give it. Throws where the counts of elements cannot agree.
void inferSize(const std::vector<Val*>& from, std::vector<Val*>& to) {
  const bool empty = std::any_of(from.begin(), from.end(), isZero);
  const auto missing = std::find(to.begin(), to.end(), nullptr);
  const bool to_empty = std::any_of(to.begin(), to.end(), isZero);
  if (missing != to.end() && to_empty) {
    userError("reshape: -1 beside a size of 0 can stand for any number; give the size");
  }
  const auto old_count = empty ? std::optional<int64_t>(0) : countOf(from);
  const auto new_count = countOf(to);
  if (!old_count || !new_count) {
    return;
  }
  const bool fits = missing == to.end() ? *old_count == *new_count : *old_count % *new_count == 0;
  if (!fits) {
    userError("reshape: Total element counts across view operation must match: [",
              join(from, ", ", shown), "] has ", *old_count, " elements, [", join(to, ", ", shown),
              missing == to.end() ? "] has " : "] needs a multiple of ", *new_count);
  }
  if (missing != to.end()) {
    *missing = indexConstant(*old_count / *new_count);
  }
}

/// Number of elements as a scalar.
Val* countExpr(Fusion* fusion, const std::vector<Val*>& sizes) {
  Val* count = fusion->oneVal(DataType::Index);
  for (Val* size : sizes) {
    count = SimplifyingIrBuilder::mulExpr(
        count, SimplifyingIrBuilder::maybeCastExpr(DataType::Index, size));
  }
  return count;
}

/// What constants could not show must hold when the sizes are known: `out` has the elements of `x`,
/// and the sizes that were asked for (if `sizes` are more than hints) have their number.
void requireSameCount(TensorView* x, TensorView* out, const std::vector<Val*>& sizes) {
  Fusion* fusion = x->fusion();
  auto extents = [](const TensorView* tv) { return ops::sizesOf(tv); };
  Val* present = countExpr(fusion, extents(x));
  auto require = [&](const std::vector<Val*>& wanted) {
    Val* count = countExpr(fusion, wanted);
    if (present->sameAs(count)) {
      return;
    }
    fusion->requireSizes(
        {SizeRequirement::Kind::SameCount, count, present,
         text("reshape: Total element counts across view operation must match: the new shape of T",
              x->name())});
  };
  const auto inferred = std::find(sizes.begin(), sizes.end(), nullptr);
  if (inferred == sizes.end()) {
    require(sizes.empty() ? extents(out) : sizes);
    return;
  }
  const std::ptrdiff_t place = inferred - sizes.begin();
  std::vector<Val*> all = sizes;
  all[static_cast<size_t>(place)] = extents(out)[static_cast<size_t>(place)];
  require(all);
  std::vector<Val*> others = sizes;
  others.erase(others.begin() + place);
  Val* count = countExpr(fusion, others);
  if (!count->isConst()) {
    fusion->requireSizes({SizeRequirement::Kind::NotZero, count, nullptr,
                          text("reshape: -1 in the new shape of T", x->name(),
                               " is beside a size of 0 and can stand for any number; give the "
                               "size")});
  }
}

TensorView* reshapeSizes(TensorView* x, std::vector<Val*> from, std::vector<Val*> to) {
  inferSize(from, to);
  const bool empty =
      std::any_of(from.begin(), from.end(), isZero) || std::any_of(to.begin(), to.end(), isZero);
  if (empty) {
    for (Val*& size : to) {
      if (size == nullptr) {
        size = indexConstant(0);
      }
    }
    return full(to, x->fusion()->zeroVal(x->dtype()), x->dtype());
  }

  // Axes of extent 1 are dropped before and added after, so that no split has a part without
  // elements of its own.
  TensorView* out = x;
  for (size_t i = from.size(); i-- > 0;) {
    if (isOne(from[i])) {
      out = ops::dropUnitAxis(out, i);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::vector<bool> is_new;
  std::vector<Val*> wanted;
  for (Val* size : to) {
    is_new.push_back(isOne(size));
    if (!isOne(size)) {
      wanted.push_back(size);
    }
  }
  if (from.empty()) {  // one element: a size that is left must be 1 too
    is_new.assign(to.size(), true);
  } else if (wanted.empty()) {  // symbolic extents that must be 1
    for (size_t i = from.size(); i-- > 0;) {
      const bool is_broadcast = axesOf(out)[i]->isBroadcast();
      out = is_broadcast ? ops::dropUnitAxis(out, i)
                         : select(out, static_cast<int64_t>(i), indexConstant(0));
    }
  } else {
    const std::vector<AxisGroup> groups = ops::groupAxes(from, wanted);
    out = ops::regroup(out, groups, from, wanted);
  }
  if (std::find(is_new.begin(), is_new.end(), true) != is_new.end()) {
    out = broadcast(out, is_new);
  }
  return out == x ? set(x) : out;
}

}  // namespace

TensorView* reshape(TensorView* x, const std::vector<Val*>& new_sizes) {
  ops::requireTensor(x, "reshape");
  const std::vector<Val*> to = checkedSizes(x, new_sizes);
  TensorView* out = reshapeSizes(x, ops::sizesOf(x), to);
  requireSameCount(x, out, to);
  return out;
}

TensorView* reshape(TensorView* x, const std::vector<int64_t>& original_sizes,
                    const std::vector<int64_t>& new_sizes) {
  ops::requireTensor(x, "reshape");
  const std::vector<IterDomain*> axes = axesOf(x);
  if (original_sizes.size() != axes.size()) {
    userError("reshape: ", original_sizes.size(), " original sizes were given for the ",
              axes.size(), " axes of ", x);
  }
  std::vector<Val*> from;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto extent = constantOf(extentOf(axes[i]));
    if (original_sizes[i] < 0 || (extent && *extent != original_sizes[i])) {
      userError("reshape: original size ", original_sizes[i], " of axis ", i,
                " does not fit its extent ", extentOf(axes[i])->toInlineString(), " in ", x);
    }
    from.push_back(indexConstant(original_sizes[i]));
  }
  std::vector<Val*> to;
  for (int64_t size : new_sizes) {
    to.push_back(indexConstant(size));
  }
  TensorView* out = reshapeSizes(x, from, checkedSizes(x, to));
  requireSameCount(x, out, {});
  return out;
}

TensorView* flatten(TensorView* x, int64_t start_dim, int64_t end_dim) {
  ops::requireTensor(x, "flatten");
  const std::vector<IterDomain*> axes = axesOf(x);
  if (axes.empty()) {
    return broadcast(x, {true});
  }
  const auto rank = static_cast<int64_t>(axes.size());
  const int64_t first = wrapDim(start_dim, rank, "flatten");
  const int64_t last = wrapDim(end_dim, rank, "flatten");
  if (first > last) {
    userError("flatten: start_dim ", start_dim, " is behind end_dim ", end_dim, " of ", x);
  }
  const std::vector<Val*> present = ops::sizesOf(x);
  std::vector<Val*> sizes;
  for (int64_t i = 0; i < rank; ++i) {
    Val* extent = present[static_cast<size_t>(i)];
    if (i > first && i <= last) {
      sizes.back() = SimplifyingIrBuilder::mulExpr(sizes.back(), extent);
    } else {
      sizes.push_back(extent);
    }
  }
  return reshape(x, sizes);
}

namespace ops {

TensorView* reshapeTo(TensorView* x, const std::vector<Val*>& sizes) {
  std::vector<Val*> from;
  for (IterDomain* id : axesOf(x)) {
    from.push_back(extentOf(id));
  }
  return reshapeSizes(x, from, sizes);
}

TensorView* regroup(TensorView* x, const std::vector<AxisGroup>& groups,
                    const std::vector<Val*>& sizes) {
  std::vector<Val*> from;
  for (IterDomain* id : axesOf(x)) {
    from.push_back(extentOf(id));
  }
  return regroup(x, groups, from, sizes);
}

}  // namespace ops

}  // namespace nvfuser
