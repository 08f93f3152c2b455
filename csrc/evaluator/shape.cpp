// Operations that move elements or make them from nothing. Nearly all results are views of their
// operand.

#include <functional>
#include <optional>
#include <unordered_set>

#include <evaluator/operations.h>

namespace nvfuser::reference {

namespace {

/// Copies `from` into `to`, which has its sizes, where `to` starts at its own offset.
void copyInto(Array& to, const Array& from) {
  withNumberType(from.kind(), [&](auto type) {
    using T = decltype(type);
    const T* source = from.data<T>();
    T* target = to.data<T>();
    forEachRun<2>(from.sizes, {to.strides, from.strides}, {to.offset, from.offset},
                  [&](int64_t length, const std::array<int64_t, 2>& start,
                      const std::array<int64_t, 2>& step) {
                    for (int64_t i = 0; i < length; ++i) {
                      target[start[0] + i * step[0]] = source[start[1] + i * step[1]];
                    }
                  });
  });
}

/// Row-major, with its elements its own.
Array materialized(const Array& array) {
  Array copy = makeArray(array.dtype, array.sizes);
  copyInto(copy, array);
  return copy;
}

/// `fill` around `array`: out[i] = in[i − left]. Negative widths cut.
Array padAxes(const Array& array, const std::vector<int64_t>& left,
              const std::vector<int64_t>& right, const PolymorphicValue& fill) {
  std::vector<int64_t> sizes = array.sizes;
  Array inner = array;  // what remains of the input
  std::vector<int64_t> begin(array.rank());
  for (size_t axis = 0; axis < array.rank(); ++axis) {
    sizes[axis] += left[axis] + right[axis];
    if (sizes[axis] < 0) {
      userError("pad: axis ", axis, " of extent ", array.sizes[axis], " cannot be cut by ",
                -left[axis], " and ", -right[axis]);
    }
    const int64_t first = std::max<int64_t>(0, -left[axis]);
    const int64_t last = std::min(array.sizes[axis], array.sizes[axis] + right[axis]);
    inner.offset += first * array.strides[axis];
    inner.sizes[axis] = std::max<int64_t>(0, last - first);
    begin[axis] = first + left[axis];
  }
  if (sizes == inner.sizes) {
    return inner;
  }
  Array out = materialized(splat(fill, array.dtype, sizes));
  if (inner.numel() == 0) {
    return out;
  }
  Array window = out;
  window.sizes = inner.sizes;
  for (size_t axis = 0; axis < array.rank(); ++axis) {
    window.offset += begin[axis] * out.strides[axis];
  }
  copyInto(window, inner);
  return out;
}

/// The array with its axes in the order `order`.
Array permuted(const Array& array, const std::vector<size_t>& order) {
  Array view = array;
  for (size_t axis = 0; axis < order.size(); ++axis) {
    view.sizes[axis] = array.sizes[order[axis]];
    view.strides[axis] = array.strides[order[axis]];
  }
  return view;
}

/// An array whose axes have names.
class NamedAxes {
 public:
  NamedAxes(Array array, std::vector<IterDomain*> ids, const PolymorphicValue& fill,
            Context& context)
      : array_(std::move(array)), ids_(std::move(ids)), fill_(fill), context_(context) {}

  void apply(const Expr* transform) {
    if (transform->isA<Split>()) {
      split(transform->as<Split>());
    } else if (transform->isA<Merge>()) {
      merge(transform->as<Merge>());
    } else if (transform->isA<Resize>()) {
      resize(transform->as<Resize>());
    } else {
      throwInternal(text("a logical domain is made by ", exprKindName(transform->kind())),
                    std::source_location::current());
    }
  }

  Array inOrder(const std::vector<IterDomain*>& ids) const {
    check(ids.size() == ids_.size(), "a logical domain lacks axes of its root domain");
    std::vector<size_t> order;
    for (const IterDomain* id : ids) {
      order.push_back(find(id));
    }
    return permuted(array_, order);
  }

 private:
  size_t find(const IterDomain* id) const {
    auto at = std::find(ids_.begin(), ids_.end(), id);
    check(at != ids_.end(), "a transform reads an axis that is not there");
    return static_cast<size_t>(at - ids_.begin());
  }

  void padAxis(size_t axis, int64_t left, int64_t right) {
    std::vector<int64_t> before(array_.rank(), 0);
    std::vector<int64_t> after(array_.rank(), 0);
    before[axis] = left;
    after[axis] = right;
    array_ = padAxes(array_, before, after, fill_);
  }

