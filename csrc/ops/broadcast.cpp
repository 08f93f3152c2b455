#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/reshape_plan.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;

TensorView* squeeze(TensorView* x, const std::vector<bool>& to_squeeze, bool squeeze_expanded) {
  ops::requireTensor(x, "squeeze");
  const std::vector<IterDomain*> in = axesOf(x);
  if (to_squeeze.size() != in.size()) {
    userError("squeeze: ", to_squeeze.size(), " flags were given for the ", in.size(), " axes of ",
              x);
  }
  // An axis of constant extent 1 that is iterated (a declared loop) is read at index 0 instead.
  std::vector<size_t> iterated;
  std::vector<bool> flags;
  std::vector<IterDomain*> out_axes;
  for (size_t i = 0; i < in.size(); ++i) {
    if (to_squeeze[i] && !in[i]->isBroadcast()) {
      if (in[i]->isSymbolic()) {
        flags.push_back(true);  // settled for each call
        continue;
      }
      if (!ops::isUnitAxis(in[i])) {
        userError("squeeze: Can not squeeze dimension(s) with size != 1: axis ", i, " (", in[i],
                  ") of ", x, " has extent ", in[i]->extent()->toInlineString(),
                  "; declare it with size 1, or use select");
      }
      iterated.push_back(i);
      continue;
    }
    if (to_squeeze[i] && in[i]->hasExpandedExtent() && !squeeze_expanded) {
      userError("squeeze: axis ", i, " (", in[i], ") of ", x,
                " is expanded; pass squeeze_expanded to drop it all the same");
    }
    flags.push_back(to_squeeze[i]);
  }
  for (auto it = iterated.rbegin(); it != iterated.rend(); ++it) {
    x = ops::dropUnitAxis(x, *it);
  }
  if (std::find(flags.begin(), flags.end(), true) == flags.end()) {
    return iterated.empty() ? set(x) : x;
  }
  const std::vector<IterDomain*> fresh = ops::freshAxes(x);
  for (size_t i = 0; i < fresh.size(); ++i) {
    if (!flags[i]) {
      out_axes.push_back(fresh[i]);
    }
  }
  TensorView* out = ops::newTensor(std::move(out_axes), x->dtype());
  IrBuilder::create<SqueezeOp>(out, x, flags);
  return out;
}

TensorView* squeeze(TensorView* x, const std::vector<int64_t>& dims, bool squeeze_expanded) {
  ops::requireTensor(x, "squeeze");
  std::vector<bool> flags(axesOf(x).size(), false);
  for (int64_t dim : dims) {
    const int64_t axis = wrapDim(dim, static_cast<int64_t>(flags.size()), "squeeze");
    flags[static_cast<size_t>(axis)] = true;
  }
  return squeeze(x, flags, squeeze_expanded);
}

TensorView* squeeze(TensorView* x, std::initializer_list<int64_t> dims) {
  return squeeze(x, std::vector<int64_t>(dims));
}

TensorView* unsqueeze(TensorView* x, int64_t dim) {
  ops::requireTensor(x, "unsqueeze");
  std::vector<bool> is_new(axesOf(x).size() + 1, false);
  const int64_t axis = wrapDim(dim, static_cast<int64_t>(is_new.size()), "unsqueeze");
  is_new[static_cast<size_t>(axis)] = true;
  return broadcast(x, is_new);
}

TensorView* broadcast(TensorView* inp, const std::vector<bool>& is_broadcast_dim) {
  ops::requireTensor(inp, "broadcast");
  const std::vector<IterDomain*> fresh = ops::freshAxes(inp);
  const auto old = std::count(is_broadcast_dim.begin(), is_broadcast_dim.end(), false);
  if (static_cast<size_t>(old) != fresh.size()) {
    userError(
        "broadcast: Invalid broadcast, number of false entries in is_broadcast_dim expected "
        "to be ",
        fresh.size(), " but received ", old, " (", inp, " has ", fresh.size(), " axes)");
  }
  if (is_broadcast_dim.size() == fresh.size()) {
    return inp;
  }
  std::vector<IterDomain*> out_axes;
  size_t next = 0;
  for (bool is_new : is_broadcast_dim) {
    out_axes.push_back(is_new ? ops::newBroadcastAxis() : fresh[next++]);
  }
  TensorView* out = ops::newTensor(std::move(out_axes), inp->dtype());
  IrBuilder::create<BroadcastOp>(out, inp, is_broadcast_dim);
  return out;
}

namespace {

/// The axis that `id`, `own` long, becomes when it is expanded to `size`; itself if it stays.
IterDomain* expandedAxis(IterDomain* id, Val* own, Val* size, size_t position,
                         const TensorView* tv) {
  const auto wanted = constantOf(size);
  if (wanted == -1) {
    return id;
  }
  if (wanted && *wanted < 0) {
    userError("expand: size ", *wanted, " of axis ", position,
              " is negative; -1 keeps the axis of ", tv);
  }
  const auto present = constantOf(extentOf(id));
  if (id->isBroadcast() && !id->hasExpandedExtent()) {
    return wanted == 1 ? id : ops::newBroadcastAxis(size);
  }
  if (present && wanted && *present != *wanted) {
    userError("expand: axis ", position, " of ", tv, " has extent ", *present,
              " and cannot be expanded to ", *wanted, "; only axes of extent 1 can be stretched");
  }
  if (own->sameAs(size) || (present && *present != 1)) {
    return id;
  }
  // It has that size, or one element: settled for each call.
  return ops::newIterAxis(size);
}

}  // namespace

