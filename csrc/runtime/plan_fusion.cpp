// How a fusion is run for the arguments of a call: which outputs are views or stored part by part,
// the cut into segments, a plan for each, and where each value is kept.
#include <algorithm>

#include <external/providers.h>
#include <ir/external_ops.h>
#include <ir/internal_nodes.h>
#include <runtime/dump_kernel.h>
#include <runtime/in_place.h>
#include <runtime/kept_cuts.h>
#include <runtime/kernel_cache/process_cache.h>
#include <runtime/launch_values.h>
#include <runtime/prepared_fusion.h>
#include <runtime/profiler_range.h>
#include <scheduler/expr_eval/epilogue.h>
#include <scheduler/expr_eval/expr_eval.h>
#include <segmenter/order_exchanges.h>
#include <segmenter/segment_fusion.h>
#include <support/cancellation.h>
#include <support/dump.h>

namespace nvfuser {

void StageTimes::note(std::string_view stage) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::milli> took = now - since_;
  append(lines_, text(fixed(took.count(), 3), " ms  ", stage, "\n"));
  since_ = now;
}

namespace {

/// Symbols that sizes are made of: neither constants nor computed nor given by the caller.
KnownScalars sizesByName(const Fusion& fusion, ExpressionEvaluator& evaluator) {
  KnownScalars sizes;
  const auto& inputs = fusion.inputs();
  for (const auto& val : fusion.vals()) {
    if (!val->isScalar() || val->isConst() || val->definition() != nullptr ||
        std::find(inputs.begin(), inputs.end(), val.get()) != inputs.end()) {
      continue;
    }
    PolymorphicValue value = evaluator.evaluate(val.get());
    if (value.hasValue()) {
      sizes.emplace_back(val->toString(), value);
    }
  }
  return sizes;
}

}  // namespace

FusionExecutorCache::Variant& FusionExecutorCache::variantFor(Form& form, Call& call,
                                                              std::vector<PlannedView>& views,
                                                              std::vector<PlannedJoin>& joins) {
  const Fusion* graph = form.graph;
  call.evaluator = bindAllInputs(*graph, call.args);
  views = planViews(*graph, call.args, call.evaluator);
  joins = planJoins(*graph, call.device->kind(), call.evaluator);
  call.planned_args = call.args;
  std::vector<size_t> positions;
  for (const PlannedView& view : views) {
    positions.push_back(view.output);
  }
  for (const PlannedJoin& join : joins) {
    positions.push_back(graph->outputs().size() + static_cast<size_t>(join.output->name()));
    const Tensor whole = Tensor::meta(join.layout.sizes, join.layout.strides, join.output->dtype());
    for (const PlannedJoin::Part& part : join.parts) {
      call.planned_args.push(
          whole.asStrided(part.place.sizes, part.place.strides, part.place.offset));
    }
  }
  std::unique_ptr<Variant>& variant = form.variants[positions];
  if (variant == nullptr) {
    variant = std::make_unique<Variant>();
    variant->updates_arguments = !graph->getOutputAliases().empty();
    if (views.empty() && joins.empty()) {
      variant->fusion = graph;
      variant->outputs.assign(graph->outputs().begin(), graph->outputs().end());
    } else {
      WithoutViews rest = withoutViews(*graph, views);
      variant->own = std::move(rest.fusion);
      variant->fusion = variant->own.get();
      variant->outputs = std::move(rest.outputs);
      variant->sources = std::move(rest.sources);
      for (const PlannedJoin& join : joins) {
        variant->joins.push_back(storeParts(*variant->own, join));
      }
    }
  }
  if (variant->own != nullptr) {
    call.evaluator = bindAllInputs(*variant->fusion, call.planned_args);
  }
  call.sizes = sizesByName(*variant->fusion, call.evaluator);
  return *variant;
}

FusionSegment& FusionExecutorCache::segmentOf(Variant& variant, const Group& group) {
  std::vector<int64_t> names;
  for (const Expr* expr : group.exprs) {
    names.push_back(expr->name());
  }
  names.push_back(-1);
  for (const TensorView* output : group.outputs) {
    names.push_back(output->name());
  }
  std::unique_ptr<FusionSegment>& segment = variant.segments[names];
  if (segment == nullptr) {
    segment = std::make_unique<FusionSegment>(*variant.fusion, group);
    if (variant.updates_arguments) {
      segment->setFailed(SchedulerType::NoOp);  // a view would show what is written later
    }
  }
  return *segment;
}

