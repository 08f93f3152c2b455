#include <runtime/fusion_segment.h>

#include <ir/exact_numerics.h>
#include <iteration_space/refused_loops.h>
#include <scheduler/fetch_ahead.h>
#include <scheduler/indexed_reads.h>
#include <scheduler/resize_to_inputs.h>
#include <scheduler/scan/scan.h>
#include <scheduler/scatter/scatter.h>
#include <support/cancellation.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

/// Plans of one name are one kernel.
std::string nameOf(const HeuristicParams& params) {
  return text(schedulerTypeName(params.scheduler_type), " ", params.max_registers,
              params.fetch_ahead ? " fetched ahead " : " ", params.toString());
}

}  // namespace

FusionSegment::FusionSegment(const Fusion& whole, const Group& group)
    : extracted_(extractGroup(whole, group)) {}

void FusionSegment::readInputsAnywhere(bool on_host) {
  if (!asked_) {
    scheduler_tools::propagateIndexedReadsToInputs(extracted_.fusion.get());
  }
  if (!asked_ && scheduler_tools::resizesComputed(fusion())) {
    // (On the CPU vectors do not go along what is read at an index.)
    scheduler_tools::propagateResizeToInputs(extracted_.fusion.get(), !on_host);
  }
  asked_ = true;
}

/// The schedulers of normalisations share a row among lanes and threads.
std::optional<Refusal> FusionSegment::refusesToReduce(SchedulerType type) const {
  const bool reorders = type == SchedulerType::InnerPersistent ||
                        type == SchedulerType::OuterPersistent ||
                        type == SchedulerType::InnerOuterPersistent;
  if (!reorders || !reducesInOrder(fusion())) {
    return std::nullopt;
  }
  return Refusal{"exact_numerics: it combines the elements of a row in an order of its own"};
}

const std::optional<Refusal>& FusionSegment::refusalOf(const SchedulerEntry& entry) {
  auto form = form_.find(entry.type());
  if (form == form_.end()) {
    auto refusal = refusesToReduce(entry.type());
    if (!refusal) {
      refusal = entry.refusesForm(fusion());
    }
    if (!refusal && entry.refusesAs() != nullptr) {
      refusal = refusalOf(*entry.refusesAs());
    }
    form = form_.emplace(entry.type(), std::move(refusal)).first;
  }
  return form->second;
}

Proposal FusionSegment::propose(SchedulerRuntimeInfo& info) {
  Proposal proposal;
  for (const SchedulerEntry* entry : schedulerEntries()) {
    const bool scatters = entry->type() != SchedulerType::Scatter || hasScatters(fusion());
    if (entry->type() != SchedulerType::ExprEval && entry->type() != SchedulerType::NoOp &&
        scatters) {
      readInputsAnywhere(info.isHost());  // those that make a kernel
    }
    if (failed_.count(entry->type()) != 0) {
      proposal.refusals.emplace_back(entry->type(), Refusal{"its plan failed before"});
      continue;
    }
    const std::optional<Refusal>& form = refusalOf(*entry);
    if (form) {
      // That something is computed, not by a library, and nothing scanned or scattered, needs no
      // words.
      const bool scans = entry->type() != SchedulerType::Scan || hasScans(fusion());
      if (entry->type() != SchedulerType::NoOp && entry->type() != SchedulerType::ExprEval &&
          scans && scatters) {
        proposal.refusals.emplace_back(entry->type(), *form);
      }
      continue;
    }
    Plan plan = entry->plan(fusion(), info);
    if (auto* params = std::get_if<std::unique_ptr<HeuristicParams>>(&plan)) {
      (*params)->fetch_ahead = worthFetchingAhead(fusion(), info);
      const auto refused = refused_.find(nameOf(**params));
      if (refused == refused_.end()) {
        proposal.params = std::move(*params);
        return proposal;
      }
      plan = refused->second;
    }
    proposal.refusals.emplace_back(entry->type(), std::get<Refusal>(std::move(plan)));
  }
  return proposal;
}

SegmentKernel* FusionSegment::kernelFor(const HeuristicParams* params,
                                        const std::vector<InPlace>& wanted, Device& device,
                                        PrimDataType index_type, const CompileParams& compile,
                                        int64_t fusion_id, int64_t& next_name) {
  std::string key = params == nullptr ? std::string("as scheduled") : nameOf(*params);
  for (const InPlace& pair : wanted) {
    key += text(" in place ", pair.output, " ", pair.input, pair.with_gaps ? " with gaps" : "");
  }
  std::unique_ptr<SegmentKernel>& kernel = kernels_[key];
  if (kernel == nullptr) {
    auto made = std::make_unique<SegmentKernel>();
    made->executor = std::make_unique<KernelExecutor>(fusion_id, 0, 0, next_name);
    Fusion scheduled(fusion());
    const Options& options = *compile.options;
    const std::string& name = made->executor->name();
    if (options.dumps(DebugDumpOption::FusionIrPresched)) {
      dump(options, name, "fusion_ir_presched", scheduled.toString());
    }
    if (params != nullptr) {
      made->params = params->clone();
      if (options.dumps(DebugDumpOption::SchedulerParams)) {
        dump(options, name, "scheduler_params",
             text("scheduler ", schedulerTypeName(params->scheduler_type), ": ", params->toString(),
                  params->fetch_ahead ? ", fetched ahead" : ""));
      }
      for (const InPlace& pair : wanted) {
        if (pair.with_gaps) {
          takeGaps(scheduled.outputs()[pair.output]->as<TensorView>(),
                   scheduled.inputs()[pair.input]->as<TensorView>());
        }
      }
      schedulerEntry(params->scheduler_type).schedule(&scheduled, *params);
      if (params->fetch_ahead) {
        scheduled.kernelHints().fetch_ahead = true;
      }
      const IdGraph exact(scheduled, IdGraph::Mode::Exact);
      if (auto why = refusedLoops(scheduled, exact, lowerTargetOf(device))) {
        refused_.emplace(nameOf(*params), Refusal{std::move(*why)});
        return nullptr;
      }
      checkCancelled(compile.cancellation);
    }
    made->in_place = directWrites(scheduled, wanted, lowerTargetOf(device));
    for (const InPlace& pair : made->in_place) {
      scheduled.aliasOutputToInput(scheduled.outputs()[pair.output], scheduled.inputs()[pair.input],
                                   AllocationType::ReuseBuffer);
    }
    made->executor->adopt(scheduled);
    made->executor->lower(device, index_type, compile);
    ++next_name;
    kernel = std::move(made);
  } else {
    kernel->executor->lower(device, index_type, compile);
  }
  return kernel.get();
}

SegmentKernel& FusionSegment::interpreted() {
  std::unique_ptr<SegmentKernel>& kernel = kernels_["interpreted"];
  if (kernel == nullptr) {
    kernel = std::make_unique<SegmentKernel>();
  }
  return *kernel;
}

std::vector<const SegmentKernel*> FusionSegment::kernels() const {
  std::vector<const SegmentKernel*> all;
  for (const auto& [key, kernel] : kernels_) {
    all.push_back(kernel.get());
  }
  return all;
}

}  // namespace nvfuser
