/// Reductions. A broadcast axis has nothing to reduce: it is dropped, and counts as often as it is
/// expanded.
#include <algorithm>

#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/broadcast_reductions.h>
#include <ops/define_pointwise.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

void requireTensorOperand(std::string_view op, TensorView* tv) {
  ops::requireOperands(op, {static_cast<Val*>(tv)});
}

/// The constant `init` in the dtype of the accumulation.
Val* initialValue(std::string_view op, Val* init, DataType dtype) {
  if (init == nullptr) {
    userError(op, ": the initial value is missing");
  }
  if (!init->isConst()) {
    userError(op, ": the initial value (", init->toInlineString(),
              ") is not a constant; reduce from a constant and combine the result with it");
  }
  return optionalCastStrict(dtype, init);
}

/// `tv` (reduced over `axes` of a tensor of `rank` axes) with those axes as broadcast axes again.
TensorView* withKeptAxes(TensorView* tv, const std::vector<int64_t>& axes, int64_t rank) {
  if (axes.empty()) {
    return tv;
  }
  std::vector<bool> is_new(static_cast<size_t>(rank), false);
  for (int64_t axis : axes) {
    is_new.at(static_cast<size_t>(axis)) = true;
  }
  return broadcast(tv, is_new);
}

}  // namespace

TensorView* newForReduction(TensorView* tv, const std::vector<int64_t>& axes, DataType data_type) {
  requireTensorOperand("reduction", tv);
  std::vector<IterDomain*> domain = ops::axesOf(tv);
  std::vector<IterDomain*> out;
  std::vector<int64_t> reduced = ops::canonicalizeAxes(axes, tv, "reduction");
  for (size_t i = 0; i < domain.size(); ++i) {
    bool is_reduced = std::binary_search(reduced.begin(), reduced.end(), static_cast<int64_t>(i));
    const IterDomain* id = domain[i];
    bool keeps_kind = id->isBroadcast() || id->isSymbolic();
    IterType kept = keeps_kind ? id->getIterType() : IterType::Iteration;
    out.push_back(ops::newAxisLike(id, is_reduced ? IterType::Reduction : kept));
  }
  return ops::newTensor(std::move(out), data_type == DataType::Null ? tv->dtype() : data_type);
}

TensorView* reductionOpRaw(BinaryOpType reduction_op_type, const std::vector<int64_t>& axes,
                           Val* init, TensorView* v1, bool keep_dim, DataType dtype) {
  const PointwiseRow& row = pointwiseRow(reduction_op_type);
  requireTensorOperand("reduction", v1);
  if (!row.associative || !row.commutative) {
    userError("reduction: ", row.name, " is not associative and commutative, so no reduction");
  }
  DataType wanted = dtype == DataType::Null ? v1->dtype() : dtype;
  DataType accumulated = fullPrecisionType(wanted);
  ops::requireAccepts(row, text("reduction by ", row.name), accumulated);
  std::vector<int64_t> reduced = ops::canonicalizeAxes(axes, v1, "reduction");
  if (reduced.empty()) {
    return dtype == DataType::Null ? set(v1) : castOp(dtype, v1);
  }
  TensorView* in = maybeCastOp(accumulated, v1);
  TensorView* out = newForReduction(in, reduced, accumulated);
  IrBuilder::create<ReductionOp>(reduction_op_type, initialValue(row.name, init, accumulated), out,
                                 in);
  out = maybeCastOp(wanted, out);
  return keep_dim ? withKeptAxes(out, reduced, ops::rankOf(v1)) : out;
}

namespace {

/// `reductionOp` as the operation `op`, which errors name.
TensorView* reduce(std::string_view op, BinaryOpType reduction_op_type,
                   const std::vector<int64_t>& axes, Val* init, TensorView* v1, bool keep_dim,
                   DataType dtype) {
  requireTensorOperand(op, v1);
  const int64_t rank = ops::rankOf(v1);
  DataType wanted = dtype == DataType::Null ? v1->dtype() : dtype;
  DataType accumulated = fullPrecisionType(wanted);
  // A 0-dim tensor counts as one of one element: its axis may be named.
  const bool names_only_axis = rank == 0 && std::all_of(axes.begin(), axes.end(), [](int64_t a) {
                                 return a == 0 || a == -1;
                               });
  if (axes.empty() || names_only_axis) {
    return v1->dtype() == wanted ? set(v1) : castOp(wanted, v1);
  }
  std::vector<int64_t> reduced = ops::canonicalizeAxes(axes, v1, op);
  initialValue(op, init, accumulated);

  ops::Squeezed rest = ops::squeezeBroadcasts(maybeCastOp(accumulated, v1), reduced);
  TensorView* out = rest.tv;
  if (!rest.axes.empty()) {
    // The initial value counts once, whatever is repeated.
    Val* start = rest.times ? ops::binOpIdentity(reduction_op_type, accumulated) : init;
    out = reductionOpRaw(reduction_op_type, rest.axes, start, out);
  }
  if (rest.times) {
    out = ops::unlessNothing(ops::repeatCombination(reduction_op_type, out, rest.times), rest.times,
                             ops::binOpIdentity(reduction_op_type, accumulated));
  }
  if (rest.axes.empty() || rest.times) {
    Val* identity = ops::binOpIdentity(reduction_op_type, accumulated);
    Val* start = initialValue(op, init, accumulated);
    if (identity == nullptr || !(identity->value() == start->value())) {
      out = binaryOp(reduction_op_type, start, out, accumulated);
    }
  }
  out = maybeCastOp(wanted, out);
  return keep_dim ? withKeptAxes(out, reduced, rank) : out;
}

}  // namespace