SchedulerRuntimeInfo runtimeInfo(const FusionSegment& segment, const Fusion& whole,
                                 const KernelArgumentHolder& args, const KnownScalars& sizes,
                                 Device& device, PrimDataType index_type) {
  ExpressionEvaluator evaluator;
  const auto& inputs = whole.inputs();
  std::vector<TensorLayout> layouts;
  for (const auto& [name, value] : sizes) {
    evaluator.bind(name, value);
  }
  for (size_t i = 0; i < segment.inputs().size(); ++i) {
    const Val* input = segment.inputs()[i];
    const Val* own = segment.fusion().inputs()[i];
    const auto place = std::find(inputs.begin(), inputs.end(), input);
    if (!input->isA<TensorView>()) {
      evaluator.bind(own, args[static_cast<size_t>(place - inputs.begin())].scalar());
      continue;
    }
    TensorLayout layout;
    if (place != inputs.end()) {
      const Tensor& tensor = args[static_cast<size_t>(place - inputs.begin())].tensor();
      layout = {tensor.sizes(), tensor.strides(), alignmentOf(tensor)};
    } else {
      const auto dense = denseLayout(own->as<TensorView>(), evaluator);
      check(dense.has_value(), "tensors between kernels are dense");
      layout.sizes = dense->sizes;
      layout.strides = dense->strides;
      for (size_t axis = 0; axis < layout.sizes.size(); ++axis) {
        if (own->as<TensorView>()->getLogicalDomain()[axis]->isBroadcast()) {
          layout.strides[axis] = 0;
        }
      }
    }
    layouts.push_back(std::move(layout));
  }
  SchedulerRuntimeInfo info(segment.fusion(), layouts, std::move(evaluator), device.kind(),
                            device.properties(), DataType(index_type));
  for (size_t k = 0; k < segment.outputs().size(); ++k) {
    const AliasInfo& alias = whole.getOutputAlias(segment.outputs()[k]);
    const auto place = std::find(inputs.begin(), inputs.end(), alias.aliased_io);
    if (alias.type == AllocationType::ReuseBuffer && place != inputs.end()) {
      const Tensor& tensor = args[static_cast<size_t>(place - inputs.begin())].tensor();
      info.setAlignment(segment.fusion().outputs()[k]->as<TensorView>(), alignmentOf(tensor));
    }
  }
  return info;
}

namespace {

/// Whether running it can fail for what the tensors hold: at an index that there is not, or in a
/// library.
bool mayFail(const FusionSegment& segment) {
  const std::vector<Expr*> exprs = tensorExprs(segment.fusion());
  return std::any_of(exprs.begin(), exprs.end(), [](const Expr* expr) {
    return expr->isOneOf<IndexSelectOp, GatherOp>() || isExternalOp(expr);
  });
}

}  // namespace

/// Plans of a fusion that may fail: a mistake that many cuts have in common is not met by all.
constexpr size_t kMostFailedPlans = 16;

/// Where falling back is allowed: says why, and does not ask that scheduler again; after many
/// failures the host computes the part. (A caller that can do it in another way does.)
bool FusionExecutorCache::discardPlan(FusionSegment& segment, SchedulerType type, const Call& call,
                                      std::string_view what, const std::exception& error) {
  const bool are_many = failed_plans_.size() >= kMostFailedPlans;
  if (!call.mayFallBack() || (are_many && caller_falls_back_)) {
    return false;
  }
  failed_plans_.push_back(text("a ", what, " (scheduler ", schedulerTypeName(type),
                               "), so its part runs in another way: ", error.what()));
  if (!caller_falls_back_) {
    warn(text(name(), ": ", failed_plans_.back()));
  }
  if (are_many) {
    segment.setOnHost();
  } else {
    segment.setFailed(type);
  }
  return true;
}

