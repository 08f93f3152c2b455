#include <runtime/fusion_executor_cache.h>

#include <algorithm>
#include <cstring>

#include <evaluator/interpreter.h>
#include <ir/internal_nodes.h>
#include <preseg_passes/pipeline.h>
#include <preseg_passes/substitute_extents.h>
#include <runtime/compile_batch.h>
#include <runtime/launch_values.h>
#include <scheduler/no_op/no_op.h>
#include <segmenter/segment_fusion.h>
#include <support/dump.h>

namespace nvfuser {

/// One way of running the fusion: for all calls with the same key.
struct FusionExecutorCache::Prepared {
  struct Step {
    FusionSegment* segment;
    SegmentKernel* kernel;  ///< null: its outputs are views of its inputs
    std::vector<std::pair<SchedulerType, Refusal>> refusals;  ///< before its plan
    std::vector<size_t> inputs;                               ///< slots
    std::vector<size_t> outputs;
    std::vector<size_t> dead;                ///< slots that nobody reads any more
    std::shared_ptr<const LaunchPlan> plan;  ///< from the first call on
    std::vector<NoOpParams::View> views;     ///< of the inputs, instead of a kernel
  };
  struct ViewStep {
    PlannedView view;
    size_t source;  ///< slots
    size_t result;
  };
  std::vector<Step> steps;
  std::vector<ViewStep> views;    ///< after all steps
  std::vector<const Val*> slots;  ///< the whole fusion's values; its inputs come first
  std::vector<size_t> outputs;    ///< slots of the fusion's outputs
  KnownScalars sizes;
  bool compiled = false;
};

/// What is left to compute where some outputs are views.
struct FusionExecutorCache::Variant {
  std::unique_ptr<Fusion> own;  ///< null where all outputs are computed
  const Fusion* fusion;
  std::vector<const Val*> outputs;  ///< for each output of the whole; null for a view
  std::vector<const Val*> sources;  ///< of the views
  /// By the names of their expressions and outputs.
  std::map<std::vector<int64_t>, std::unique_ptr<FusionSegment>> segments;
};

/// What one call asks for.
struct FusionExecutorCache::Call {
  const KernelArgumentHolder& args;
  Device* device;
  PrimDataType index_type;
  CompileParams params;
  /// Knows all sizes, once a plan is needed.
  ExpressionEvaluator evaluator;
  KnownScalars sizes;

