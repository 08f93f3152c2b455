#include <ops/regroup_axes.h>

#include <algorithm>
#include <tuple>

#include <ir/builder.h>
#include <ops/axes.h>
#include <ops/define_again.h>

namespace nvfuser::ops {

namespace {

/// `axes` merged and split as `steps` say.
std::vector<IterDomain*> applySteps(std::vector<IterDomain*> axes,
                                    const std::vector<ReshapeStep>& steps) {
  for (const ReshapeStep& step : steps) {
    const auto at = axes.begin() + static_cast<std::ptrdiff_t>(step.position);
    if (step.kind == ReshapeStep::Kind::Merge) {
      *at = IterDomain::merge(*at, *(at + 1), true);
      axes.erase(at + 1);
    } else {
      auto [outer, inner] = IterDomain::split(*at, indexConstant(step.factor), true, true);
      *at = outer;
      axes.insert(at + 1, inner);
    }
  }
  return axes;
}

/// A split of `in` by a factor that leaves `rest`, which the caller knows in a simpler form.
std::pair<IterDomain*, IterDomain*> splitInto(IterDomain* in, Val* factor, bool inner_split,
                                              Val* rest) {
  auto piece = [&](Val* extent) {
    return IterDomainBuilder(in->fusion()->zeroVal(DataType::Index), extent)
        .iter_type(iterTypeOf(extent))
        .is_rfactor_domain(true)
        .build();
  };
  IterDomain* outer = piece(inner_split ? rest : factor);
  IterDomain* inner = piece(inner_split ? factor : rest);
  IrBuilder::createInContainer<Split>(in->fusion(), outer, inner, in, factor, inner_split);
  return {outer, inner};
}

/// `axes` merged into one, which is split by `sizes`. The size that is null (or else the first
/// symbolic one, or the first) is what the others leave: those before it are split off from the
/// outside, those behind it from the inside.
std::vector<IterDomain*> mergeAndSplit(const std::vector<IterDomain*>& axes,
                                       const std::vector<Val*>& sizes) {
  IterDomain* rest = axes[0];
  for (size_t i = 1; i < axes.size(); ++i) {
    rest = IterDomain::merge(rest, axes[i], true);
  }
  auto left_over = std::find(sizes.begin(), sizes.end(), nullptr);
  if (left_over == sizes.end()) {
    left_over = std::find_if(sizes.begin(), sizes.end(), [](Val* v) { return !constantOf(v); });
  }
  if (left_over == sizes.end()) {
    left_over = sizes.begin();
  }
  const auto position = static_cast<size_t>(left_over - sizes.begin());

  auto factor = [&](size_t i) {
    return SimplifyingIrBuilder::maybeCastExpr(DataType::Index, sizes[i]);
  };
  // What is left in the end has the size that was asked for, not a quotient of all others.
  size_t splits = sizes.size() - 1;
  auto split = [&](Val* by, bool inner_split) {
    --splits;
    Val* left = sizes[position];
    return splits > 0 || left == nullptr
               ? IterDomain::split(rest, by, inner_split, true)
               : splitInto(rest, by, inner_split,
                           SimplifyingIrBuilder::maybeCastExpr(DataType::Index, left));
  };
  std::vector<IterDomain*> result(sizes.size(), nullptr);
  for (size_t i = 0; i < position; ++i) {
    std::tie(result[i], rest) = split(factor(i), false);
  }
  for (size_t i = sizes.size() - 1; i > position; --i) {
    std::tie(rest, result[i]) = split(factor(i), true);
  }
  result[position] = rest;
  return result;
}

/// The new axes of a group that is no identity.
std::vector<IterDomain*> newAxesOf(const std::vector<IterDomain*>& old_axes, const AxisGroup& group,
                                   const std::vector<Val*>& from, const std::vector<Val*>& to) {
  std::vector<int64_t> old_sizes;
  for (size_t i = group.old_begin; i < group.old_end; ++i) {
    if (auto size = constantOf(from[i])) {
      old_sizes.push_back(*size);
    }
  }
  std::vector<Val*> wanted(to.begin() + static_cast<std::ptrdiff_t>(group.new_begin),
                           to.begin() + static_cast<std::ptrdiff_t>(group.new_end));
  std::vector<int64_t> new_sizes;
  for (Val* size : wanted) {
    if (auto constant = constantOf(size)) {
      new_sizes.push_back(*constant);
    }
  }
  const auto isLong = [](int64_t size) { return size > 1; };
  if (old_sizes.size() == old_axes.size() && new_sizes.size() == wanted.size() &&
      std::all_of(old_sizes.begin(), old_sizes.end(), isLong) &&
      std::all_of(new_sizes.begin(), new_sizes.end(), isLong)) {
    return applySteps(old_axes, constantSteps(old_sizes, new_sizes));
  }
  return mergeAndSplit(old_axes, wanted);
}

}  // namespace

TensorView* regroup(TensorView* x, const std::vector<AxisGroup>& groups,
                    const std::vector<Val*>& from, const std::vector<Val*>& to) {
  const bool identity =
      std::all_of(groups.begin(), groups.end(), [](const AxisGroup& g) { return g.keeps(); });
  if (identity) {
    return x;
  }
  // Expanded axes that take part hold their elements once only: make them real.
  std::vector<bool> takes_part(from.size(), false);
  for (const AxisGroup& group : groups) {
    for (size_t i = group.old_begin; i < group.old_end; ++i) {
      takes_part[i] = !group.keeps();
    }
  }
  x = materialize(x, takes_part);

  // New sizes are computed from the exact old ones, not from the operand that an extent names.
  const std::vector<Val*> exact = sizesOf(x);
  std::vector<IterDomain*> root = freshAxes(x);
  std::vector<IterDomain*> logical;
  for (const AxisGroup& group : groups) {
    if (group.keeps()) {
      logical.push_back(root[group.old_begin]);
      continue;
    }
    for (size_t i = group.old_begin; i < group.old_end; ++i) {
      Val* extent = root[i]->isBroadcast() ? root[i]->extent() : exact[i];
      root[i] = IterDomainBuilder(root[i]).extent(extent).is_rfactor_domain(true).build();
    }
    std::vector<IterDomain*> old_axes(root.begin() + static_cast<std::ptrdiff_t>(group.old_begin),
                                      root.begin() + static_cast<std::ptrdiff_t>(group.old_end));
    for (IterDomain* axis : newAxesOf(old_axes, group, from, to)) {
      logical.push_back(axis);
    }
  }
  TensorView* out = newTensor(std::move(root), std::move(logical), x->dtype());
  IrBuilder::create<ReshapeOp>(out, x);
  return out;
}

}  // namespace nvfuser::ops
