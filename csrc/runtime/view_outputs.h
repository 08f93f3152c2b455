/// Outputs that are memory of an input or of another result (preseg_passes/mark_views.h): which of
/// the marked ones can be views in this call, the Fusion that is left to be computed, and the
/// views.
#pragma once

#include <memory>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>
#include <runtime/executor_kernel_arg.h>
#include <scheduler/analysis/view_layout.h>

namespace nvfuser {

struct PlannedView {
  size_t output;             ///< its position
  const TensorView* source;  ///< an input, or computed
  ViewLayout of_source;      ///< how the source lies in memory
  ViewLayout layout;
};

/// Views that strides can express, by output. `evaluator` knows the sizes of this call.
std::vector<PlannedView> planViews(const Fusion& fusion, const KernelArgumentHolder& args,
                                   ExpressionEvaluator& evaluator);

/// A Fusion that computes all but the views; what they are views of is an output of it. All names
/// are kept.
struct WithoutViews {
  std::unique_ptr<Fusion> fusion;
  /// Its value for each output of the whole Fusion; null for a view.
  std::vector<const Val*> outputs;
  /// Its value for the source of each view.
  std::vector<const Val*> sources;
};
WithoutViews withoutViews(const Fusion& fusion, const std::vector<PlannedView>& views);

/// The same memory, read as the view. A source that lies otherwise than was planned is copied.
Tensor viewOf(const Tensor& source, const PlannedView& view, const RunContext& context);

}  // namespace nvfuser