  bool mayFallBack() const {
    return !params.options->isDisabled(DisableOption::Fallback) &&
           !params.options->flag(Setting::DisableFallback);
  }
};

namespace {

constexpr size_t kMostPrepared = 256;  ///< keys remembered
constexpr size_t kNoSlot = SIZE_MAX;
constexpr size_t kMostInBatch = 32;  ///< kernels in one text: its compilation has a deadline

int64_t alignmentOf(const Tensor& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.data());
  int64_t alignment = SchedulerRuntimeInfo::kMaxAlignment;
  while (address % static_cast<uintptr_t>(alignment) != 0) {
    alignment /= 2;
  }
  return alignment;
}

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

/// Whether a dump wants to see each launch, which a finished plan does not show.
bool showsLaunches(const Options& options) {
  using enum DebugDumpOption;
  return options.dumps(LaunchParam) || options.dumps(KernelArgs) || options.dumps(Occupancy) ||
         options.dumps(BankConflict) || options.dumps(DumpEffBandwidth);
}

/// `tensor`, row-major, in the order in memory that `tv` declares.
Tensor inDeclaredOrder(Tensor tensor, const TensorView* tv) {
  if (!tv->hasAllocation() || tensor.numel() == 0) {
    return tensor;
  }
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const std::vector<IterDomain*> memory = TensorDomain::noReductions(tv->getAllocationDomain());
  std::vector<int64_t> strides(logical.size(), 1);
  int64_t stride = 1;
  for (size_t i = memory.size(); i-- > 0;) {
    const auto place = std::find(logical.begin(), logical.end(), memory[i]);
    if (place == logical.end()) {
      return tensor;
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    strides[axis] = stride;
    stride *= tensor.sizes()[axis];
  }
  Tensor ordered =
      Tensor::emptyStrided(tensor.sizes(), std::move(strides), tensor.dtype(), tensor.device());
  ordered.copyFrom(tensor);
  return ordered;
}

/// A segment without a kernel, on the host.
KernelArgumentHolder interpretSegment(const Fusion& fusion, const KernelArgumentHolder& args,
                                      Device& device) {
  KernelArgumentHolder on_host;
  for (const KernelArgument& argument : args) {
    on_host.push(argument.isTensor() ? KernelArgument(argument.tensor().copyTo(cpuDevice()))
                                     : argument);
  }
  KernelArgumentHolder results;
  for (const HostTensor& result : interpret(fusion, on_host.inputs())) {
    const auto* tv = fusion.outputs()[results.size()]->as<TensorView>();
    results.push(inDeclaredOrder(Tensor::fromHostTensor(result, device), tv));
  }
  return results;
}

}  // namespace

FusionExecutorCache::FusionExecutorCache(std::unique_ptr<Fusion> fusion, int64_t fusion_id,
                                         bool auto_schedule)
    : fusion_(std::move(fusion)), fusion_id_(fusion_id), auto_schedule_(auto_schedule) {
  if (fusion_ == nullptr) {
    userError("FusionExecutorCache: the fusion is null");
  }
  fusion_->verify();
  // Draws keep the numbers that they have in the whole fusion.
  std::map<int64_t, int64_t> draws;
  for (Expr* expr : fusion_->exprs()) {
    if (expr->isA<RNGOp>() && expr->as<RNGOp>()->seed() == nullptr) {
      draws[expr->name()] = num_draws_++;
    }
  }
  fusion_->manage("random_draws", draws);
  const Options& options = Options::current();
  if (options.dumps(DebugDumpOption::FusionIrOriginal)) {
    dump(options, name(), "fusion_ir_original", fusion_->toString());
  }
  graph_ = fusion_.get();
  if (auto_schedule_) {
    rewrite(options);
  }
  if (options.dumps(DebugDumpOption::FusionIrPreseg)) {
    dump(options, name(), "fusion_ir_preseg", graph_->toString());
  }
}

void FusionExecutorCache::rewrite(const Options& options) {
  equal_extents_ = preseg_passes::equalExtents(*fusion_);
  rewritten_ = std::make_unique<Fusion>(*fusion_);
  preseg_passes::runAll(*rewritten_, options, name());
  graph_ = rewritten_.get();
}

/// The rewritten fusion takes for granted what the user's fusion requires of sizes.
void FusionExecutorCache::checkInputs(const KernelArgumentHolder& args) const {
  ExpressionEvaluator evaluator = bindAllInputs(*fusion_, args);
  for (auto [extent, used] : equal_extents_) {
    const PolymorphicValue a = evaluator.evaluate(extent);
    const PolymorphicValue b = evaluator.evaluate(used);
    if (a.hasValue() && b.hasValue() && !(a == b)) {
      userError("Tried to bind to a value: ", extent->toString(), " (which evaluated to ",
                a.toString(), ") as ", b.toString(),
                ": the inputs' sizes do not agree; axes of extent ", extent->toString(), " and ",
                used->toString(), " meet in one operation");
    }
  }
}

FusionExecutorCache::~FusionExecutorCache() = default;

std::string FusionExecutorCache::name() const { return text("nvfuser_", fusion_id_); }

FusionExecutorCache::Call FusionExecutorCache::makeCall(
    const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type,
    Device* device) const {
  Call call{args, device, forced_index_type.value_or(args.getSmallestIndexTypeOfArguments()),
            {},   {},     {}};
  call.params.options = Options::current();
  call.params.index_type = forced_index_type;
  for (const KernelArgument& argument : args) {
    if (argument.isTensor() && argument.tensor().defined() && !argument.tensor().isMeta()) {
      call.device = &argument.tensor().device();
    }
  }
  if (call.device == nullptr) {
    call.device = &defaultDevice();
  }
  call.params.device = call.device;
  return call;
}

std::string FusionExecutorCache::keyOf(const Call& call) const {
  std::string key;
  auto number = [&key](int64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  number(static_cast<int64_t>(reinterpret_cast<uintptr_t>(call.device)));
  number(static_cast<int64_t>(call.index_type) * 2 + (call.mayFallBack() ? 1 : 0));
  key += call.params.options->codeKey();
  for (const KernelArgument& argument : call.args) {
    if (argument.isTensor() && argument.tensor().defined()) {
      const Tensor& tensor = argument.tensor();
      number((static_cast<int64_t>(tensor.dtype().type) * 2 + (tensor.isMeta() ? 1 : 0)) * 64 +
             alignmentOf(tensor));
      number(tensor.dim());
      for (int64_t size : tensor.sizes()) {
        number(size);
      }
      for (int64_t stride : tensor.strides()) {
        number(stride);
      }
    } else if (argument.isScalar() && argument.is<int64_t>()) {
      number(-1);
      number(argument.as<int64_t>());  // sizes may depend on it
    } else {
      number(-2);
    }
  }
  return key;
}

FusionExecutorCache::Variant& FusionExecutorCache::variantFor(Call& call,
                                                              std::vector<PlannedView>& views) {
  call.evaluator = bindAllInputs(*graph_, call.args);
  views = planViews(*graph_, call.args, call.evaluator);
  std::vector<size_t> positions;
  for (const PlannedView& view : views) {
    positions.push_back(view.output);
  }
  std::unique_ptr<Variant>& variant = variants_[positions];
  if (variant == nullptr) {
    variant = std::make_unique<Variant>();
    if (views.empty()) {
      variant->fusion = graph_;
      variant->outputs.assign(graph_->outputs().begin(), graph_->outputs().end());
    } else {
      WithoutViews rest = withoutViews(*graph_, views);
      variant->own = std::move(rest.fusion);
      variant->fusion = variant->own.get();
      variant->outputs = std::move(rest.outputs);
      variant->sources = std::move(rest.sources);
    }
  }
  if (variant->own != nullptr) {
    call.evaluator = bindAllInputs(*variant->fusion, call.args);
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
    if (!variant.fusion->getOutputAliases().empty()) {
      segment->setFailed(SchedulerType::NoOp);  // a view would show what is written later
    }
  }
  return *segment;
}

namespace {

/// What a scheduler may know of a segment in this call.
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
  return SchedulerRuntimeInfo(segment.fusion(), layouts, std::move(evaluator), device.kind(),
                              device.properties(), DataType(index_type));
}

}  // namespace

/// Plans and lowers every segment of a cut. False where all schedulers refuse one of several
/// operations, so that it has to be cut further; with `all` it is computed on the host instead, as
/// a single operation always is.
bool FusionExecutorCache::planAll(const Variant& variant, const Cut& cut, bool all, Call& call,
                                  Prepared& result) {
  result.steps.clear();
  for (FusionSegment* segment : cut) {
    Prepared::Step step{segment, nullptr, {}, {}, {}, {}, nullptr, {}};
    while (step.kernel == nullptr) {
      SchedulerRuntimeInfo info = runtimeInfo(*segment, *variant.fusion, call.args, call.sizes,
                                              *call.device, call.index_type);
      Proposal proposal = auto_schedule_ ? segment->propose(info) : Proposal();
      step.refusals = std::move(proposal.refusals);
      if (auto_schedule_ && proposal.params == nullptr) {
        if (!all && tensorExprs(segment->fusion()).size() > 1) {
          return false;
        }
        step.kernel = &segment->interpreted();
        break;
      }
      if (auto_schedule_ && proposal.params->scheduler_type == SchedulerType::NoOp) {
        step.views = static_cast<const NoOpParams&>(*proposal.params).views;
        break;
      }
      try {
        step.kernel = &segment->kernelFor(proposal.params.get(), *call.device, call.index_type,
                                          call.params, fusion_id_, next_kernel_);
      } catch (const std::exception& error) {
        if (!call.mayFallBack() || !auto_schedule_) {
          throw;
        }
        warn(text(name(), ": the plan of the scheduler ",
                  schedulerTypeName(proposal.params->scheduler_type),
                  " could not be carried out, so it runs in another way: ", error.what()));
        segment->setFailed(proposal.params->scheduler_type);
      }
    }
    result.steps.push_back(std::move(step));
  }
  return true;
}

/// A plan that fails when it is carried out is not proposed again, so the fusion is cut further;
/// where that changes nothing, the host computes what is left.
void FusionExecutorCache::cutAndPlan(Variant& variant, Call& call, Prepared& result) {
  const Fusion& fusion = *variant.fusion;
  auto takes = [&](const Group& group) {
    FusionSegment& segment = segmentOf(variant, group);
    SchedulerRuntimeInfo info =
        runtimeInfo(segment, fusion, call.args, call.sizes, *call.device, call.index_type);
    return segment.propose(info).params != nullptr;
  };
  SegmentCall about;
  about.device = call.device->kind();
  about.extent = [&](const IterDomain* id) {
    return call.evaluator.evaluateInt(id->getMaybeExpandedExtent(), "the size of an axis");
  };
  about.layout = [&](const TensorView* input) {
    const auto place = std::find(fusion.inputs().begin(), fusion.inputs().end(), input);
    const Tensor& tensor = call.args[static_cast<size_t>(place - fusion.inputs().begin())].tensor();
    return text(alignmentOf(tensor), " ", join(tensor.strides(), ","));
  };
  Cut cut;
  for (bool planned = false; !planned;) {
    Cut next;
    if (!auto_schedule_) {
      if (!fusion.isNoOp()) {
        next.push_back(&segmentOf(variant, wholeGroup(fusion)));
      }
    } else {
      for (const Group& group : segmentFusion(fusion, about, takes)) {
        next.push_back(&segmentOf(variant, group));
      }
    }
    const bool same = next == cut;
    cut = std::move(next);
    planned = planAll(variant, cut, same, call, result);
    about.one_answer_per_form = false;
  }
}

std::shared_ptr<FusionExecutorCache::Prepared> FusionExecutorCache::makePrepared(Call& call) {
  if (rewritten_ != nullptr) {
    checkInputs(call.args);
  }
  auto result = std::make_shared<Prepared>();
  std::vector<PlannedView> views;
  Variant& variant = variantFor(call, views);
  result->sizes = call.sizes;
  cutAndPlan(variant, call, *result);
  // Slots.
  std::map<const Val*, size_t> slot_of;
  auto slot = [&](const Val* val) {
    auto [place, is_new] = slot_of.emplace(val, result->slots.size());
    if (is_new) {
      result->slots.push_back(val);
    }
    return place->second;
  };
  for (const Val* input : variant.fusion->inputs()) {
    slot(input);
  }
  for (Prepared::Step& step : result->steps) {
    for (const Val* val : step.segment->inputs()) {
      step.inputs.push_back(slot(val));
    }
    for (const Val* val : step.segment->outputs()) {
      step.outputs.push_back(slot(val));
    }
  }
  std::vector<size_t> kept;  // to the end of a call
  for (const Val* output : variant.outputs) {
    result->outputs.push_back(output == nullptr ? kNoSlot : slot(output));
    if (output != nullptr) {
      kept.push_back(result->outputs.back());
    }
  }
  for (size_t i = 0; i < views.size(); ++i) {
    kept.push_back(slot(variant.sources[i]));
    result->views.push_back({views[i], kept.back(), kNoSlot});
  }
  for (Prepared::ViewStep& step : result->views) {
    step.result = result->slots.size();
    result->outputs[step.view.output] = step.result;
    result->slots.push_back(graph_->outputs()[step.view.output]);
  }
  std::vector<bool> seen(result->slots.size(), false);
  for (size_t used : kept) {
    seen[used] = true;
  }
  std::fill_n(seen.begin(), graph_->inputs().size(), true);  // the caller's
  for (auto step = result->steps.rbegin(); step != result->steps.rend(); ++step) {
    for (const auto& list : {step->outputs, step->inputs}) {
      for (size_t used : list) {
        if (!seen[used]) {
          seen[used] = true;
          step->dead.push_back(used);
        }
      }
    }
  }
  showSegments(*result, *call.params.options);
  return result;
}

std::shared_ptr<FusionExecutorCache::Prepared> FusionExecutorCache::prepared(const Call& call) {
  std::string key = keyOf(call);
  auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    last_ = recent_.front().second;
    return last_;
  }
  Call planning = call;
  last_ = makePrepared(planning);
  recent_.emplace_front(key, last_);
  by_key_.emplace(std::move(key), recent_.begin());
  if (recent_.size() > kMostPrepared) {
    by_key_.erase(recent_.back().first);
    recent_.pop_back();
  }
  return last_;
}

