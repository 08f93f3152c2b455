// Operations that read or write through an index. An index outside its axis is an error here, not a
// wild access.

#include <evaluator/operations.h>
#include <ir/index_error.h>

namespace nvfuser::reference {

namespace {

int64_t checkedIndex(int64_t index, int64_t size, const Expr* op) {
  if (index < 0 || index >= size) {
    indexOutOfRange(*op, index, size);
  }
  return index;
}

/// out[…] = in[…] with the coordinate along `dim` read from `index`. All three have the sizes of
/// `out`; the strides of `in` say nothing about `dim`, along which it has `size` elements `step`
/// apart.
void gatherInto(Array& out, const Array& in, const Array& index, int64_t size, int64_t step,
                const Expr* op) {
  const auto* indices = index.data<int64_t>();
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    T* to = out.data<T>();
    const T* from = in.data<T>();
    forEachRun<3>(out.sizes, {out.strides, in.strides, index.strides},
                  {out.offset, in.offset, index.offset},
                  [&](int64_t length, const std::array<int64_t, 3>& start,
                      const std::array<int64_t, 3>& stride) {
                    for (int64_t i = 0; i < length; ++i) {
                      const int64_t at = checkedIndex(indices[start[2] + i * stride[2]], size, op);
                      to[start[0] + i * stride[0]] = from[start[1] + i * stride[1] + at * step];
                    }
                  });
  });
}

Array indexOperand(const Val* val, Context& context) {
  const Array index = context.operand(val);
  check(index.kind() == HostNumber::Integer, "an index is an integer");
  return index;
}

}  // namespace

Array select(const SelectOp* op, Context& context) {
  Array out = context.operand(op->input(0));
  const auto dim = static_cast<size_t>(op->dim());
  const int64_t index =
      checkedIndex(onlyElement(context.operand(op->input(1))).as<int64_t>(), out.sizes.at(dim), op);
  out.offset += index * out.strides[dim];
  out.sizes.erase(out.sizes.begin() + op->dim());
  out.strides.erase(out.strides.begin() + op->dim());
  return out;
}

Array indexSelect(const IndexSelectOp* op, Context& context) {
  Array in = context.operand(op->input(0));
  Array index = indexOperand(op->input(1), context);
  const auto dim = static_cast<size_t>(op->dim());
  const int64_t size = in.sizes.at(dim);
  const int64_t step = in.strides[dim];
  const int64_t count = index.rank() == 0 ? 1 : index.sizes.at(0);
  const int64_t stride = index.rank() == 0 ? 0 : index.strides[0];
  std::vector<int64_t> sizes = in.sizes;
  sizes[dim] = count;
  Array out = makeArray(in.dtype, sizes);
  in.strides[dim] = 0;
  in.sizes = sizes;
  index.sizes = sizes;
  index.strides.assign(sizes.size(), 0);
  index.strides[dim] = stride;
  gatherInto(out, in, index, size, step, op);
  return out;
}

Array gather(const GatherOp* op, Context& context) {
  Array in = context.operand(op->input(0));
  Array index = indexOperand(op->input(1), context);
  const auto dim = static_cast<size_t>(op->dim());
  check(index.rank() == in.rank() && dim < in.rank(), "gather: operands have different ranks");
  const int64_t size = in.sizes[dim];
  const int64_t step = in.strides[dim];
  std::vector<int64_t> sizes = index.sizes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (axis == dim) {
      continue;
    }
    if (op->exactSizes() && sizes[axis] == 1) {
      sizes[axis] = in.sizes[axis];
    }
    if (op->exactSizes() && in.sizes[axis] == 1) {
      in.strides[axis] = 0;
    } else if (in.sizes[axis] < sizes[axis]) {
      userError("gather: along axis ", axis, " the index has extent ", sizes[axis],
                ", but the input only ", in.sizes[axis]);
    }
  }
  in.strides[dim] = 0;
  in.sizes = sizes;
  Array out = makeArray(in.dtype, sizes);
  gatherInto(out, in, broadcastTo(index, sizes), size, step, op);
  return out;
}

Array scatter(const ScatterOp* op, Context& context) {
  const Array self = context.operand(op->input(0));
  const Array index = indexOperand(op->input(1), context);
  const auto dim = static_cast<size_t>(op->dim());
  check(index.rank() == self.rank() && dim < self.rank(), "scatter: operands have different ranks");
  Array source = convert(context.operand(op->input(2)), self.dtype);
  for (size_t axis = 0; axis < index.rank(); ++axis) {
    const bool too_large = axis != dim && index.sizes[axis] > self.sizes[axis];
    const bool too_many =
        source.rank() != 0 && index.sizes[axis] > source.sizes[axis] && source.sizes[axis] != 1;
    if (too_large || too_many) {
      userError("scatter: along axis ", axis, " the index has extent ", index.sizes[axis],
                ", but what it is applied to only ",
                too_large ? self.sizes[axis] : source.sizes[axis]);
    }
    if (source.rank() != 0 && source.sizes[axis] == 1) {
      source.strides[axis] = 0;
    }
  }
  if (source.rank() == 0) {
    source = broadcastTo(source, index.sizes);
  }
  // A copy of `self`, which other operations may read too.
  Array out = makeArray(self.dtype, self.sizes);
  std::vector<int64_t> strides = out.strides;
  strides[dim] = 0;
  const auto* indices = index.data<int64_t>();
  withNumberType(out.kind(), [&](auto type) {
    using T = decltype(type);
    T* to = out.data<T>();
    const T* old = self.data<T>();
    forEachRun<2>(out.sizes, {out.strides, self.strides}, {0, self.offset},
                  [&](int64_t length, const std::array<int64_t, 2>& start,
                      const std::array<int64_t, 2>& step) {
                    for (int64_t i = 0; i < length; ++i) {
                      to[start[0] + i * step[0]] = old[start[1] + i * step[1]];
                    }
                  });
    if (op->accumulateOp()) {
      return;
    }
    const T* from = source.data<T>();
    forEachRun<3>(
        index.sizes, {strides, source.strides, index.strides}, {0, source.offset, index.offset},
        [&](int64_t length, const std::array<int64_t, 3>& start,
            const std::array<int64_t, 3>& step) {
          for (int64_t i = 0; i < length; ++i) {
            const int64_t at = checkedIndex(indices[start[2] + i * step[2]], out.sizes[dim], op);
            to[start[0] + i * step[0] + at * out.strides[dim]] = from[start[1] + i * step[1]];
          }
        });
  });
  if (op->accumulateOp()) {
    accumulate(op, out, source, index);
  }
  return out;
}

}  // namespace nvfuser::reference
