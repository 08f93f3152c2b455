#include <runtime/view_outputs.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include <ir/cloner.h>
#include <preseg_passes/mark_views.h>
#include <runtime/run_context.h>

namespace nvfuser {

namespace {

using preseg_passes::ViewOutput;

class Planner {
 public:
  Planner(const Fusion& fusion, const KernelArgumentHolder& args, ExpressionEvaluator& evaluator)
      : fusion_(fusion), args_(args), evaluator_(evaluator) {
    for (const auto& val : fusion.vals()) {
      if (val->isA<TensorView>()) {
        tensors_[val->name()] = val->as<TensorView>();
      }
    }
    for (const auto& expr : fusion.allExprs()) {
      exprs_[expr->name()] = expr.get();
    }
    for (const ViewOutput& mark : preseg_passes::viewOutputs(fusion)) {
      mark_of_[fusion.outputs()[mark.output]] = &mark;
    }
  }

  std::vector<PlannedView> run() {
    std::vector<PlannedView> views;
    for (const ViewOutput& mark : preseg_passes::viewOutputs(fusion_)) {
      if (auto view = plan(mark)) {
        views.push_back(std::move(*view));
      }
    }
    return views;
  }

 private:
  /// A view of a view is one of what that is a view of.
  std::optional<PlannedView> plan(const ViewOutput& mark) {
    const TensorView* source = tensors_.at(mark.source);
    PlannedView view{mark.output, source, {}, {}};
    std::optional<PlannedView> before;
    const auto marked = mark_of_.find(source);
    if (marked != mark_of_.end()) {
      before = plan(*marked->second);
    }
    if (before) {
      view.source = before->source;
      view.of_source = before->of_source;
      view.layout = before->layout;
    } else {
      std::optional<ViewLayout> layout = layoutOf(source);
      if (!layout) {
        return std::nullopt;
      }
      view.layout = view.of_source = std::move(*layout);
    }
    for (int64_t name : mark.operations) {
      std::optional<ViewLayout> next = viewLayout(exprs_.at(name), view.layout, evaluator_);
      if (!next) {
        return std::nullopt;
      }
      view.layout = std::move(*next);
    }
    return view;
  }

  std::optional<ViewLayout> layoutOf(const TensorView* source) {
    const auto& inputs = fusion_.inputs();
    const auto place = std::find(inputs.begin(), inputs.end(), source);
    if (place == inputs.end()) {
      return denseLayout(source, evaluator_);
    }
    const Tensor& tensor = args_[static_cast<size_t>(place - inputs.begin())].tensor();
    return ViewLayout{tensor.sizes(), tensor.strides(), 0};
  }

  const Fusion& fusion_;
  const KernelArgumentHolder& args_;
  ExpressionEvaluator& evaluator_;
  std::unordered_map<int64_t, const TensorView*> tensors_;
  std::unordered_map<int64_t, const Expr*> exprs_;
  std::unordered_map<const Val*, const ViewOutput*> mark_of_;
};

}  // namespace

std::vector<PlannedView> planViews(const Fusion& fusion, const KernelArgumentHolder& args,
                                   ExpressionEvaluator& evaluator) {
  if (preseg_passes::viewOutputs(fusion).empty()) {
    return {};
  }
  return Planner(fusion, args, evaluator).run();
}

WithoutViews withoutViews(const Fusion& fusion, const std::vector<PlannedView>& views) {
  WithoutViews result;
  result.fusion = std::make_unique<Fusion>();
  IrCloner cloner = Fusion::copy(&fusion, result.fusion.get());
  for (Val* output : fusion.outputs()) {
    result.outputs.push_back(cloner.clone(output));
  }
  for (const PlannedView& view : views) {
    result.fusion->removeOutput(cloner.clone(fusion.outputs()[view.output]));
    result.outputs[view.output] = nullptr;
  }
  for (const PlannedView& view : views) {
    Val* source = cloner.clone(const_cast<TensorView*>(view.source));
    if (!source->isFusionInput() && !source->isFusionOutput()) {
      result.fusion->addOutput(source);
    }
    result.sources.push_back(source);
  }
  return result;
}

Tensor viewOf(const Tensor& source, const PlannedView& view, const RunContext& context) {
  Tensor base = source;
  if (source.numel() > 0 && source.strides() != view.of_source.strides) {
    base = Tensor::emptyStrided(view.of_source.sizes, view.of_source.strides, source.dtype(),
                                source.device(), context);
    base.copyFrom(source, context.stream);
  }
  return base.asStrided(view.layout.sizes, view.layout.strides,
                        base.storageOffset() + view.layout.offset);
}

}  // namespace nvfuser
