// The namespace `schedule`: primitives on several tensors, and the automatic schedulers.

#include "arrays.h"
#include "direct/bindings.h"
#include "direct/enums.h"
#include "direct/fusion.h"
#include "direct/params.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <runtime/executor.h>
#include <runtime/scheduler_info.h>
#include <scheduler/registry.h>
#include <scheduler/utils.h>
#include <support/dump.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// The primitives work on one tensor's fusion; `tensors` are others of it.
std::unordered_set<TensorView*> setOf(const nb::sequence& tensors, const char* what,
                                      const DefinitionPtr& owner) {
  const std::vector<TensorView*> list = tensorsOf(tensors, what, owner);
  return {list.begin(), list.end()};
}

void transformLike(const TensorNode& reference, const nb::sequence& selected) {
  FusionGuard guard(&reference.owner->graph);
  TransformPropagator propagator(reference.tv());
  const auto tensors = setOf(selected, "transform_like", reference.owner);
  SetSelector selector(tensors);
  MaxLogicalDomainInfoSpanningTree(reference.tv(), tensors.empty() ? nullptr : &selector)
      .traverse(&propagator);
}

void parallelizeLike(const TensorNode& reference, int64_t pos, const nb::sequence& selected,
                     const std::set<ParallelType>& types, bool padding) {
  FusionGuard guard(&reference.owner->graph);
  scheduler_utils::parallelizeAllLike(reference.tv(), pos,
                                      tensorsOf(selected, "parallelize_like", reference.owner),
                                      {types.begin(), types.end()}, padding);
}

void inlineMostOf(const nb::sequence& selected) {
  const std::vector<TensorView*> tensors = tensorsOf(selected, "inline_most", nullptr);
  if (tensors.empty()) {
    FusionGuard guard(&activeDefinition("inline_most")->graph);
    inlineMost();
    return;
  }
  FusionGuard guard(tensors.front()->fusion());
  inlineMost(tensors);
}

void inlineAt(const TensorNode& reference, int64_t pos, bool best_effort,
              const nb::sequence& selected) {
  FusionGuard guard(&reference.owner->graph);
  const auto tensors = setOf(selected, "inline_at", reference.owner);
  if (tensors.empty()) {
    inlineAllAt(reference.tv(), pos, best_effort);
  } else {
    inlineSelectedAt(tensors, reference.tv(), pos, best_effort);
  }
}

void boundedTransformBackward(const TensorNode& from, int64_t pos, const nb::sequence& to,
                              bool propagate_parallel_type) {
  FusionGuard guard(&from.owner->graph);
  scheduler_utils::BoundedDirectionalTransformPropagator::Options options;
  if (propagate_parallel_type) {
    options.propagateParallelType();
  }
  scheduler_utils::BoundedDirectionalTransformPropagator::backward(
      from.tv(), pos, tensorsOf(to, "bounded_transform_backward", from.owner), options);
}

void warpSpecialize(const TensorNode& tensor, int64_t stages, int64_t prefetch, ParallelType type,
                    const std::optional<std::pair<int64_t, int64_t>>& registers) {
  FusionGuard guard(&tensor.owner->graph);
  const WarpSpecialized roles =
      registers ? WarpSpecialized(type, *registers) : WarpSpecialized(type);
  tensor.tv()->circularBuffer(stages, prefetch, roles);
}

const SchedulerEntry* entryOf(SchedulerType type) {
  for (const SchedulerEntry* entry : schedulerEntries()) {
    if (entry->type() == type) {
      return entry;
    }
  }
  return nullptr;
}

/// What a scheduler says of the whole fusion for these inputs.
Plan planWith(const IrFusion& fusion, SchedulerType type, const Inputs& inputs) {
  const SchedulerEntry* entry = entryOf(type);
  if (entry == nullptr) {
    return Refusal{text("there is no scheduler ", schedulerTypeName(type), " here")};
  }
  nvfuser::Fusion graph = fusion.definition->graph;
  graph.settleAxes();
  if (graph.outputs().empty()) {
    return Refusal{"the fusion has no outputs"};
  }
  if (std::optional<Refusal> refusal = entry->refusesForm(graph)) {
    return *refusal;
  }
  SchedulerRuntimeInfo info = runtimeInfoOf(graph, inputs.holder());
  return entry->plan(graph, info);
}

/// nvFuser's words around why a scheduler does not take a fusion; empty if it does. Also dumped.
std::string rejectionBy(const IrFusion& fusion, SchedulerType type, const Inputs& inputs) {
  const Plan plan = planWith(fusion, type, inputs);
  const auto* refusal = std::get_if<Refusal>(&plan);
  if (refusal == nullptr) {
    return "";
  }
  const std::string line = text("Scheduler _", nb::cast<std::string>(nb::cast(type).attr("name")),
                                "_ ***rejected*** because : ", std::string_view(refusal->why));
  if (const Options options = Options::current();
      options.dumps(DebugDumpOption::SegmenterLogging)) {
    dump(options, "schedulers", "segmenter_logging", line + "\n");
  }
  return line;
}

std::pair<bool, std::string> canSchedule(const IrFusion& fusion, SchedulerType type,
                                         nb::handle inputs) {
  const std::string rejection = rejectionBy(fusion, type, Inputs(inputs));
  return {rejection.empty(), rejection};
}

