// Attention and its gradients: operations of a library. Which axes of the operands are the same is
// said once, by the names that the expressions give them.

#include <ir/builder.h>
#include <ir/composite_nodes.h>
#include <ops/axes.h>
#include <ops/composite.h>
#include <ops/named_axes.h>
#include <ops/utils.h>

namespace nvfuser {

using ops::axesOf;
using ops::describe;

namespace {

constexpr std::string_view kBackward = "sdpfa_bwd";

bool isAttentionDtype(DataType dtype) {
  return dtype == DataType::Half || dtype == DataType::BFloat16 || dtype == DataType::Float;
}

void requireDtype(std::string_view op, std::string_view what, const TensorView* tv,
                  DataType wanted) {
  if (tv->dtype() != wanted) {
    userError(op, ": the ", what, " is ", describe(tv), "; its dtype has to be ", wanted,
              ": cast it");
  }
}

/// A real number, or a truth value; `otherwise` where it is null.
Val* scalarOr(std::string_view op, std::string_view what, Val* given, Val* otherwise) {
  if (given == nullptr) {
    return otherwise;
  }
  if (given->isA<TensorView>() || !given->isScalar() || isComplexType(given->dtype())) {
    userError(op, ": ", what, " is a real scalar, got ", given->toInlineString(), " of dtype ",
              given->dtype());
  }
  return given;
}

Val* dropoutOr(std::string_view op, Val* given) {
  Val* dropout_p = scalarOr(op, "dropout_p", given, IrBuilder::create<Val>(0.0));
  if (dropout_p->isConst()) {
    const auto p = dropout_p->value().as<double>();
    if (!(p >= 0.0 && p <= 1.0)) {
      userError(op, ": dropout_p must be between 0 and 1, got ", p);
    }
  }
  return dropout_p;
}

void requireQuery(std::string_view op, const TensorView* query) {
  if (axesOf(query).size() < 4) {
    userError(op, ": the query has the axes [batches, heads, queries, numbers], four or more; got ",
              describe(query), "; unsqueeze it");
  }
  if (!isAttentionDtype(query->dtype())) {
    userError(op, ": the query is ", describe(query),
              ", but attention is of Half, BFloat16 or Float; cast the operands");
  }
}

}  // namespace

SdpaFwdResult sdpfa_fwd(TensorView* query, TensorView* key, TensorView* value, TensorView* bias,
                        TensorView* mask, Val* dropout_p, Val* is_causal, Val* scale) {
  constexpr std::string_view kOp = "sdpfa_fwd";
  for (const TensorView* tv : {query, key, value}) {
    ops::requireTensor(tv, kOp);
  }
  requireQuery(kOp, query);
  requireDtype(kOp, "key", key, query->dtype());
  requireDtype(kOp, "value", value, query->dtype());
  ops::NamedAxes axes(kOp, axesOf(query).size() - 2);
  axes.meet("query", query, "LE", false);
  axes.meet("key", key, "SE", false);
  axes.meet("value", value, "SV", false);
  if (bias != nullptr) {
    if (bias->dtype() != DataType::Float) {
      requireDtype(kOp, "bias", bias, query->dtype());
    }
    axes.meet("bias", bias, "LS", true);
  }
  if (mask != nullptr) {
    requireDtype(kOp, "mask", mask, DataType::Bool);
    axes.meet("mask", mask, "LS", true);
  }
  Fusion* fusion = query->fusion();
  const SdpaFwdResult result{
      axes.result("LV", query->dtype()), axes.result("L", DataType::Float),
      ops::newTensor({ops::newIterAxis(ops::indexConstant(2))}, DataType::UInt64),
      ops::newTensor({}, DataType::UInt64)};
  IrBuilder::create<SdpaFwdOp>(
      std::vector<Val*>{result.output, result.logsumexp, result.philox_seed, result.philox_offset},
      query, key, value, bias, mask, dropoutOr(kOp, dropout_p),
      scalarOr(kOp, "is_causal", is_causal, fusion->falseVal()),
      scalarOr(kOp, "scale", scale, nullptr));
  return result;
}

SdpaBwdResult sdpfa_bwd(TensorView* grad_output, TensorView* query, TensorView* key,
                        TensorView* value, TensorView* output, TensorView* logsumexp,
                        Val* dropout_p, Val* is_causal, TensorView* philox_seed,
                        TensorView* philox_offset, Val* scale) {
  for (const TensorView* tv :
       {grad_output, query, key, value, output, logsumexp, philox_seed, philox_offset}) {
    ops::requireTensor(tv, kBackward);
  }
  requireQuery(kBackward, query);
  requireDtype(kBackward, "key", key, query->dtype());
  requireDtype(kBackward, "value", value, query->dtype());
  requireDtype(kBackward, "grad_output", grad_output, query->dtype());
  requireDtype(kBackward, "output", output, query->dtype());
  requireDtype(kBackward, "logsumexp", logsumexp, DataType::Float);
  ops::NamedAxes axes(kBackward, axesOf(query).size() - 2);
  axes.meet("query", query, "LE", false);
  axes.meet("key", key, "SE", false);
  axes.meet("value", value, "SV", false);
  axes.meet("grad_output", grad_output, "LV", false);
  axes.meet("output", output, "LV", false);
  axes.meet("logsumexp", logsumexp, "L", false);
  const bool are_states = isIntegralType(philox_seed->dtype()) &&
                          isIntegralType(philox_offset->dtype()) && ops::rankOf(philox_seed) <= 1 &&
                          ops::rankOf(philox_offset) == 0;
  if (!are_states) {
    userError(kBackward,
              ": philox_seed and philox_offset are the results of sdpfa_fwd, integers of shape [2] "
              "and []; got ",
              describe(philox_seed), " and ", describe(philox_offset));
  }
  const SdpaBwdResult result{axes.result("LE", query->dtype()), axes.result("SE", query->dtype()),
                             axes.result("SV", query->dtype())};
  IrBuilder::create<SdpaBwdOp>(
      std::vector<Val*>{result.grad_query, result.grad_key, result.grad_value}, grad_output, query,
      key, value, output, logsumexp, dropoutOr(kBackward, dropout_p),
      scalarOr(kBackward, "is_causal", is_causal, query->fusion()->falseVal()), philox_seed,
      philox_offset, scalarOr(kBackward, "scale", scale, nullptr));
  return result;
}

}  // namespace nvfuser
