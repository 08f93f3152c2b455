#include <algorithm>

#include <ir/builder.h>
#include <ir/size_arithmetic.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/define_again.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;
using Simplify = SimplifyingIrBuilder;

namespace ops {

TensorView* padTo(TensorView* x, const std::vector<Margin>& margins, Val* value) {
  std::vector<bool> padded;
  for (const Margin& margin : margins) {
    padded.push_back(margin.left != nullptr);
  }
  x = ops::materialize(x, padded);
  const std::vector<IterDomain*> root = ops::freshAxes(x);
  std::vector<IterDomain*> logical;
  std::vector<Val*> widths;
  for (size_t i = 0; i < root.size(); ++i) {
    const Margin& margin = margins[i];
    Val* zero = x->fusion()->zeroVal(DataType::Index);
    widths.insert(widths.end(), {padded[i] ? margin.left : zero, padded[i] ? margin.right : zero});
    logical.push_back(padded[i] ? ops::resizeAxis(root[i], margin.left, margin.right, margin.extent)
                                : root[i]);
  }
  TensorView* out = ops::newTensor(root, std::move(logical), x->dtype());
  IrBuilder::create<PadOp>(out, x, value, widths);
  return out;
}

}  // namespace ops

namespace {

/// Axes that ended with one element become broadcast axes, unless the caller says that they are
/// iterated.
TensorView* unitAxesAsBroadcast(TensorView* x, const std::vector<size_t>& changed,
                                std::optional<IterType> iter_type) {
  if (iter_type && *iter_type != IterType::Broadcast) {
    return x;
  }
  for (size_t axis : changed) {
    if (ops::isUnitAxis(axesOf(x)[axis])) {
      x = ops::asBroadcast(x, axis);
    } else if (iter_type == IterType::Broadcast) {
      userError("pad: axis ", axis, " of ", x,
                " cannot be a broadcast axis: its extent is not the constant 1");
    }
  }
  return x;
}

int categoryOf(DataType dtype) {
  if (isComplexType(dtype)) {
    return 3;
  }
  if (isFloatingPointType(dtype)) {
    return 2;
  }
  return isIntegralType(dtype) ? 1 : 0;
}

}  // namespace

TensorView* pad(TensorView* x, const std::vector<Val*>& pad_widths, Val* value,
                std::optional<IterType> iter_type_opt) {
  ops::requireTensor(x, "pad");
  const std::vector<IterDomain*> axes = axesOf(x);
  if (pad_widths.size() % 2 != 0 || pad_widths.size() > 2 * axes.size()) {
    userError("pad: ", pad_widths.size(), " widths were given for ", x, ", which has ", axes.size(),
              " axes; give a left and a right one for each padded axis, the last axis first");
  }
  if (value == nullptr) {
    value = x->fusion()->zeroVal(x->dtype());
  } else if (!value->isScalar() || categoryOf(value->dtype()) != categoryOf(x->dtype())) {
    userError("pad: Tensor arg and pad value must have the same dtype. ", x, " has dtype ",
              x->dtype(), ", the value has ", value->dtype());
  }
  value = Simplify::maybeCastExpr(x->dtype(), value);

  const std::vector<Val*> sizes = ops::sizesOf(x);
  std::vector<ops::Margin> margins(axes.size());
  std::vector<size_t> changed;
  for (size_t k = 0; k < pad_widths.size() / 2; ++k) {
    const size_t axis = axes.size() - 1 - k;
    Val* left = pad_widths[2 * k];
    Val* right = pad_widths[2 * k + 1];
    for (Val* width : {left, right}) {
      if (width == nullptr || !width->isIntegralScalar()) {
        userError("pad: widths are integer scalars, got ", width, " for axis ", axis, " of ", x);
      }
    }
    if (left->isZero() && right->isZero()) {
      continue;
    }
    left = Simplify::maybeCastExpr(DataType::Index, left);
    right = Simplify::maybeCastExpr(DataType::Index, right);
    Val* extent = SizeArithmetic::sum(sizes[axis], SizeArithmetic::sum(left, right));
    if (const auto size = constantOf(extent); size && *size < 0) {
      userError("pad: widths ", left->toInlineString(), " and ", right->toInlineString(),
                " cut more than axis ", axis, " of ", x, " has: its extent is ",
                extentOf(axes[axis])->toInlineString());
    }
    margins[axis] = {left, right, extent};
    changed.push_back(axis);
  }
  if (changed.empty()) {
    return set(x);
  }
  return unitAxesAsBroadcast(ops::padTo(x, margins, value), changed, iter_type_opt);
}

