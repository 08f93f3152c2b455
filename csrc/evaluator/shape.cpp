// Operations that move elements or make them from nothing. Nearly all results are views of their
// operand.

#include <unordered_set>

#include <evaluator/operations.h>

namespace nvfuser::reference {

namespace {

int64_t clamped(int64_t value, int64_t low, int64_t high) {
  return std::max(low, std::min(value, high));
}

/// What part of a padded tensor is its own along `axis`: [first, last). The pad is looked for
/// behind copies, casts and other pointwise operations; a tensor without one is its own throughout.
std::pair<int64_t, int64_t> ownRange(const Val* val, size_t axis, int64_t size, Context& context) {
  std::vector<const Val*> open{val};
  std::unordered_set<const Val*> seen;
  while (!open.empty()) {
    const Expr* def = open.back()->definition();
    const bool is_new = seen.insert(open.back()).second;
    open.pop_back();
    if (def == nullptr || !is_new) {
      continue;
    }
    if (def->isA<PadOp>()) {
      const auto* op = def->as<PadOp>();
      const std::pair<int64_t, int64_t> range{
          context.evaluator.evaluateInt(op->leftWidth(axis), "the width of a pad"),
          size - context.evaluator.evaluateInt(op->rightWidth(axis), "the width of a pad")};
      if (range != std::pair<int64_t, int64_t>(0, size)) {
        return range;
      }
    }
    if (def->isOneOf<LoadStoreOp, UnaryOp, BinaryOp, TernaryOp>()) {
      for (auto input = def->inputs().rbegin(); input != def->inputs().rend(); ++input) {
        if ((*input)->isA<TensorView>() &&
            (*input)->as<TensorView>()->getLogicalDomain().size() > axis) {
          open.push_back(*input);
        }
      }
    }
  }
  return {0, size};
}

}  // namespace

Array broadcast(const BroadcastOp* op, Context& context) {
  const Array in = context.operand(op->in());
  Array out = in;
  out.sizes.clear();
  out.strides.clear();
  size_t axis = 0;
  for (const bool is_new : op->flags()) {
    out.sizes.push_back(is_new ? 1 : in.sizes.at(axis));
    out.strides.push_back(is_new ? 0 : in.strides[axis++]);
  }
  check(axis == in.rank(), "a broadcast's flags do not fit its operand");
  return out;
}

Array squeeze(const SqueezeOp* op, Context& context) {
  const Array in = context.operand(op->in());
  // All elements along an expanded axis are one and the same.
  const auto axes = TensorDomain::noReductions(op->in()->as<TensorView>()->getLogicalDomain());
  Array out = in;
  out.sizes.clear();
  out.strides.clear();
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    if (!op->isSqueezeDim(axis)) {
      out.sizes.push_back(in.sizes[axis]);
      out.strides.push_back(in.strides[axis]);
    } else if (in.sizes[axis] != 1 && !axes.at(axis)->isBroadcast()) {
      userError("squeeze: axis ", axis, " of ", *op->in(), " has extent ", in.sizes[axis],
                "; only axes of extent 1 can be dropped");
    }
  }
  if (in.numel() == 0 && out.numel() > 0) {
    // Nothing was stretched to nothing: what a sum over that axis multiplies by 0.
    return contiguous(splat(0, out.dtype, out.sizes));
  }
  return out;
}

Array expand(const ExpandOp* op, Context& context) {
  const Array in = context.operand(op->in());
  std::vector<int64_t> sizes;
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    const int64_t size =
        context.evaluator.evaluateInt(op->input(axis + 1), "the extent of an expand");
    if (in.sizes[axis] != 1 && in.sizes[axis] != size && size != -1) {
      userError("expand: axis ", axis, " of ", *op->in(), " has extent ", in.sizes[axis],
                " and cannot be expanded to ", size);
    }
    sizes.push_back(size == -1 ? in.sizes[axis] : size);
  }
  return broadcastTo(in, sizes);
}

Array repeat(const RepeatOp* op, Context& context) {
  Array in = context.operand(op->in());
  const std::vector<int64_t> sizes = context.logicalSizes(op->out()->as<TensorView>());
  for (size_t axis = 0; axis < in.rank(); ++axis) {
    if (in.strides[axis] == 0) {
      in.sizes[axis] = 1;  // an expanded axis: one element stands for all
    }
  }
  return broadcastTo(in, sizes);
}

Array reshape(const ReshapeOp* op, Context& context) {
  const Array in = contiguous(context.operand(op->in()));
  Array out = in;
  out.sizes = context.logicalSizes(op->out()->as<TensorView>());
  out.strides = rowMajorStrides(out.sizes);
  if (out.numel() != in.numel()) {
    userError("reshape: Total element counts across view operation must match: [",
              join(in.sizes, ", "), "] has ", in.numel(), ", [", join(out.sizes, ", "), "] ",
              out.numel());
  }
  return out;
}