void FusionExecutorCache::compile(Prepared& what, const Call& call) {
  if (what.compiled) {
    return;
  }
  std::vector<KernelExecutor*> waiting;
  for (const Prepared::Step& step : what.steps) {
    KernelExecutor* executor = step.kernel != nullptr ? step.kernel->executor.get() : nullptr;
    if (executor != nullptr && executor->needsCompiling() &&
        std::find(waiting.begin(), waiting.end(), executor) == waiting.end()) {
      waiting.push_back(executor);
    }
  }
  for (size_t begin = 0; begin < waiting.size(); begin += kMostInBatch) {
    const size_t count = std::min(kMostInBatch, waiting.size() - begin);
    compileBatch(std::span(waiting).subspan(begin, count), *call.device, call.index_type,
                 call.params);
  }
  what.compiled = true;
}

void FusionExecutorCache::prepare(const KernelArgumentHolder& args,
                                  std::optional<PrimDataType> forced_index_type, Device* device) {
  std::lock_guard<std::mutex> lock(mutex_);
  prepared(makeCall(args, forced_index_type, device));
}

KernelArgumentHolder FusionExecutorCache::runFusionWithInputs(
    const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type,
    Device* device) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Call call = makeCall(args, forced_index_type, device);
  const Options& options = *call.params.options;
  if (options.dumps(DebugDumpOption::FusionArgs)) {
    dump(options, name(), "fusion_args", args.toString());
  }
  const std::shared_ptr<Prepared> plan = prepared(call);
  compile(*plan, call);

  std::vector<KernelArgument> slots(plan->slots.size());
  for (size_t i = 0; i < args.size(); ++i) {
    slots[i] = args[i];
  }
  const bool shows = showsLaunches(options);
  for (Prepared::Step& step : plan->steps) {
    KernelArgumentHolder step_args;
    step_args.reserve(step.inputs.size());
    for (size_t slot : step.inputs) {
      step_args.push(slots[slot]);
    }
    KernelArgumentHolder results;
    if (step.kernel == nullptr) {
      for (const NoOpParams::View& view : step.views) {
        const Tensor& source = step_args[static_cast<size_t>(view.input)].tensor();
        results.push(source.asStrided(view.layout.sizes, view.layout.strides,
                                      source.storageOffset() + view.layout.offset));
      }
    } else if (step.plan != nullptr && !shows) {
      results = KernelExecutor::run(*step.plan, step_args, seed_, offset_);
    } else if (KernelExecutor* executor = step.kernel->executor.get()) {
      executor->setRandomState(seed_, offset_);
      executor->setKnownScalars(plan->sizes);
      results = executor->run(step_args, {}, LaunchParams(), call.params);
      step.plan = executor->lastPlan();
    } else {
      results = interpretSegment(step.segment->fusion(), step_args, *call.device);
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      slots[step.outputs[i]] = results[i];
    }
    for (size_t slot : step.dead) {
      slots[slot] = KernelArgument();
    }
  }
  for (const Prepared::ViewStep& step : plan->views) {
    slots[step.result] = viewOf(slots[step.source].tensor(), step.view);
  }
  offset_ += static_cast<uint64_t>(num_draws_);
  // In-place outputs go to their input's storage when nobody reads it any more.
  KernelArgumentHolder results;
  const auto& inputs = graph_->inputs();
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    const AliasInfo& alias = graph_->getOutputAlias(graph_->outputs()[i]);
    const KernelArgument& value = slots[plan->outputs[i]];
    if (alias.aliased_io != nullptr && alias.type == AllocationType::ReuseBuffer) {
      const auto source = std::find(inputs.begin(), inputs.end(), alias.aliased_io);
      Tensor target = args[static_cast<size_t>(source - inputs.begin())].tensor();
      if (target.numel() > 0) {
        target.copyFrom(value.tensor());
      }
      if (alias.visibility != OutputVisibility::kHidden) {
        results.push(target);
      }
      continue;
    }
    results.push(value);
  }
  return results;
}

