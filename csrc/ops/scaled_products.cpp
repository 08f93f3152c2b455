// Products of matrices with scales, and of groups of them: operations of a library.

#include <ir/builder.h>
#include <ir/composite_nodes.h>
#include <ops/axes.h>
#include <ops/composite.h>
#include <ops/named_axes.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::constantOf;
using ops::describe;
using ops::extentOf;

namespace {

constexpr std::string_view kNeedsBlackwell =
    " needs a GPU of compute capability 10 or more, for which there is no code here";

bool isFloat8(DataType dtype) {
  return dtype == DataType::Float8_e4m3fn || dtype == DataType::Float8_e5m2;
}

struct Operands {
  std::string_view op;
  TensorView *mat1, *mat2;
  TensorView *scale1, *scale2, *alpha, *bias, *beta;
};

/// The dtype of the result.
DataType checkDtypes(const Operands& o, DataType dtype) {
  for (const TensorView* tv : {o.mat1, o.mat2}) {
    ops::requireTensor(tv, o.op);
    if (!isFloatingPointType(tv->dtype())) {
      userError(o.op, ": the operand ", describe(tv),
                " is no floating-point matrix; cast it, or use matmul");
    }
  }
  const DataType first = o.mat1->dtype();
  if (first != o.mat2->dtype() && !(isFloat8(first) && isFloat8(o.mat2->dtype()))) {
    userError(o.op, ": operands have different dtypes: ", describe(o.mat1), " and ",
              describe(o.mat2), "; cast one of them (only kinds of Float8 may differ)");
  }
  for (const TensorView* tv : {o.scale1, o.scale2, o.alpha, o.beta}) {
    if (tv != nullptr && tv->dtype() != DataType::Float) {
      userError(o.op, ": the scale ", describe(tv),
                " has to be Float; a scale of another dtype is "
                "one of blocks, which",
                kNeedsBlackwell);
    }
  }
  if (dtype == DataType::Null) {
    dtype = isFloat8(first) ? DataType(DataType::BFloat16) : first;
  }
  if (!isFloatingPointType(dtype)) {
    userError(o.op, ": the result's dtype ", dtype, " is no floating-point type");
  }
  if (o.bias != nullptr && o.bias->dtype() != dtype && o.bias->dtype() != DataType::Float) {
    userError(o.op, ": the bias ", describe(o.bias), " has to be Float, or ", dtype,
              " as the result");
  }
  if (o.beta != nullptr && o.bias == nullptr) {
    userError(o.op, ": beta scales the bias, but there is none; pass one, or leave beta out");
  }
  return dtype;
}

void refuseBlockScales(std::string_view op, int64_t size, DataType dtype, bool gamma) {
  if (size != 0 || gamma) {
    userError(op, ": a result with scales of its own (output_block_scale_size ", size,
              ", of dtype ", dtype, ", output_gamma ", gamma ? "true" : "false", ")",
              kNeedsBlackwell, "; leave these out and quantise the result");
  }
}

/// `names`: all axes of the scale, one of them the unit axis "1"; it may be left out, or the scale
/// be one number.
void meetScale(ops::NamedAxes& axes, std::string_view op, std::string_view what,
               const TensorView* scale, std::string names) {
  if (scale == nullptr || ops::rankOf(scale) == 0) {
    return;
  }
  const std::vector<IterDomain*> of_scale = ops::axesOf(scale);
  const size_t unit = names.find('1');
  if (of_scale.size() + 1 == names.size()) {
    names.erase(unit, 1);
  } else if (of_scale.size() == names.size()) {
    const auto count = constantOf(extentOf(of_scale[unit]));
    if (count && *count != 1) {
      userError(op, ": the ", what, " ", describe(scale), " has ", *count,
                " numbers along what is summed over; a scale of blocks", kNeedsBlackwell,
                "; one number for each row of the first operand and each column of the second "
                "does not");
    }
  } else {
    userError(op, ": the ", what, " ", describe(scale), " is one number, or has the axes ",
              join(names, ", "), " or these without 1");
  }
  axes.meet(what, scale, names, true);
}

void requireOneNumber(std::string_view op, std::string_view what, const TensorView* tv,
                      bool may_be_groups) {
  if (tv != nullptr && ops::rankOf(tv) > (may_be_groups ? 1 : 0)) {
    userError(op, ": ", what, " is one number, a tensor without axes",
              may_be_groups ? ", or one for each group" : "", "; got ", describe(tv));
  }
}

}  // namespace