Array slice(const SliceOp* op, Context& context) {
  Array out = context.operand(op->in());
  for (size_t axis = 0; axis < out.rank(); ++axis) {
    const int64_t size = out.sizes[axis];
    auto valueOf = [&](const Val* val) {
      return context.evaluator.evaluateInt(val, "the bound of a slice");
    };
    const int64_t step = context.evaluator.evaluateInt(op->step(axis), "the step of a slice");
    int64_t start = valueOf(op->start(axis));
    int64_t stop = valueOf(op->stop(axis));
    if (step == 1) {
      start = clamped(start < 0 ? start + size : start, 0, size);
      stop = std::max(start, clamped(stop < 0 ? stop + size : stop, 0, size));
    }
    out.sizes[axis] = (stop - start) / step;
    out.offset += out.sizes[axis] == 0 ? 0 : start * out.strides[axis];
    out.strides[axis] *= step;
  }
  return out;
}

Array pad(const PadOp* op, Context& context) {
  const Array in = context.operand(op->in());
  const Array fill = convert(context.operand(op->value()), in.dtype);
  const auto* out = op->out()->as<TensorView>();
  return transformAxes(in, TensorDomain::noReductions(out->getMaybeRootDomain()),
                       TensorDomain::noReductions(out->getLogicalDomain()), onlyElement(fill),
                       context);
}

Array cat(const CatOp* op, Context& context) {
  const auto axis = static_cast<size_t>(op->concatenatedDim());
  std::vector<Array> inputs;
  std::vector<const Array*> all;
  for (const Val* input : op->inputs()) {
    inputs.push_back(context.operand(input));
  }
  for (const Array& input : inputs) {
    all.push_back(&input);
  }
  const std::vector<int64_t> sizes = commonSizes(all, "cat");
  Array out = makeArray(op->out()->dtype(), sizes);
  for (size_t n = inputs.size();
       n-- > 0;) {  // backwards: where ranges overlap, the first input counts
    Array piece = broadcastTo(inputs[n], sizes);
    auto [first, last] = ownRange(op->input(n), axis, sizes[axis], context);
    first = clamped(first, 0, sizes[axis]);
    last = clamped(last, first, sizes[axis]);
    Array window = out;
    window.sizes[axis] = piece.sizes[axis] = last - first;
    piece.offset += first * piece.strides[axis];
    window.offset += first * window.strides[axis];
    copyInto(window, piece);
  }
  return out;
}

Array viewAsScalar(const ViewAsScalar* op, Context& context) {
  const Array in = contiguous(context.operand(op->in()));
  std::vector<int64_t> sizes = in.sizes;
  sizes.push_back(2);
  Array out = makeArray(op->out()->dtype(), sizes);
  const Complex* from = in.data<Complex>() + in.offset;
  auto* to = out.data<double>();
  for (int64_t i = 0; i < in.numel(); ++i) {
    to[2 * i] = from[i].real();
    to[2 * i + 1] = from[i].imag();
  }
  return out;
}

Array full(const FullOp* op, Context& context) {
  const Array fill = convert(context.operand(op->getFillValue()), op->out()->dtype());
  return broadcastTo(fill, context.logicalSizes(op->out()->as<TensorView>()));
}

Array iota(const IotaOp* op, Context& context) {
  const DataType dtype = op->out()->dtype();
  const int64_t length = context.evaluator.evaluateInt(op->length(), "the length of an iota");
  const Array start = convert(context.operand(op->start()), dtype);
  const Array step = convert(context.operand(op->step()), dtype);
  Array out = makeArray(dtype, {length});
  if (out.kind() == HostNumber::Integer) {
    auto next = static_cast<uint64_t>(onlyElement(start).as<int64_t>());
    const auto stride = static_cast<uint64_t>(onlyElement(step).as<int64_t>());
    for (int64_t i = 0; i < length; ++i, next += stride) {
      out.data<int64_t>()[i] = wrapToDtype(static_cast<int64_t>(next), dtype);
    }
    return out;
  }
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, int64_t>) {
      const T first = onlyElement(start).as<T>();
      const T stride = onlyElement(step).as<T>();
      for (int64_t i = 0; i < length; ++i) {
        out.data<T>()[i] = first + static_cast<double>(i) * stride;
      }
    }
  });
  return out;
}

Array eye(const EyeOp* op, Context& context) {
  Array out = makeArray(op->out()->dtype(), context.logicalSizes(op->out()->as<TensorView>()));
  check(out.rank() == 2, "an identity matrix has two axes");
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    for (int64_t i = 0; i < std::min(out.sizes[0], out.sizes[1]); ++i) {
      out.data<T>()[i * out.strides[0] + i * out.strides[1]] = T(1);
    }
  });
  return out;
}

}  // namespace nvfuser::reference