bool FusionExecutorCache::isCompiled(const KernelArgumentHolder& args) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_key_.find(keyOf(makeCall(args, {}, nullptr)));
  return found != by_key_.end() && found->second->second->compiled;
}

std::vector<std::string> FusionExecutorCache::getMostRecentCode() const {
  std::vector<std::string> code;
  for (const KernelExecutor* executor : executors()) {
    if (const CompiledKernel* kernel = executor->compiledKernel()) {
      code.push_back(kernel->kernelString());
    }
  }
  return code;
}

std::vector<KernelExecutor*> FusionExecutorCache::executors() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<KernelExecutor*> executors;
  if (last_ != nullptr) {
    for (const Prepared::Step& step : last_->steps) {
      if (step.kernel != nullptr && step.kernel->executor != nullptr) {
        executors.push_back(step.kernel->executor.get());
      }
    }
  }
  return executors;
}

size_t FusionExecutorCache::numKernels() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (last_ == nullptr) {
    return 0;
  }
  const auto& steps = last_->steps;
  return static_cast<size_t>(std::count_if(
      steps.begin(), steps.end(), [](const auto& step) { return step.kernel != nullptr; }));
}

size_t FusionExecutorCache::numKernelsMade() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(next_kernel_ - 1);
}

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

std::string FusionExecutorCache::report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (last_ == nullptr) {
    return "nothing has run yet\n";
  }
  std::string lines;
  size_t number = 0;
  for (const Prepared::Step& step : last_->steps) {
    const std::string what = text("(", namesOf(step.segment->inputs()), ") -> (",
                                  namesOf(step.segment->outputs()), ")\n");
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
  for (const Prepared::ViewStep& step : last_->views) {
    append(lines, text("output ", step.view.output, ", ",
                       graph_->outputs()[step.view.output]->toInlineString(), ": a view of ",
                       step.view.source->toInlineString(), "\n"));
  }
  return lines;
}

void FusionExecutorCache::setRandomState(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  offset_ = offset;
}

}  // namespace nvfuser