namespace {

void checkCatInputs(const std::vector<TensorView*>& inputs, int64_t dim) {
  if (inputs.empty()) {
    userError("cat: No input tensor given; at least one is needed");
  }
  for (TensorView* tv : inputs) {
    ops::requireTensor(tv, "cat");
  }
  const TensorView* first = inputs[0];
  const auto rank = static_cast<int64_t>(axesOf(first).size());
  if (dim < -rank || dim >= rank) {
    userError("cat: Invalid dimension to cat: ", dim, "; ", first, " has ", rank, " axes");
  }
  for (TensorView* tv : inputs) {
    if (static_cast<int64_t>(axesOf(tv).size()) != rank) {
      userError("cat: Unexpected number of dimensions: ", tv, " has ", axesOf(tv).size(), ", ",
                first, " has ", rank);
    }
    if (tv->dtype() != first->dtype()) {
      userError("cat: Can't concatenate tensors with different data types: ", tv, " has ",
                tv->dtype(), ", ", first, " has ", first->dtype(), "; cast one of them");
    }
  }
}

/// All sizes but that of `axis` agree where they are constants.
void checkOtherSizes(const std::vector<TensorView*>& inputs, size_t axis) {
  for (size_t i = 0; i < axesOf(inputs[0]).size(); ++i) {
    std::optional<int64_t> size;
    for (TensorView* tv : inputs) {
      const auto present = constantOf(extentOf(axesOf(tv)[i]));
      if (i == axis || !present) {
        continue;
      }
      if (size && *size != *present) {
        userError("cat: sizes of axis ", i, " differ: ", tv, " has ", *present, ", not ", *size,
                  "; only the joined axis ", axis, " may differ");
      }
      size = present;
    }
  }
}

/// Whether symbols show that all sizes but that of `axis` agree.
bool agree(const TensorView* a, const TensorView* b, size_t axis) {
  const std::vector<IterDomain*> of_a = axesOf(a);
  const std::vector<IterDomain*> of_b = axesOf(b);
  for (size_t i = 0; i < of_a.size(); ++i) {
    if (i != axis && !extentOf(of_a[i])->sameAs(extentOf(of_b[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace

TensorView* cat(const std::vector<TensorView*>& inputs, int64_t dim,
                std::optional<IterType> iter_type_opt, bool manual_padding) {
  checkCatInputs(inputs, dim);
  const auto axis =
      static_cast<size_t>(wrapDim(dim, static_cast<int64_t>(axesOf(inputs[0]).size()), "cat"));
  if (!manual_padding) {
    checkOtherSizes(inputs, axis);
  }

  // Inputs without elements add nothing. Where symbols do not show that their other sizes agree,
  // they stay, to be checked in each call.
  const bool all_agree = std::all_of(inputs.begin(), inputs.end(),
                                     [&](TensorView* tv) { return agree(tv, inputs[0], axis); });
  std::vector<TensorView*> parts;
  for (TensorView* tv : inputs) {
    if (manual_padding || !all_agree || constantOf(extentOf(axesOf(tv)[axis])) != 0) {
      parts.push_back(tv);
    }
  }
  if (parts.empty()) {
    parts.push_back(inputs[0]);
  }
  if (parts.size() == 1) {
    return set(parts[0]);
  }

  std::vector<Val*> padded(parts.begin(), parts.end());
  if (!manual_padding) {
    // offsets[k] elements come before part k; the last entry is the extent of the result.
    std::vector<Val*> offsets{inputs[0]->fusion()->zeroVal(DataType::Index)};
    for (TensorView* tv : parts) {
      offsets.push_back(SizeArithmetic::sum(offsets.back(), ops::sizesOf(tv)[axis]));
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      std::vector<ops::Margin> margins(axesOf(parts[k]).size());
      margins[axis] = {offsets[k], SizeArithmetic::difference(offsets.back(), offsets[k + 1]),
                       offsets.back()};
      padded[k] = ops::padTo(parts[k], margins, parts[k]->fusion()->zeroVal(parts[k]->dtype()));
    }
  }
  std::vector<IterDomain*> out_axes = ops::newOutputDomain(padded, "cat");
  if (iter_type_opt) {
    out_axes[axis] = IterDomainBuilder(out_axes[axis]).iter_type(*iter_type_opt).build();
  }
  TensorView* out = ops::newTensor(std::move(out_axes), parts[0]->dtype());
  IrBuilder::create<CatOp>(out, padded, static_cast<int64_t>(axis));
  return out;
}

}  // namespace nvfuser
