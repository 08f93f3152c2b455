#include <ops/indexing.h>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/named_axes.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::axesOf;
using ops::constantOf;
using ops::extentOf;
using Simplify = SimplifyingIrBuilder;

namespace {

size_t rankOfOperand(const TensorView* tv) { return axesOf(tv).size(); }

void requireIndex(const TensorView* index, std::string_view op) {
  ops::requireTensor(index, op);
  if (!isIntegralType(index->dtype())) {
    userError(op, ": the index ", index, " has dtype ", index->dtype(),
              "; an index tensor holds integers");
  }
}

/// For operations whose tensors all have one rank: checks it, and counts `dim` from the front.
int64_t dimOfEqualRanks(std::string_view op, const TensorView* a, const TensorView* b,
                        int64_t dim) {
  const auto rank = static_cast<int64_t>(rankOfOperand(a));
  if (rank != static_cast<int64_t>(rankOfOperand(b))) {
    userError(op, ": Tensor arguments have different dimensions ", rank, " and ", rankOfOperand(b),
              ": ", a, " and ", b);
  }
  if (dim < -rank || dim >= rank) {
    userError(op, ": Tensor arguments have dimension ", rank, " so dim argument must satisfy ",
              -rank, " <= dim < ", rank, ", but received ", dim);
  }
  return dim < 0 ? dim + rank : dim;
}

/// Along axes other than `dim`, the index (or source) must not be longer than the indexed tensor.
void checkNotLonger(std::string_view op, const TensorView* index, const TensorView* indexed,
                    int64_t dim) {
  for (size_t i = 0; i < rankOfOperand(index); ++i) {
    if (static_cast<int64_t>(i) == dim) {
      continue;
    }
    const auto have = constantOf(extentOf(axesOf(indexed)[i]));
    const auto want = constantOf(extentOf(axesOf(index)[i]));
    if (have && want && *want > *have) {
      userError(op, ": axis ", i, " of the index ", index, " has extent ", *want, ", that of ",
                indexed, " only ", *have, "; the index may be shorter, not longer");
    }
  }
}

}  // namespace

TensorView* select(TensorView* tv, int64_t dim, Val* index) {
  ops::requireTensor(tv, "select");
  if (index == nullptr || !index->isIntegralScalar()) {
    userError("select: the index is an integer scalar, got ", index, " for ", tv);
  }
  std::vector<IterDomain*> axes = ops::freshAxes(tv);
  const int64_t axis = wrapDim(dim, static_cast<int64_t>(axes.size()), "select");
  Val* extent = extentOf(axes[static_cast<size_t>(axis)]);
  index = Simplify::maybeCastExpr(DataType::Index, index);
  const auto position = constantOf(index);
  const auto size = constantOf(extent);
  if (position && size && (*position < -*size || *position >= *size)) {
    userError("select: index ", *position, " is outside axis ", axis, " of ", tv,
              ", which has extent ", *size);
  }
  if (!position || *position < 0) {
    Val* zero = extent->fusion()->zeroVal(DataType::Index);
    index =
        Simplify::whereExpr(Simplify::ltExpr(index, zero), Simplify::addExpr(index, extent), index);
  }
  axes.erase(axes.begin() + axis);
  TensorView* out = ops::newTensor(std::move(axes), tv->dtype());
  IrBuilder::create<SelectOp>(out, tv, axis, index);
  return out;
}

TensorView* indexSelect(TensorView* input, int64_t dim, TensorView* index) {
  ops::requireTensor(input, "indexSelect");
  requireIndex(index, "indexSelect");
  std::vector<IterDomain*> axes = ops::freshAxes(input);
  if (axes.empty()) {
    userError("indexSelect: ", input, " has no axis to select from");
  }
  if (rankOfOperand(index) > 1) {
    userError("indexSelect: the index ", index, " has ", rankOfOperand(index),
              " axes; it must have one or none");
  }
  const int64_t axis = wrapDim(dim, static_cast<int64_t>(axes.size()), "indexSelect");
  axes[static_cast<size_t>(axis)] =
      rankOfOperand(index) == 0 ? ops::newBroadcastAxis() : ops::freshAxes(index)[0];
  TensorView* out = ops::newTensor(std::move(axes), input->dtype());
  IrBuilder::create<IndexSelectOp>(out, input, axis, index);
  return out;
}

