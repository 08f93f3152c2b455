// What is left of a plan that has run once, where that is launches alone: one, or a sequence with
// the places of its tensors.
#include <algorithm>

#include <ir/fusion.h>
#include <runtime/prepared_fusion.h>

namespace nvfuser {

bool FusionExecutorCache::isOneLaunch(const Prepared& plan) {
  const Fusion* graph = plan.form->graph;
  if (plan.steps.size() != 1 || !plan.views.empty() || !plan.joins.empty() ||
      plan.steps[0].plan == nullptr || plan.steps[0].outputs != plan.outputs) {
    return false;
  }
  return std::all_of(graph->outputs().begin(), graph->outputs().end(), [&](const Val* output) {
    return graph->getOutputAlias(output).aliased_io == nullptr;
  });
}

std::unique_ptr<const LaunchSequence> FusionExecutorCache::launchesOf(const Prepared& plan,
                                                                      size_t num_arguments) {
  auto sequence = std::make_unique<LaunchSequence>(num_arguments, plan.slots.size());
  for (const Prepared::JoinStep& step : plan.joins) {
    const PlannedJoin& join = step.join;
    const DataType dtype = join.output->dtype();
    sequence->addMemory(step.result, {dtype, join.layout.sizes, join.layout.strides});
    for (size_t part = 0; part < join.parts.size(); ++part) {
      sequence->addView(step.first_place + part, step.result,
                        join.parts[part].place.offset * dataTypeSizeByte(dtype));
    }
  }
  for (const Step& step : plan.steps) {
    const bool makes_views = step.kernel == nullptr && !step.external;
    if (!makes_views && !sequence->addLaunch(step.plan, step.inputs, step.outputs)) {
      return nullptr;
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const bool is_part = plan.place_of[step.outputs[i]] != kNoSlot;
      if (is_part && (makes_views || !step.plan->outputInput(i))) {
        return nullptr;  // it is copied there
      }
    }
    for (size_t i = 0; i < step.views.size() && makes_views; ++i) {
      const NoOpParams::View& view = step.views[i];
      const auto input = static_cast<size_t>(view.input);
      const int64_t width = dataTypeSizeByte(step.segment->inputs()[input]->dtype());
      sequence->addView(step.outputs[i], step.inputs[input], view.layout.offset * width);
    }
  }
  const bool is_complete = plan.views.empty() && !sequence->launches().empty() &&
                           sequence->finish(plan.outputs, plan.updated, plan.returned);
  return is_complete ? std::move(sequence) : nullptr;
}

}  // namespace nvfuser
