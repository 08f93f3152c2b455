#include <scheduler/no_op/no_op.h>

#include <algorithm>

#include <ir/view_ops.h>

namespace nvfuser {

std::string NoOpParams::toString() const {
  return join(views, ", ", [](const View& view) {
    return text("input ", view.input, " sizes [", join(view.layout.sizes, ", "), "] strides [",
                join(view.layout.strides, ", "), "] offset ", view.layout.offset);
  });
}

std::unique_ptr<HeuristicParams> NoOpParams::clone() const {
  auto copy = std::make_unique<NoOpParams>();
  copy->views = views;
  return copy;
}

namespace {

bool isDense(const TensorView* tv, const ViewLayout& layout, ExpressionEvaluator& evaluator) {
  const std::optional<ViewLayout> dense = denseLayout(tv, evaluator);
  if (!dense || layout.offset != 0) {
    return false;
  }
  for (size_t i = 0; i < dense->sizes.size(); ++i) {
    if (dense->sizes[i] != 1 && dense->strides[i] != layout.strides[i]) {
      return false;
    }
  }
  return true;
}

class NoOpScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::NoOp; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    for (const Expr* expr : fusion.exprs()) {
      if (expr->output(0)->isA<TensorView>() && !isViewOp(expr)) {
        return Refusal{text(expr->output(0), " is computed")};
      }
    }
    return std::nullopt;
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    ExpressionEvaluator& evaluator = info.expressionEvaluator();
    const auto& inputs = fusion.inputs();
    auto params = std::make_unique<NoOpParams>();
    for (const Val* output : fusion.outputs()) {
      const auto* out = output->as<TensorView>();
      std::vector<const Expr*> chain;
      const TensorView* source = out;
      while (!source->isFusionInput()) {
        chain.push_back(source->definition());
        source = source->definition()->input(0)->as<TensorView>();
      }
      if (info.alignment(source) < SchedulerRuntimeInfo::kMaxAlignment) {
        return Refusal{text(source, " begins at an address that other kernels do not expect")};
      }
      ViewLayout layout;
      for (const IterDomain* id : TensorDomain::noReductions(source->getLogicalDomain())) {
        layout.sizes.push_back(info.evaluate(id->getMaybeExpandedExtent()));
      }
      layout.strides = info.strides(source);
      for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
        std::optional<ViewLayout> next = viewLayout(*it, layout, evaluator);
        if (!next) {
          return Refusal{text("strides cannot say what ", (*it)->output(0), " is")};
        }
        layout = std::move(*next);
      }
      if (!isDense(out, layout, evaluator)) {
        return Refusal{text(out, " would have gaps or another order in memory")};
      }
      const auto place = std::find(inputs.begin(), inputs.end(), source) - inputs.begin();
      params->views.push_back({static_cast<int64_t>(place), std::move(layout)});
    }
    return params;
  }

  void schedule(Fusion*, const HeuristicParams&) const override {}
};

}  // namespace

const SchedulerEntry& noOpScheduler() {
  static const NoOpScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