  void split(const Split* op) {
    const size_t axis = find(op->in());
    const int64_t factor = context_.evaluator.evaluateInt(op->factor(), "the factor of a split");
    if (factor <= 0) {
      userError("split: factor must be positive, got ", factor, " for axis ", *op->in());
    }
    const int64_t size = array_.sizes[axis];
    const int64_t other = (size + factor - 1) / factor;
    if (other * factor != size) {
      padAxis(axis, 0, other * factor - size);
    }
    const int64_t inner = op->innerSplit() ? factor : other;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    array_.sizes[axis] = op->innerSplit() ? other : factor;
    array_.sizes.insert(array_.sizes.begin() + at + 1, inner);
    array_.strides.insert(array_.strides.begin() + at + 1, array_.strides[axis]);
    array_.strides[axis] *= inner;
    ids_[axis] = op->outer();
    ids_.insert(ids_.begin() + at + 1, op->inner());
  }

  void merge(const Merge* op) {
    // The inner axis moves to stand behind the outer one.
    const size_t inner = find(op->inner());
    const size_t outer = find(op->outer());
    std::vector<size_t> order;
    std::vector<IterDomain*> ids;
    for (size_t axis = 0; axis < ids_.size(); ++axis) {
      if (axis == inner) {
        continue;
      }
      order.push_back(axis);
      ids.push_back(ids_[axis]);
      if (axis == outer) {
        order.push_back(inner);
        ids.push_back(ids_[inner]);
      }
    }
    array_ = permuted(array_, order);
    ids_ = std::move(ids);
    const size_t axis = find(op->outer());
    const bool gap = array_.sizes[axis] != 1 && array_.sizes[axis + 1] != 1 &&
                     array_.strides[axis] != array_.strides[axis + 1] * array_.sizes[axis + 1];
    if (gap) {
      array_ = materialized(array_);
    }
    const auto at = static_cast<std::ptrdiff_t>(axis);
    if (array_.sizes[axis + 1] != 1) {
      array_.strides[axis] = array_.strides[axis + 1];
    }
    array_.sizes[axis] *= array_.sizes[axis + 1];
    array_.sizes.erase(array_.sizes.begin() + at + 1);
    array_.strides.erase(array_.strides.begin() + at + 1);
    ids_[axis] = op->out();
    ids_.erase(ids_.begin() + at + 1);
  }

  void resize(const Resize* op) {
    const size_t axis = find(op->in());
    const int64_t left = context_.evaluator.evaluateInt(op->leftExpand(), "the width of a resize");
    const int64_t right =
        context_.evaluator.evaluateInt(op->rightExpand(), "the width of a resize");
    ids_[axis] = op->out();
    if (op->step() == 1) {
      padAxis(axis, left, right);
      return;
    }
    const int64_t size = (array_.sizes[axis] + left + right) / op->step();
    const int64_t last_read = -left + (size - 1) * op->step();
    const int64_t first = std::min(-left, last_read);
    const int64_t last = std::max(-left, last_read);
    padAxis(axis, -first, size == 0 ? first - array_.sizes[axis] : last + 1 - array_.sizes[axis]);
    array_.offset += (-left - first) * array_.strides[axis];
    array_.sizes[axis] = size;
    array_.strides[axis] *= op->step();
  }

  Array array_;
  std::vector<IterDomain*> ids_;
  PolymorphicValue fill_;
  Context& context_;
};

/// The transforms that lead from `from` to `to`, producers first.
std::vector<const Expr*> transformsBetween(const std::vector<IterDomain*>& from,
                                           const std::vector<IterDomain*>& to) {
  std::unordered_set<const Val*> made(from.begin(), from.end());
  std::vector<const Expr*> sorted;
  const std::function<void(const IterDomain*)> visit = [&](const IterDomain* id) {
    if (made.count(id) != 0) {
      return;
    }
    const Expr* def = id->definition();
    check(def != nullptr, "an axis of a logical domain does not come from the root domain");
    for (const Val* input : def->inputs()) {
      visit(input->as<IterDomain>());
    }
    for (const Val* output : def->outputs()) {
      made.insert(output);
    }
    sorted.push_back(def);
  };
  for (const IterDomain* id : to) {
    visit(id);
  }
  return sorted;
}

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

Array transformAxes(const Array& array, const std::vector<IterDomain*>& from,
                    const std::vector<IterDomain*>& to, const PolymorphicValue& fill,
                    Context& context) {
  check(array.rank() == from.size(), "an array has another rank than its axes");
  NamedAxes named(array, from, fill, context);
  for (const Expr* transform : transformsBetween(from, to)) {
    named.apply(transform);
  }
  return named.inOrder(to);
}

}  // namespace nvfuser::reference
