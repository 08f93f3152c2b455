#include <scheduler/analysis/carried_strides.h>

#include <algorithm>
#include <unordered_map>

#include <ir/axis_map.h>
#include <scheduler/analysis/view_layout.h>

namespace nvfuser {

namespace {

std::vector<int64_t> sizesOf(const TensorView* tv, SchedulerRuntimeInfo& info) {
  std::vector<int64_t> sizes;
  for (const IterDomain* id : TensorDomain::noReductions(tv->getLogicalDomain())) {
    sizes.push_back(info.evaluate(id->getMaybeExpandedExtent()));
  }
  return sizes;
}

/// Along the axes of `out`, an operation's result that has `in`'s elements where `in` has them.
ViewLayout alongAxes(const Expr* expr, const TensorView* in, const ViewLayout& layout,
                     const TensorView* out, SchedulerRuntimeInfo& info) {
  const std::vector<IterDomain*> from = TensorDomain::noReductions(in->getLogicalDomain());
  const std::vector<IterDomain*> to = TensorDomain::noReductions(out->getLogicalDomain());
  ViewLayout result;
  result.sizes = sizesOf(out, info);
  result.strides.assign(to.size(), 0);
  for (const auto& [producer, consumer] : mapAxes(expr, in, out)) {
    const auto source = std::find(from.begin(), from.end(), producer);
    int64_t step = 1;
    const auto place = std::find_if(to.begin(), to.end(), [&, root = consumer](IterDomain* id) {
      const auto* resize = dynamic_cast<const Resize*>(id->definition());
      const bool is_resized = resize != nullptr && resize->in() == root;
      step = is_resized ? resize->step() : 1;
      return id == root || is_resized;
    });
    if (source != from.end() && place != to.end() && !producer->isBroadcast()) {
      result.strides[static_cast<size_t>(place - to.begin())] =
          layout.strides[static_cast<size_t>(source - from.begin())] * step;
    }
  }
  return result;
}

/// Of several operands that come from the input, the one that has most of its axes.
int64_t axesWithStrides(const ViewLayout& layout) {
  return std::count_if(layout.strides.begin(), layout.strides.end(),
                       [](int64_t stride) { return stride != 0; });
}

}  // namespace

std::optional<std::vector<int64_t>> carriedStrides(const TensorView* input, const TensorView* to,
                                                   SchedulerRuntimeInfo& info) {
  std::unordered_map<const TensorView*, ViewLayout> known;
  known[input] = {sizesOf(input, info), info.strides(input), 0};
  for (const Expr* expr : input->fusion()->exprs()) {
    if (known.count(to) != 0) {
      break;
    }
    for (const TensorView* in : tensorInputs(expr)) {
      const auto found = known.find(in);
      if (found == known.end()) {
        continue;
      }
      const ViewLayout source = found->second;
      for (const TensorView* out : tensorOutputs(expr)) {
        std::optional<ViewLayout> layout;
        if (expr->isA<ReshapeOp>()) {
          layout = viewLayout(expr, source, info.expressionEvaluator());
        } else {
          layout = alongAxes(expr, in, source, out, info);
        }
        const auto before = known.find(out);
        if (layout.has_value() &&
            (before == known.end() || axesWithStrides(before->second) < axesWithStrides(*layout))) {
          known[out] = std::move(*layout);
        }
      }
    }
  }
  const auto found = known.find(to);
  if (found == known.end()) {
    return std::nullopt;
  }
  return found->second.strides;
}

}  // namespace nvfuser