TensorView* gather(TensorView* input, int64_t dim, TensorView* index) {
  ops::requireTensor(input, "gather");
  requireIndex(index, "gather");
  const int64_t axis = dimOfEqualRanks("gather", input, index, dim);
  checkNotLonger("gather", index, input, axis);
  std::vector<IterDomain*> axes = ops::freshAxes(index);
  for (size_t i = 0; i < axes.size(); ++i) {
    // An index that is the same all along an axis still reads each of the input's elements there.
    if (static_cast<int64_t>(i) != axis && axes[i]->hasExpandedExtent() &&
        !axesOf(input)[i]->isBroadcast()) {
      axes[i] = ops::newIterAxis(extentOf(axes[i]));
    }
  }
  TensorView* out = ops::newTensor(std::move(axes), input->dtype());
  IrBuilder::create<GatherOp>(out, input, axis, index, false);
  return out;
}

TensorView* takeAlongAxis(TensorView* input, TensorView* index, int64_t dim) {
  ops::requireTensor(input, "takeAlongAxis");
  ops::requireTensor(index, "takeAlongAxis");
  if (isFloatingPointType(index->dtype())) {
    index = castOp(DataType::Int, index);
  }
  requireIndex(index, "takeAlongAxis");
  const int64_t axis = dimOfEqualRanks("takeAlongAxis", input, index, dim);
  std::vector<IterDomain*> axes = ops::freshAxes(index);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (static_cast<int64_t>(i) == axis) {
      continue;
    }
    axes[i] = ops::newOutputIterDomain({axesOf(input)[i], axesOf(index)[i]}, std::nullopt,
                                       text("takeAlongAxis, axis ", i));
  }
  TensorView* out = ops::newTensor(std::move(axes), input->dtype());
  IrBuilder::create<GatherOp>(out, input, axis, index, true);
  return out;
}

TensorView* scatter(TensorView* self, int64_t dim, TensorView* index, Val* src,
                    std::optional<BinaryOpType> accumulate_op) {
  ops::requireTensor(self, "scatter");
  requireIndex(index, "scatter");
  if (src == nullptr) {
    userError("scatter: the source is null; a tensor or a scalar is needed");
  }
  if (accumulate_op) {
    using enum BinaryOpType;
    const BinaryOpType type = *accumulate_op;
    if (type != Add && type != Mul && type != Max && type != Min) {
      userError("scatter: elements of ", self, " cannot be accumulated by ", opName(type),
                "; add, mul, max and min can");
    }
    if (type == Max || type == Min) {
      ops::requireReal(self, "scatter");
    }
  }
  const int64_t axis = dimOfEqualRanks("scatter", self, index, dim);
  checkNotLonger("scatter", index, self, axis);
  if (src->isA<TensorView>()) {
    auto* source = src->as<TensorView>();
    dimOfEqualRanks("scatter", source, index, dim);
    checkNotLonger("scatter", index, source, -1);
    if (source->dtype() != self->dtype()) {
      userError("scatter: the source ", source, " has dtype ", source->dtype(), ", ", self, " has ",
                self->dtype(), "; cast one of them");
    }
  } else {
    src = Simplify::maybeCastExpr(self->dtype(), src);
  }
  // Stretched axes hold one element only: each of the result's is written by itself.
  self = ops::materialize(self, std::vector<bool>(rankOfOperand(self), true));
  TensorView* out = ops::newTensor(ops::freshAxes(self), self->dtype());
  IrBuilder::create<ScatterOp>(out, self, axis, index, src, accumulate_op);
  return out;
}

TensorView* indexPutAccumulate(TensorView* acc, TensorView* index, TensorView* value) {
  constexpr std::string_view kOp = "indexPutAccumulate";
  ops::requireTensor(acc, kOp);
  ops::requireTensor(value, kOp);
  requireIndex(index, kOp);
  if (ops::rankOf(index) != 1 || ops::rankOf(acc) == 0) {
    userError(kOp, ": rows of ", ops::describe(acc), " are counted by an index of one axis; got ",
              ops::describe(index));
  }
  if (acc->dtype() != value->dtype()) {
    userError(kOp, ": ", ops::describe(acc), " and the value ", ops::describe(value),
              " have different dtypes; cast one of them");
  }
  ops::NamedAxes axes(kOp, 0);
  std::string names(static_cast<size_t>(ops::rankOf(acc)), 'A');
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = static_cast<char>('A' + i);
  }
  axes.meet("first operand", acc, names, false);
  names[0] = '#';  // as many as the index has
  axes.meet("index", index, "#", false);
  axes.meet("value", value, names, false);
  if (names.size() > 1) {
    std::vector<bool> is_new(names.size(), true);
    is_new[0] = false;
    index = expand_as(broadcast(index, is_new), value);
  }
  return scatter(acc, 0, index, value, BinaryOpType::Add);
}

}  // namespace nvfuser