ScaledTensorView scaled_mm(TensorView* mat1, TensorView* mat2, TensorView* scale1,
                           TensorView* scale2, TensorView* alpha, TensorView* bias,
                           TensorView* beta, DataType dtype, int64_t output_block_scale_size,
                           DataType output_block_scale_dtype, bool output_gamma) {
  constexpr std::string_view kOp = "scaled_mm";
  refuseBlockScales(kOp, output_block_scale_size, output_block_scale_dtype, output_gamma);
  ops::requireTensor(scale1, kOp);
  ops::requireTensor(scale2, kOp);
  dtype = checkDtypes({kOp, mat1, mat2, scale1, scale2, alpha, bias, beta}, dtype);
  ops::NamedAxes axes(kOp, 0);
  axes.meet("first operand", mat1, "MK", false);
  axes.meet("second operand", mat2, "KN", false);
  meetScale(axes, kOp, "first scale", scale1, "M1");
  meetScale(axes, kOp, "second scale", scale2, "1N");
  if (bias != nullptr) {
    axes.meet("bias", bias, "N", false);
  }
  requireOneNumber(kOp, "alpha", alpha, false);
  requireOneNumber(kOp, "beta", beta, false);
  TensorView* out = axes.result("MN", dtype);
  IrBuilder::create<ScaledMmaOp>(out, mat1, mat2, scale1, scale2, alpha, bias, beta);
  return {out, nullptr, nullptr};
}

ScaledTensorView grouped_mm(TensorView* mat1, TensorView* mat2, TensorView* offsets,
                            TensorView* scale1, TensorView* scale2, TensorView* alpha,
                            TensorView* bias, TensorView* beta, DataType dtype,
                            int64_t out_block_scale_size, DataType block_scaling_factor_dtype,
                            bool out_gamma) {
  constexpr std::string_view kOp = "grouped_mm";
  refuseBlockScales(kOp, out_block_scale_size, block_scaling_factor_dtype, out_gamma);
  ops::requireTensor(offsets, kOp);
  dtype = checkDtypes({kOp, mat1, mat2, scale1, scale2, alpha, bias, beta}, dtype);
  const int64_t rank1 = ops::rankOf(mat1);
  const int64_t rank2 = ops::rankOf(mat2);
  if (rank1 < 2 || rank2 < 2 || rank1 + rank2 > 5) {
    userError(kOp,
              ": the operands are matrices, of which at most one has an axis of groups "
              "before: [M, K] and [K, N], [M, K] and [G, K, N], or [G, M, K] and [K, N]; got ",
              describe(mat1), " and ", describe(mat2));
  }
  if (offsets->dtype() != DataType::Int32 || ops::rankOf(offsets) != 1) {
    userError(kOp, ": the offsets say where each group ends, Int32 [G]; got ", describe(offsets));
  }
  const bool out_has_groups = rank1 + rank2 == 4;
  ops::NamedAxes axes(kOp, 0);
  axes.meet("offsets", offsets, "G", false);
  axes.meet("first operand", mat1, rank1 == 3 ? "GMK" : "MK", false);
  axes.meet("second operand", mat2, rank2 == 3 ? "GKN" : "KN", false);
  meetScale(axes, kOp, "first scale", scale1, rank1 == 3 || out_has_groups ? "GM1" : "M1");
  meetScale(axes, kOp, "second scale", scale2, rank2 == 3 || out_has_groups ? "G1N" : "1N");
  if (bias != nullptr) {
    axes.meet("bias", bias, ops::rankOf(bias) == 2 ? "GN" : "N", false);
  }
  requireOneNumber(kOp, "alpha", alpha, true);
  requireOneNumber(kOp, "beta", beta, true);
  TensorView* out = axes.result(out_has_groups ? "GMN" : "MN", dtype);
  IrBuilder::create<GroupedMmaOp>(out, mat1, mat2, offsets, scale1, scale2, alpha, bias, beta);
  return {out, nullptr, nullptr};
}

TensorView* cutlass_nvfp4_grouped_mm(TensorView*, TensorView*, TensorView*, TensorView*,
                                     TensorView*, TensorView*, TensorView*, TensorView*, DataType) {
  userError(
      "cutlass_nvfp4_grouped_mm: the format nvfp4, numbers of four bits with scales of blocks,",
      kNeedsBlackwell, "; use grouped_mm with Float8 or BFloat16");
}

}  // namespace nvfuser
