// What a FusionExecutorCache tells of its last call.
#include <runtime/dump_kernel.h>
#include <runtime/prepared_fusion.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

std::string namesOf(const std::vector<const Val*>& vals) {
  return join(vals, ", ", [](const Val* val) { return val->toInlineString(); });
}

}  // namespace

void FusionExecutorCache::showSegments(const Prepared& what, const Options& options) const {
  if (!options.dumps(DebugDumpOption::SegmentedFusion)) {
    return;
  }
  std::string lines;
  for (size_t i = 0; i < what.steps.size(); ++i) {
    const FusionSegment& segment = *what.steps[i].segment;
    append(lines, text("kernel ", i + 1, ": (", namesOf(segment.inputs()), ") -> (",
                       namesOf(segment.outputs()), ")\n", segment.fusion().mathString(), "\n"));
  }
  dump(options, name(), "segmented_fusion", lines);
}

std::string FusionExecutorCache::stepTensors(const Step& step) {
  return text("(", namesOf(step.segment->inputs()), ") -> (", namesOf(step.segment->outputs()),
              ")");
}

std::vector<std::string> FusionExecutorCache::failedPlans() const {
  std::lock_guard<std::mutex> lock(planning_);
  return failed_plans_;
}

std::string FusionExecutorCache::report() const {
  const std::shared_ptr<const Prepared> plan = last();
  if (plan == nullptr) {
    return "nothing has run yet\n";
  }
  std::string lines;
  size_t number = 0;
  size_t external = 0;
  for (const Step& step : plan->steps) {
    const std::string what = stepTensors(step) + "\n";
    if (step.external) {
      const RanBy::Last last = step.external->ran_by->get();
      const std::string by = last.name.empty() ? "" : text(", run by ", last.name);
      append(lines, text("external call ", ++external, ": ", what, "  ", step.external->operation,
                         by, "\n"));
      if (last.devices > 1) {
        append(lines, text("  ", last.received_bytes, " bytes received by each of ", last.devices,
                           " devices, ", fixed(last.host_ms, 4), " ms on the host\n"));
      }
      continue;
    }
    if (step.kernel == nullptr) {
      append(lines, text("views: ", what));
      continue;
    }
    append(lines, text("kernel ", ++number, ": ", what));
    if (const HeuristicParams* params = step.kernel->params.get()) {
      append(lines, text("  scheduler ", schedulerTypeName(params->scheduler_type), ": ",
                         params->toString(), "\n"));
    } else {
      append(lines, "  interpreted on the host\n");
    }
    for (const auto& [type, refusal] : step.refusals) {
      append(lines, text("  not ", schedulerTypeName(type), ": ", refusal.why, "\n"));
    }
  }
  for (const Prepared::ViewStep& step : plan->views) {
    append(lines, text("output ", step.view.output, ", ",
                       plan->form->graph->outputs()[step.view.output]->toInlineString(),
                       ": a view of ", step.view.source->toInlineString(), "\n"));
  }
  return lines;
}

}  // namespace nvfuser
