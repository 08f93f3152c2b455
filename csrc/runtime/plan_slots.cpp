// Where the values of a plan are kept: a slot for each, the arguments first; which outputs the
// caller gets; and after which step nobody reads a value any more, so that its memory serves again.
#include <algorithm>
#include <map>

#include <runtime/prepared_fusion.h>

namespace nvfuser {

void FusionExecutorCache::planSlots(const Variant& variant, const std::vector<PlannedView>& views,
                                    std::vector<PlannedJoin> joins, Prepared& plan) {
  const Fusion& graph = *plan.form->graph;
  std::map<const Val*, size_t> slot_of;
  auto slot = [&](const Val* val) {
    auto [place, is_new] = slot_of.emplace(val, plan.slots.size());
    if (is_new) {
      plan.slots.push_back(val);
    }
    return place->second;
  };
  for (const Val* input : variant.fusion->inputs()) {
    slot(input);
  }
  for (Step& step : plan.steps) {
    for (const Val* val : step.segment->inputs()) {
      step.inputs.push_back(slot(val));
    }
    for (const Val* val : step.segment->outputs()) {
      step.outputs.push_back(slot(val));
    }
  }
  std::vector<size_t> kept;  // to the end of a call
  for (const Val* output : variant.outputs) {
    plan.outputs.push_back(output == nullptr ? kNoSlot : slot(output));
    if (output != nullptr) {
      kept.push_back(plan.outputs.back());
    }
  }
  for (size_t i = 0; i < views.size(); ++i) {
    kept.push_back(slot(variant.sources[i]));
    plan.views.push_back({views[i], kept.back(), kNoSlot});
  }
  for (Prepared::ViewStep& step : plan.views) {
    step.result = plan.slots.size();
    plan.outputs[step.view.output] = step.result;
    plan.slots.push_back(graph.outputs()[step.view.output]);
  }
  size_t first_place = graph.inputs().size();
  for (size_t i = 0; i < joins.size(); ++i) {
    const size_t parts = joins[i].parts.size();
    plan.joins.push_back({std::move(joins[i]), slot(variant.joins[i]), first_place});
    first_place += parts;
  }
  std::map<size_t, size_t> place_of;
  for (const auto& [output, alias] : variant.fusion->getOutputAliases()) {
    const size_t place = slot(alias.aliased_io);
    if (place >= graph.inputs().size()) {
      place_of[slot(output)] = place;
    }
  }
  plan.place_of.assign(plan.slots.size(), kNoSlot);
  for (const auto& [part, place] : place_of) {
    plan.place_of[part] = place;
  }
  planReturned(plan);
  planDead(kept, plan);
}

/// Hidden outputs that update an input stay with it.
void FusionExecutorCache::planReturned(Prepared& plan) {
  const Fusion& graph = *plan.form->graph;
  const bool updates = std::any_of(plan.updated.begin(), plan.updated.end(),
                                   [](const auto& input) { return input.has_value(); });
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const AliasInfo& alias = graph.getOutputAlias(graph.outputs()[i]);
    if (!plan.updated[i] || alias.visibility != OutputVisibility::kHidden) {
      plan.returned.push_back(i);
    }
    const bool is_argument = plan.outputs[i] < graph.inputs().size();
    plan.shows_arguments |= updates && (is_argument || !plan.views.empty());
  }
}

/// After each step, the slots that no later one reads. Arguments are the caller's.
void FusionExecutorCache::planDead(const std::vector<size_t>& kept, Prepared& plan) {
  std::vector<bool> seen(plan.slots.size(), false);
  for (size_t used : kept) {
    seen[used] = true;
  }
  std::fill_n(seen.begin(), plan.form->graph->inputs().size(), true);
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
    for (const auto& list : {step->outputs, step->inputs}) {
      for (size_t used : list) {
        if (!seen[used]) {
          seen[used] = true;
          step->dead.push_back(used);
        }
      }
    }
  }
}

}  // namespace nvfuser