/// Plans and lowers every segment of a cut. False where all schedulers refuse one of several
/// operations, so that it has to be cut further; with `all` it is computed on the host instead, as
/// a single operation always is.
bool FusionExecutorCache::planAll(const Variant& variant, const Cut& cut, bool all, Call& call,
                                  Prepared& result) {
  result.steps.clear();
  std::unordered_map<const Val*, size_t> last_use;
  size_t last_risk = 0;
  for (size_t place = 0; place < cut.size(); ++place) {
    for (const Val* input : cut[place]->inputs()) {
      last_use[input] = place;
    }
    last_risk = mayFail(*cut[place]) ? place : last_risk;
  }
  for (size_t place = 0; place < cut.size(); ++place) {
    FusionSegment* segment = cut[place];
    Step step{segment, nullptr, {}, {}, {}, {}, nullptr, {}};
    checkCancelled(call.context.cancellation);
    while (step.kernel == nullptr) {
      SchedulerRuntimeInfo info = runtimeInfo(*segment, *variant.fusion, call.planned_args,
                                              call.sizes, *call.device, call.index_type);
      Proposal proposal = auto_schedule_ ? segment->propose(info) : Proposal();
      step.refusals = std::move(proposal.refusals);
      checkCancelled(call.context.cancellation);
      if (auto_schedule_ && proposal.params == nullptr) {
        if (!all && tensorExprs(segment->fusion()).size() > 1) {
          return false;
        }
        step.kernel = &segment->interpreted();
        break;
      }
      if (auto_schedule_ && segment->isOnHost()) {
        step.kernel = &segment->interpreted();
        break;
      }
      if (auto_schedule_ && proposal.params->scheduler_type == SchedulerType::ExprEval) {
        step.external.emplace();
        step.external->operation = static_cast<const ExprEvalParams&>(*proposal.params).operation;
        break;
      }
      if (auto_schedule_ && proposal.params->scheduler_type == SchedulerType::NoOp) {
        step.views = static_cast<const NoOpParams&>(*proposal.params).views;
        break;
      }
      try {
        std::vector<InPlace> wanted;
        if (auto_schedule_) {
          wanted = inPlaceOf(variant, *segment, place, last_use, last_risk, call);
        }
        step.kernel = segment->kernelFor(proposal.params.get(), wanted, *call.device,
                                         call.index_type, call.params, fusion_id_, next_kernel_);
      } catch (const std::bad_alloc&) {
        throw;  // says nothing against the plan: the next call makes it
      } catch (const std::exception& error) {
        if (!auto_schedule_ || !discardPlan(*segment, proposal.params->scheduler_type, call,
                                            "plan could not be carried out", error)) {
          throw;
        }
      }
    }
    result.steps.push_back(std::move(step));
  }
  return true;
}

namespace {

/// The groups, each product joined with the group that is its epilogue and its only reader, where
/// the device's library takes it.
std::vector<Group> withEpilogues(std::vector<Group> groups, DeviceKind device) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const Expr* product = groups[i].exprs.size() == 1 ? groups[i].exprs[0] : nullptr;
    if (product == nullptr || !product->isOneOf<MatmulOp, LinearOp>() ||
        product->output(0)->isFusionOutput()) {
      continue;
    }
    const auto* sums = product->output(0)->as<TensorView>();
    std::vector<size_t> readers;
    for (size_t other = 0; other < groups.size(); ++other) {
      const std::vector<TensorView*>& inputs = groups[other].inputs;
      if (std::find(inputs.begin(), inputs.end(), sums) != inputs.end()) {
        readers.push_back(other);
      }
    }
    if (readers.size() != 1 || groups[readers[0]].outputs.size() != 1) {
      continue;
    }
    std::vector<Expr*> exprs = groups[readers[0]].exprs;
    const TensorView* result = groups[readers[0]].outputs[0];
    exprs.insert(exprs.begin(), groups[i].exprs[0]);
    const auto found = productWithEpilogue(exprs, result);
    if (found && external::takesEpilogue(product, found->end, found->bias != nullptr, device)) {
      groups[readers[0]] =
          makeGroup(std::move(exprs), [&](const TensorView* tv) { return tv == result; });
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  }
  return groups;
}

}  // namespace