/// The greedy scheduler takes nearly everything: it is named where no other does.
std::vector<SchedulerType> compatibleSchedulers(const IrFusion& fusion, nb::handle inputs) {
  const Inputs given(inputs);
  std::vector<SchedulerType> result;
  for (const SchedulerEntry* entry : schedulerEntries()) {
    const bool is_last_resort = entry->type() == SchedulerType::Greedy && !result.empty();
    if (!is_last_resort && rejectionBy(fusion, entry->type(), given).empty()) {
      result.push_back(entry->type());
    }
  }
  return result;
}

std::shared_ptr<nvfuser::HeuristicParams> paramsFor(const IrFusion& fusion, SchedulerType type,
                                                    nb::handle inputs, const char* what) {
  const Inputs given(inputs);
  Plan plan = planWith(fusion, type, given);
  if (const auto* refusal = std::get_if<Refusal>(&plan)) {
    userError(what, ": scheduler ", schedulerTypeName(type),
              " does not take the fusion: ", std::string_view(refusal->why));
  }
  return std::move(std::get<std::unique_ptr<nvfuser::HeuristicParams>>(plan));
}

void apply(const IrFusion& fusion, SchedulerType type, const nvfuser::HeuristicParams& params) {
  if (params.scheduler_type != type) {
    userError("schedule: the parameters are those of scheduler ",
              schedulerTypeName(params.scheduler_type), ", not of ", schedulerTypeName(type));
  }
  const SchedulerEntry* entry = entryOf(type);
  if (entry == nullptr) {
    userError("schedule: there is no scheduler ", schedulerTypeName(type), " here");
  }
  fusion.definition->beforeScheduling();
  FusionGuard guard(&fusion.definition->graph);
  fusion.definition->graph.settleAxes();
  entry->schedule(&fusion.definition->graph, params);
}

void bindPrimitives(nb::module_& schedule) {
  using namespace nb::literals;
  schedule.def("transform_like", &transformLike, "reference_tv"_a,
               "selected_tensors"_a = nb::list(),
               "Gives all tensors (or those selected) the loops of the reference.");
  schedule.def("parallelize_like", &parallelizeLike, "reference_tv"_a, "pos"_a = -1,
               "selected_tensors"_a = nb::list(),
               "selected_parallel_types"_a = std::set<ParallelType>(), "propagate_padding"_a = true,
               "Binds the loops of all tensors as the reference's first pos are bound.");
  schedule.def("inline_most", &inlineMostOf, "selected_tensors"_a = nb::list(),
               "Places every tensor as far inside its readers' loops as possible.");
  schedule.def(
      "inline_at", &inlineAt, "reference_tv"_a, "pos"_a = -1, "best_effort"_a = false,
      "selected_tensors"_a = nb::list(),
      "Places every tensor inside the loops that correspond to the reference's first pos.");
  schedule.def(
      "bounded_transform_backward", &boundedTransformBackward, "from_tv"_a, "pos"_a, "to"_a,
      "propagate_parallel_type"_a = false,
      "Gives the tensors from `to` down to `from_tv` the loops of the latter's first pos.");
  schedule.def(
      "warp_specialize", &warpSpecialize, "tv"_a, "number_of_stages"_a, "prefetch_distance"_a,
      "parallel_type"_a, "num_registers"_a = nb::none(),
      "Gives the tensor a circular buffer that threads of their own fill, along a dimension "
      "of the block; num_registers: of a thread that loads and of one that computes.");
}

}  // namespace

void bindSchedule(nb::module_& direct) {
  using namespace nb::literals;
  nb::module_ schedule = direct.def_submodule(
      "schedule", "Scheduling: primitives on several tensors, and the automatic schedulers.");
  bindPrimitives(schedule);
  schedule.def("can_schedule", &canSchedule, "fusion"_a, "scheduler_type"_a, "inputs"_a,
               "Whether the scheduler takes the fusion for these inputs, and if not why.");
  schedule.def(
      "find_compatible_schedulers", &compatibleSchedulers, "fusion"_a, "inputs"_a,
      "The schedulers that take the fusion, best first; greedy, which takes nearly all, alone.");
  schedule.def(
      "compute_heuristics",
      [](const IrFusion& fusion, SchedulerType type, nb::handle inputs) {
        return wrapHeuristics(paramsFor(fusion, type, inputs, "compute_heuristics"));
      },
      "fusion"_a, "scheduler_type"_a, "inputs"_a,
      "What the scheduler would do. A RuntimeError with its reason if it does not take the "
      "fusion.");
  schedule.def(
      "schedule",
      [](const IrFusion& fusion, SchedulerType type, const Heuristics& given) {
        apply(fusion, type, *given.params);
        return wrapHeuristics(given.params);
      },
      "fusion"_a, "scheduler_type"_a, "heuristic_params"_a,
      "Schedules the fusion with these parameters.");
  schedule.def(
      "schedule",
      [](const IrFusion& fusion, SchedulerType type, nb::handle inputs) {
        auto params = paramsFor(fusion, type, inputs, "schedule");
        apply(fusion, type, *params);
        return wrapHeuristics(std::move(params));
      },
      "fusion"_a, "scheduler_type"_a, "inputs"_a,
      "Schedules the fusion for these inputs; gives the parameters.");
}

}  // namespace nvfuser::python