TensorView* reductionOp(BinaryOpType reduction_op_type, const std::vector<int64_t>& axes, Val* init,
                        TensorView* v1, bool keep_dim, DataType dtype) {
  return reduce("reductionOp", reduction_op_type, axes, init, v1, keep_dim, dtype);
}

namespace {

/// The dtype in which sums and products are accumulated: integers and Bool as Int, and what `dtype`
/// says.
DataType accumulationType(const TensorView* tv, DataType dtype) {
  if (dtype != DataType::Null) {
    return dtype;
  }
  bool is_whole = isIntegralType(tv->dtype()) || isBooleanType(tv->dtype());
  return is_whole ? DataType(DataType::Int) : tv->dtype();
}

TensorView* accumulate(BinaryOpType type, std::string_view op, TensorView* v1,
                       const std::vector<int64_t>& axes, bool keep_dim, DataType dtype) {
  requireTensorOperand(op, v1);
  DataType accumulated = accumulationType(v1, dtype);
  FusionGuard guard(v1->fusion());
  Val* init = ops::binOpIdentity(type, fullPrecisionType(accumulated));
  return reduce(op, type, axes, init, v1, keep_dim, accumulated);
}

TensorView* extremum(BinaryOpType type, std::string_view op, TensorView* v1,
                     const std::vector<int64_t>& axes, bool keep_dim, DataType dtype) {
  requireTensorOperand(op, v1);
  if (dtype != DataType::Null) {
    userError(op, ": A dtype other than Null is not currently supported, got ", dtype,
              "; cast the operand or the result");
  }
  ops::requireAccepts(pointwiseRow(type), op, fullPrecisionType(v1->dtype()));
  FusionGuard guard(v1->fusion());
  return reduce(op, type, axes, ops::binOpIdentity(type, fullPrecisionType(v1->dtype())), v1,
                keep_dim, DataType::Null);
}

}  // namespace

TensorView* sum(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim,
                DataType dtype) {
  return accumulate(BinaryOpType::Add, "sum", v1, reduction_axes, keep_dim, dtype);
}

TensorView* prod(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim,
                 DataType dtype) {
  return accumulate(BinaryOpType::Mul, "prod", v1, reduction_axes, keep_dim, dtype);
}

TensorView* max(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim,
                DataType dtype) {
  return extremum(BinaryOpType::Max, "max", v1, reduction_axes, keep_dim, dtype);
}

TensorView* min(TensorView* v1, const std::vector<int64_t>& reduction_axes, bool keep_dim,
                DataType dtype) {
  return extremum(BinaryOpType::Min, "min", v1, reduction_axes, keep_dim, dtype);
}

TensorView* fusedMultiplySum(TensorView* tv_a, TensorView* tv_b, const std::vector<int64_t>& axes,
                             Val* init) {
  ops::requireOperands("fusedMultiplySum", {tv_a, tv_b});
  TensorView* product = mul(tv_a, tv_b);
  if (init == nullptr) {
    return accumulate(BinaryOpType::Add, "fusedMultiplySum", product, axes, false, DataType::Null);
  }
  return reduce("fusedMultiplySum", BinaryOpType::Add, axes, init, product, false, DataType::Null);
}

namespace {

/// Sums over leading axes and over those that `is_one` names among the last ones.
TensorView* sumTo(TensorView* v1, size_t target_rank, const std::vector<bool>& is_one) {
  requireTensorOperand("sum_to", v1);
  std::vector<IterDomain*> domain = ops::axesOf(v1);
  if (target_rank > domain.size()) {
    userError("sum_to: Error trying to reduce ", v1->toInlineString(), " of ", domain.size(),
              " axes into a shape of ", target_rank, "; the shape must not have more axes");
  }
  const size_t leading = domain.size() - target_rank;
  std::vector<int64_t> gone;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < domain.size(); ++i) {
    if (i < leading) {
      gone.push_back(static_cast<int64_t>(i));
    } else if (is_one[i - leading] && !ops::isUnitAxis(domain[i])) {
      kept.push_back(static_cast<int64_t>(i - leading));
    }
  }
  TensorView* out = gone.empty() ? v1 : sum(v1, gone);
  return kept.empty() ? out : sum(out, kept, /*keep_dim=*/true);
}

}  // namespace

TensorView* sum_to(TensorView* v1, const std::vector<Val*>& sum_to_size) {
  std::vector<bool> is_one;
  for (const Val* size : sum_to_size) {
    is_one.push_back(ops::constantOf(size) == 1);
  }
  return sumTo(v1, sum_to_size.size(), is_one);
}

TensorView* sum_to(TensorView* v1, const std::vector<int64_t>& sum_to_size) {
  std::vector<bool> is_one;
  for (int64_t size : sum_to_size) {
    is_one.push_back(size == 1);
  }
  return sumTo(v1, sum_to_size.size(), is_one);
}

}  // namespace nvfuser