TensorView* expand(TensorView* inp, const std::vector<Val*>& expanded_sizes) {
  ops::requireTensor(inp, "expand");
  for (Val* size : expanded_sizes) {
    if (size == nullptr || !size->isIntegralScalar()) {
      userError("expand: sizes are integer scalars, got ", size);
    }
  }
  const size_t rank = axesOf(inp).size();
  if (expanded_sizes.size() < rank) {
    userError("expand: ", expanded_sizes.size(), " sizes were given for the ", rank, " axes of ",
              inp, "; each axis needs one");
  }
  TensorView* x = ops::maybe_broadcast_inner_to_rank(inp, expanded_sizes.size());
  for (size_t i = 0; i < expanded_sizes.size(); ++i) {
    // One element that is iterated (a row that a scatter writes) can be stretched all the same.
    const auto wanted = constantOf(expanded_sizes[i]);
    const IterDomain* id = axesOf(x)[i];
    if (ops::isUnitAxis(id) && !id->isBroadcast() && wanted != 1 && wanted != -1) {
      x = ops::asBroadcast(x, i);
    }
  }
  const std::vector<Val*> own = ops::sizesOf(x);
  std::vector<IterDomain*> axes = ops::freshAxes(x);
  std::vector<Val*> extents;
  bool changed = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    Val* size = SimplifyingIrBuilder::maybeCastExpr(DataType::Index, expanded_sizes[i]);
    IterDomain* axis = expandedAxis(axes[i], own[i], size, i, inp);
    const bool asks = constantOf(size) != -1 && !own[i]->sameAs(size);
    changed |= axis != axes[i] || asks;
    axes[i] = axis;
    extents.push_back(asks ? size : own[i]);
  }
  if (!changed) {
    return x == inp ? set(inp) : x;
  }
  TensorView* out = ops::newTensor(std::move(axes), x->dtype());
  IrBuilder::create<ExpandOp>(out, x, extents);
  return out;
}

TensorView* expand_as(TensorView* inp, TensorView* other) {
  ops::requireTensor(other, "expand_as");
  return expand(inp, shape(other));
}

TensorView* repeat(TensorView* inp, const std::vector<int64_t>& repeat_times) {
  ops::requireTensor(inp, "repeat");
  const size_t rank = axesOf(inp).size();
  if (repeat_times.size() < rank) {
    userError("repeat: ", repeat_times.size(), " counts were given for the ", rank, " axes of ",
              inp, "; each axis needs one");
  }
  for (int64_t times : repeat_times) {
    if (times < 0) {
      userError("repeat: a count must not be negative, got ", times, " for ", inp);
    }
  }
  TensorView* x = ops::maybe_broadcast_inner_to_rank(inp, repeat_times.size());
  const std::vector<IterDomain*> axes = axesOf(x);
  if (std::find(repeat_times.begin(), repeat_times.end(), 0) != repeat_times.end()) {
    const std::vector<Val*> present = ops::sizesOf(x);
    std::vector<Val*> sizes;
    for (size_t i = 0; i < axes.size(); ++i) {
      sizes.push_back(SimplifyingIrBuilder::mulExpr(present[i], repeat_times[i]));
    }
    return full(sizes, inp->fusion()->zeroVal(inp->dtype()), inp->dtype());
  }

  // [n] repeated k times: broadcast [b, n] → real [k, n] → merged [k·n]. An axis of extent 1 needs
  // no new one.
  std::vector<bool> is_new;
  std::vector<IterDomain*> real;  // axes of the RepeatOp; null: as in its input
  std::vector<ops::AxisGroup> groups;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t times = repeat_times[i];
    const bool unit = ops::isUnitAxis(axes[i]) && axes[i]->isBroadcast();
    const bool pair = times > 1 && !unit;
    if (pair) {
      is_new.push_back(true);
      real.push_back(ops::newIterAxis(ops::indexConstant(times)));
    }
    is_new.push_back(false);
    IterDomain* own = nullptr;
    if (pair && axes[i]->isBroadcast()) {
      own = ops::newIterAxis(extentOf(axes[i]));
    }
    if (times > 1 && unit) {
      own = ops::newIterAxis(ops::indexConstant(times));
    }
    real.push_back(own);
    groups.push_back({is_new.size() - (pair ? 2 : 1), is_new.size(), i, i + 1});
  }
  const bool any = std::any_of(real.begin(), real.end(), [](auto* id) { return id != nullptr; });
  if (!any) {
    return x == inp ? set(inp) : x;
  }
  const bool any_pair = is_new.size() > axes.size();
  if (any_pair) {
    x = broadcast(x, is_new);
  }
  std::vector<IterDomain*> out_axes = ops::freshAxes(x);
  for (size_t i = 0; i < out_axes.size(); ++i) {
    if (real[i]) {
      out_axes[i] = real[i];
    }
  }
  TensorView* repeated = ops::newTensor(std::move(out_axes), x->dtype());
  IrBuilder::create<RepeatOp>(repeated, x);
  return any_pair ? ops::regroup(repeated, groups, std::vector<Val*>(groups.size(), nullptr))
                  : repeated;
}

}  // namespace nvfuser
