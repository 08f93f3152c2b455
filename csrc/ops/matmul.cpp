// Products of matrices: operations of a library. Their axes and dtypes are PyTorch's.

#include <ir/builder.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/composite.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::axesOf;
using ops::constantOf;
using ops::describe;
using ops::extentOf;

namespace {

void requireProductDtype(std::string_view op, const TensorView* first, const TensorView* other) {
  if (other->dtype() != first->dtype()) {
    userError(op, ": operands have different dtypes: ", describe(first), " and ", describe(other),
              "; cast one of them");
  }
  const DataType dtype = first->dtype();
  const bool has_product = dtype == DataType::Half || dtype == DataType::BFloat16 ||
                           dtype == DataType::Float || dtype == DataType::Double ||
                           isComplexType(dtype) ||
                           (isIntegralType(dtype) && dtype != DataType::Index);
  if (!has_product) {
    userError(op, ": ", first->toInlineString(), " has dtype ", dtype,
              ", which has no product of matrices; cast the operands to a wider dtype");
  }
}

/// Two extents that are summed over together. Symbols are compared when the operation runs.
void requireSameLength(std::string_view op, const TensorView* a, const IterDomain* of_a,
                       const TensorView* b, const IterDomain* of_b) {
  const auto one = constantOf(extentOf(of_a));
  const auto other = constantOf(extentOf(of_b));
  if (one && other && *one != *other) {
    userError(op, ": the axes that are summed over differ in length, of ", describe(a), " and ",
              describe(b), ": ", *one, " and ", *other);
  }
}

}  // namespace

TensorView* matmul(TensorView* a, TensorView* b) {
  ops::requireTensor(a, "matmul");
  ops::requireTensor(b, "matmul");
  const std::vector<IterDomain*> of_a = axesOf(a);
  const std::vector<IterDomain*> of_b = axesOf(b);
  if (of_a.empty() || of_b.empty()) {
    userError("matmul: both operands need an axis or more, got ", describe(a), " and ", describe(b),
              "; use mul for a scalar");
  }
  requireProductDtype("matmul", a, b);
  requireSameLength("matmul", a, of_a.back(), b, of_b[of_b.size() < 2 ? 0 : of_b.size() - 2]);
  const size_t batches_a = of_a.size() < 2 ? 0 : of_a.size() - 2;
  const size_t batches_b = of_b.size() < 2 ? 0 : of_b.size() - 2;
  const size_t batches = std::max(batches_a, batches_b);
  std::vector<IterDomain*> axes;
  for (size_t i = 0; i < batches; ++i) {
    std::vector<IterDomain*> meeting;
    if (i + batches_a >= batches) {
      meeting.push_back(of_a[i + batches_a - batches]);
    }
    if (i + batches_b >= batches) {
      meeting.push_back(of_b[i + batches_b - batches]);
    }
    axes.push_back(ops::newOwnAxis(ops::newOutputIterDomain(
        meeting, std::nullopt, text("matmul of ", describe(a), " and ", describe(b)))));
  }
  if (of_a.size() > 1) {
    axes.push_back(ops::newOwnAxis(of_a[of_a.size() - 2]));
  }
  if (of_b.size() > 1) {
    axes.push_back(ops::newOwnAxis(of_b.back()));
  }
  TensorView* out = ops::newTensor(std::move(axes), a->dtype());
  IrBuilder::create<MatmulOp>(out, a, b);
  return out;
}

TensorView* linear(TensorView* input, TensorView* weight, TensorView* bias) {
  ops::requireTensor(input, "linear");
  ops::requireTensor(weight, "linear");
  const std::vector<IterDomain*> of_input = axesOf(input);
  const std::vector<IterDomain*> of_weight = axesOf(weight);
  if (of_input.empty()) {
    userError("linear: the input needs an axis or more, got ", describe(input));
  }
  if (of_weight.empty() || of_weight.size() > 2) {
    userError("linear: the weight has the axes [out, in] or [in], got ", describe(weight));
  }
  requireProductDtype("linear", input, weight);
  requireSameLength("linear", input, of_input.back(), weight, of_weight.back());
  std::vector<IterDomain*> axes;
  for (size_t i = 0; i + 1 < of_input.size(); ++i) {
    axes.push_back(ops::newOwnAxis(of_input[i]));
  }
  if (of_weight.size() > 1) {
    axes.push_back(ops::newOwnAxis(of_weight[0]));
  }
  if (bias != nullptr) {
    requireProductDtype("linear", input, bias);
    const std::vector<IterDomain*> of_bias = axesOf(bias);
    if (of_bias.size() + 1 != of_weight.size()) {
      userError("linear: the bias has one axis less than the weight, ", describe(weight), "; got ",
                describe(bias));
    }
    if (!of_bias.empty()) {
      const bool is_one_number = of_bias[0]->isBroadcast() && !of_bias[0]->hasExpandedExtent();
      if (is_one_number && !of_weight[0]->isBroadcast()) {
        return maybeCastOp(input->dtype(), add(linear(input, weight), bias));
      }
      const auto found = constantOf(extentOf(of_bias[0]));
      const auto needed = constantOf(extentOf(of_weight[0]));
      if (found && needed && *found != *needed) {
        userError("linear: the bias ", describe(bias), " is as long as the weight has rows, ",
                  describe(weight), "; got ", *found, " and ", *needed);
      }
    }
  }
  TensorView* out = ops::newTensor(std::move(axes), input->dtype());
  IrBuilder::create<LinearOp>(out, input, weight, bias);
  return out;
}

TensorView* linear(TensorView* input, TensorView* weight) { return linear(input, weight, nullptr); }

}  // namespace nvfuser
