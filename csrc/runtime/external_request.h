/// What a segment asks of a library: an operation with its operands, results and epilogue, as a
/// call of external/.
///
///   T3[i0, i1] = relu(linear(T0, T1, T2))     op: linear, results {T3}, epilogue: Relu
#pragma once

#include <vector>

#include <evaluator/expression_evaluator.h>
#include <external/external_call.h>
#include <runtime/external_segment.h>
#include <scheduler/expr_eval/epilogue.h>

namespace nvfuser {

struct ExternalRequest {
  const Expr* op = nullptr;
  std::vector<const TensorView*> results;  ///< the operation's, or what its epilogue makes of it
  const TensorView* bias = nullptr;        ///< the epilogue's
  Epilogue epilogue = Epilogue::None;
};

ExternalRequest requestOf(const Fusion& segment);

/// The operation's operands, then the epilogue's bias. `sizes`: those of the whole fusion, by name.
/// Throws `UserError` for a scalar without a value.
std::vector<KernelArgument> operandsOf(const Fusion& segment, const ExternalRequest& request,
                                       const KernelArgumentHolder& args, const KnownScalars& sizes);

/// Throws `UserError` for an order in memory that is none of the axes.
std::vector<ViewLayout> layoutsOf(const Fusion& segment, const ExternalRequest& request,
                                  const KernelArgumentHolder& args, const KnownScalars& sizes);

/// Results have no memory yet.
external::Call callOf(const ExternalRequest& request, const std::vector<KernelArgument>& operands,
                      const std::vector<ViewLayout>& results, RandomState random,
                      const external::Machine& machine);

}  // namespace nvfuser