/// A plan that fails when it is carried out is not proposed again, so the fusion is cut further;
/// where that changes nothing, the host computes what is left.
void FusionExecutorCache::cutAndPlan(Variant& variant, Call& call, Prepared& result) {
  const Fusion& fusion = *variant.fusion;
  auto takes = [&](const Group& group) {
    checkCancelled(call.context.cancellation);
    FusionSegment& segment = segmentOf(variant, group);
    SchedulerRuntimeInfo info =
        runtimeInfo(segment, fusion, call.planned_args, call.sizes, *call.device, call.index_type);
    return segment.propose(info).params != nullptr;
  };
  SegmentCall about;
  about.device = call.device->kind();
  about.extent = [&](const IterDomain* id) {
    return call.evaluator.evaluateInt(id->getMaybeExpandedExtent(), "the size of an axis");
  };
  about.layout = [&](const TensorView* input) {
    const auto place = std::find(fusion.inputs().begin(), fusion.inputs().end(), input);
    const Tensor& tensor =
        call.planned_args[static_cast<size_t>(place - fusion.inputs().begin())].tensor();
    return text(alignmentOf(tensor), " ", join(tensor.strides(), ","));
  };
  // Later plans find what the schedulers said to the first, and are cut faster than a file is read.
  const bool is_first = auto_schedule_ && variant.segments.empty();
  DiskCache* kept = is_first && !call.params.options->isDisabled(DisableOption::NvrtcCaching)
                        ? processDiskCache()
                        : nullptr;
  const std::string key = kept == nullptr ? std::string()
                                          : cutKey(fusion, call.planned_args, *call.device,
                                                   DataType(call.index_type), *call.params.options);
  std::optional<std::vector<Group>> found =
      kept == nullptr ? std::nullopt : findCut(fusion, key, *kept);
  Cut cut;
  for (bool planned = false; !planned;) {
    Cut next;
    std::vector<Group> groups;
    const bool was_kept = found.has_value();
    if (!auto_schedule_) {
      if (!fusion.isNoOp()) {
        next.push_back(&segmentOf(variant, wholeGroup(fusion)));
      }
    } else {
      fusion.verifySettled();
      groups = found ? *std::exchange(found, std::nullopt) : segmentFusion(fusion, about, takes);
      for (const Group& group : exchangesEarly(withEpilogues(groups, call.device->kind()))) {
        next.push_back(&segmentOf(variant, group));
      }
    }
    const bool same = next == cut;
    cut = std::move(next);
    call.stages.note("segmentation");
    planned = planAll(variant, cut, same, call, result);
    call.stages.note("schedules and kernels");
    about.one_answer_per_form = false;
    if (planned && kept != nullptr && !was_kept && groups.size() > 1 && failed_plans_.empty()) {
      keepCut(fusion, key, groups, *kept);
    }
  }
}

FusionExecutorCache::Asked FusionExecutorCache::askedBy(const Call& call) {
  Asked asked;
  asked.device = call.device;
  asked.options = *call.params.options;
  for (const KernelArgument& argument : call.args) {
    const bool is_tensor = argument.isTensor() && argument.tensor().defined();
    asked.alignments.push_back(is_tensor ? alignmentOf(argument.tensor().data()) : 0);
    if (is_tensor) {
      const Tensor& tensor = argument.tensor();
      asked.args.push(Tensor::meta(tensor.sizes(), tensor.strides(), tensor.dtype()));
    } else {
      asked.args.push(argument);
    }
  }
  return asked;
}

std::shared_ptr<FusionExecutorCache::Prepared> FusionExecutorCache::makePrepared(Call& call) {
  const ProfilerRange range("plan", [&] { return name(); });
  call.stages.begin();
  Form& form = formFor(call.args, {.device = call.device->kind(),
                                   .exactly = isExact(*call.params.options),
                                   .cancellation = call.context.cancellation});
  call.stages.note("sizes and passes over the fusion");
  auto result = std::make_shared<Prepared>();
  result->form = &form;
  std::vector<PlannedView> views;
  std::vector<PlannedJoin> joins;
  Variant& variant = variantFor(form, call, views, joins);
  result->sizes = call.sizes;
  result->updated = updatedInputs(*form.graph);
  result->asked = askedBy(call);
  cutAndPlan(variant, call, *result);
  planSlots(variant, views, std::move(joins), *result);
  planExchanges(*result);
  if (call.params.options->dumps(DebugDumpOption::PassTimes)) {
    dump(*call.params.options, name(), "pass_times", call.stages.lines());
  }
  showSegments(*result, *call.params.options);
  return result;
}

}  // namespace nvfuser
