#include <segmenter/segment_fusion.h>

#include <algorithm>
#include <numeric>

#include <segmenter/costly_repeats.h>
#include <segmenter/cut_part.h>
#include <segmenter/merge_groups.h>
#include <segmenter/order_parts.h>
#include <segmenter/recompute.h>

namespace nvfuser {

namespace {

/// Operations in questions about unions that no family is known to take, for each operation of the
/// Fusion.
constexpr int64_t kAskedPerUnit = 8;

/// Floating-point operations for an element that memory hides in a kernel of all.
constexpr double kLightWork = 32;

/// Whether one kernel would compute a tensor of few elements again for each of many, for longer
/// than a launch takes: angles of a few rotations, for all points.
bool repeatsHeavyWork(const FusionTraits& traits, const MergeCosts& costs) {
  int64_t most = 0;
  for (const UnitTraits& unit : traits.units()) {
    most = std::max(most, unit.elements);
  }
  const double hidden = std::max(kLightWork, costs.hidden_work);
  return std::any_of(traits.units().begin(), traits.units().end(), [&](const UnitTraits& unit) {
    return unit.signature < 0 && repeatedWork(unit.work, unit.elements, most, hidden) >
                                     costs.bytes_per_launch * costs.work_per_byte;
  });
}

bool withinLimits(const FusionTraits& traits, const MergeCosts& costs) {
  const auto borders =
      std::count_if(traits.tensors().begin(), traits.tensors().end(),
                    [](const TensorTraits& tensor) { return tensor.unit < 0 || tensor.is_output; });
  const bool all_have_kernels = std::none_of(traits.units().begin(), traits.units().end(),
                                             [](const UnitTraits& unit) { return unit.alone; });
  const bool cut = std::any_of(
      traits.tensors().begin(), traits.tensors().end(),
      [](const TensorTraits& tensor) { return tensor.cuts && !tensor.readers.empty(); });
  int joins = 0;
  int widest = 0;
  size_t weight = 0;
  size_t transforms = 0;
  for (const UnitTraits& unit : traits.units()) {
    joins += unit.parts > 0 ? 1 : 0;
    widest = std::max(widest, unit.parts);
    weight += static_cast<size_t>(unit.weight);
    transforms += static_cast<size_t>(unit.transforms);
  }
  return all_have_kernels && !cut && static_cast<size_t>(borders) <= costs.most_borders &&
         weight <= costs.most_weight && (joins <= 1 || widest < kWideJoin) &&
         traits.units().size() * transforms <= costs.most_replayed;
}

/// Pieces that the schedulers take, or single units.
void confirm(const FusionTraits& traits, Questions& questions, std::vector<int> units,
             std::vector<std::vector<int>>& taken) {
  std::vector<std::vector<int>> open{std::move(units)};
  while (!open.empty()) {
    std::vector<int> next = std::move(open.back());
    open.pop_back();
    if (next.size() == 1 || questions.takes(makePart(traits, next))) {
      taken.push_back(std::move(next));
      continue;
    }
    auto [first, second] = cutPart(traits, next);
    open.push_back(std::move(second));
    open.push_back(std::move(first));
  }
}

std::vector<Part> cut(const FusionTraits& traits, const SegmentCall& call, Questions& questions,
                      SegmentCounts& counts) {
  std::vector<int> all(traits.units().size());
  std::iota(all.begin(), all.end(), 0);
  const MergeCosts costs = MergeCosts::of(call.device);
  const CostlyRepeats costly(traits, costs);
  const bool may_be_one =
      costly.empty() && withinLimits(traits, costs) && !repeatsHeavyWork(traits, costs);
  if (all.size() == 1 || (may_be_one && questions.takes(makePart(traits, all)))) {
    return {makePart(traits, std::move(all))};
  }
  std::vector<std::vector<int>> singles;
  for (int unit : all) {
    singles.push_back({unit});
  }
  GroupGraph promising(traits, singles);
  counts.pairs +=
      mergeGroups(traits, promising, costs, [&](int a, int b, const GroupGraph::Union& both) {
        const GroupGraph::Node& first = promising.node(a);
        const GroupGraph::Node& second = promising.node(b);
        return !costly.keepApart(first.units, second.units) &&
               looksLikeOneKernel(first, second, both);
      });
  std::vector<std::vector<int>> taken;
  for (std::vector<int>& units : promising.parts()) {
    confirm(traits, questions, std::move(units), taken);
  }
  GroupGraph graph(traits, taken);
  int64_t budget = kAskedPerUnit * traits.numUnits();
  counts.pairs +=
      mergeGroups(traits, graph, costs, [&](int a, int b, const GroupGraph::Union& both) {
        const GroupGraph::Node& first = graph.node(a);
        const GroupGraph::Node& second = graph.node(b);
        const auto size = static_cast<int64_t>(both.num_units);
        // Beside each other: readers of one tensor that have as much to do.
        const bool alike = first.space == second.space || first.elements == second.elements;
        if ((!both.connected && !alike) || budget < size || graph.wouldMakeCycle(a, b) ||
            costly.keepApart(first.units, second.units)) {
          return false;
        }
        std::vector<int> units = first.units;
        units.insert(units.end(), second.units.begin(), second.units.end());
        std::sort(units.begin(), units.end());
        const int64_t asked = questions.asked();
        const bool taken_as_one = questions.takes(makePart(traits, std::move(units)));
        budget -= questions.asked() > asked ? size : 0;
        return taken_as_one;
      });
  counts.walked += promising.walked() + graph.walked();
  std::vector<Part> parts;
  for (std::vector<int>& units : graph.parts()) {
    parts.push_back(makePart(traits, std::move(units)));
  }
  recomputeAtBorders(traits, costs, costly, questions, parts);
  return parts;
}

}  // namespace

std::vector<Group> segmentFusion(const Fusion& fusion, const SegmentCall& call,
                                 const TakesGroup& takes, SegmentCounts* counts) {
  const FusionTraits traits(fusion, call);
  if (traits.units().empty()) {
    return {};
  }
  Questions questions(traits, call, takes);
  SegmentCounts counted;
  std::vector<Group> groups;
  for (const Part& part : orderParts(traits, cut(traits, call, questions, counted))) {
    groups.push_back(groupOf(traits, part));
  }
  if (counts != nullptr) {
    counted.operations = traits.numUnits();
    counted.questions = questions.asked();
    counted.questioned = questions.askedUnits();
    *counts = counted;
  }
  return groups;
}

}  // namespace nvfuser
