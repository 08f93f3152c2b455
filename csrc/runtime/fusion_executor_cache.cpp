#include <algorithm>

#include <evaluator/interpreter.h>
#include <ir/internal_nodes.h>
#include <preseg_passes/pipeline.h>
#include <preseg_passes/substitute_extents.h>
#include <runtime/compile_batch.h>
#include <runtime/in_place.h>
#include <runtime/launch_help.h>
#include <runtime/launch_values.h>
#include <runtime/prepared_fusion.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

constexpr size_t kMostPrepared = 256;  ///< keys remembered
constexpr size_t kMostInBatch = 32;    ///< kernels in one text: its compilation has a deadline

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
                                      Device& device, uint64_t seed, uint64_t offset) {
  const KernelArgumentHolder on_host = args.onHost();
  const InterpreterOptions options{.philox_seed = seed, .philox_offset = offset};
  KernelArgumentHolder results;
  for (const HostTensor& result : interpret(fusion, on_host.inputs(), options)) {
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
    } else {  // which kinds a scalar may have is checked when a call is planned
      const bool has_value = argument.isScalar();
      number(has_value ? -3 - static_cast<int64_t>(argument.scalar().dtype().type) : -2);
    }
  }
  return key;
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

void FusionExecutorCache::forget(const Call& call) {
  const auto found = by_key_.find(keyOf(call));
  if (found != by_key_.end()) {
    recent_.erase(found->second);
    by_key_.erase(found);
  }
}

/// False where a kernel does not compile and its plan is dropped: the call has to be planned anew.
bool FusionExecutorCache::compile(Prepared& what, const Call& call) {
  if (what.compiled) {
    return true;
  }
  std::vector<KernelExecutor*> waiting;
  std::vector<Step*> steps;
  for (Step& step : what.steps) {
    KernelExecutor* executor = step.kernel != nullptr ? step.kernel->executor.get() : nullptr;
    if (executor != nullptr && executor->needsCompiling() &&
        std::find(waiting.begin(), waiting.end(), executor) == waiting.end()) {
      waiting.push_back(executor);
      steps.push_back(&step);
    }
  }
  bool complete = true;
  const auto compileRange = [&](const auto& self, size_t begin, size_t count) -> void {
    try {
      compileBatch(std::span(waiting).subspan(begin, count), *call.device, call.index_type,
                   call.params);
    } catch (const CompileError& error) {
      if (count > 1) {  // which one is it?
        self(self, begin, count / 2);
        self(self, begin + count / 2, count - count / 2);
        return;
      }
      const HeuristicParams* params = steps[begin]->kernel->params.get();
      if (params == nullptr || !discardPlan(*steps[begin]->segment, params->scheduler_type, call,
                                            "kernel could not be compiled", error)) {
        throw;
      }
      complete = false;
    }
  };
  for (size_t begin = 0; begin < waiting.size(); begin += kMostInBatch) {
    compileRange(compileRange, begin, std::min(kMostInBatch, waiting.size() - begin));
  }
  what.compiled = complete;
  return complete;
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
  while (true) {
    const std::shared_ptr<Prepared> plan = prepared(call);
    if (compile(*plan, call)) {
      if (std::optional<KernelArgumentHolder> results = run(*plan, call)) {
        return *std::move(results);
      }
    }
    forget(call);
  }
}

/// Nothing where a kernel cannot be launched and its plan is dropped; then nothing has been written
/// that the caller sees.
std::optional<KernelArgumentHolder> FusionExecutorCache::run(Prepared& plan, const Call& call,
                                                             const StepObserver& observe) {
  std::vector<KernelArgument> slots(plan.slots.size());
  for (size_t i = 0; i < call.args.size(); ++i) {
    slots[i] = call.args[i];
  }
  const bool shows = showsLaunches(*call.params.options);
  for (Step& step : plan.steps) {
    KernelArgumentHolder step_args;
    step_args.reserve(step.inputs.size());
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const size_t slot = step.inputs[i];
      const bool written = std::any_of(step.in_place.begin(), step.in_place.end(),
                                       [&](const InPlace& pair) { return pair.input == i; });
      // What shares memory with another argument is written when all have been read.
      step_args.push(written && overlapsAnother(call.args, slot)
                         ? KernelArgument(slots[slot].tensor().clone())
                         : slots[slot]);
    }
    KernelArgumentHolder results;
    if (step.external) {
      results =
          runExternal(step.segment->fusion(), step_args, *call.device, plan.sizes, *step.external);
    } else if (step.kernel == nullptr) {
      for (const NoOpParams::View& view : step.views) {
        const Tensor& source = step_args[static_cast<size_t>(view.input)].tensor();
        results.push(source.asStrided(view.layout.sizes, view.layout.strides,
                                      source.storageOffset() + view.layout.offset));
      }
    } else if (step.plan != nullptr && !shows) {
      results = KernelExecutor::run(*step.plan, step_args, seed_, offset_);
    } else if (KernelExecutor* executor = step.kernel->executor.get()) {
      executor->setRandomState(seed_, offset_);
      executor->setKnownScalars(plan.sizes);
      try {
        results = executor->run(step_args, {}, LaunchParams(), call.params);
      } catch (const LaunchError& error) {
        const HeuristicParams* params = step.kernel->params.get();
        if (params == nullptr || !discardPlan(*step.segment, params->scheduler_type, call,
                                              "kernel could not be launched", error)) {
          throw;
        }
        return std::nullopt;
      }
      step.plan = executor->lastPlan();
    } else {
      results = interpretSegment(step.segment->fusion(), step_args, *call.device, seed_, offset_);
    }
    if (observe) {
      observe(step, step_args, results);
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      slots[step.outputs[i]] = results[i];
    }
    for (size_t slot : step.dead) {
      slots[slot] = KernelArgument();
    }
  }
  for (const Prepared::ViewStep& step : plan.views) {
    slots[step.result] = viewOf(slots[step.source].tensor(), step.view);
  }
  offset_ += static_cast<uint64_t>(num_draws_);
  // In-place outputs go to their input's storage when nobody reads it any more.
  KernelArgumentHolder results;
  const auto& inputs = graph_->inputs();
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const AliasInfo& alias = graph_->getOutputAlias(graph_->outputs()[i]);
    const KernelArgument& value = slots[plan.outputs[i]];
    if (alias.aliased_io != nullptr && alias.type == AllocationType::ReuseBuffer) {
      const auto source = std::find(inputs.begin(), inputs.end(), alias.aliased_io);
      Tensor target = call.args[static_cast<size_t>(source - inputs.begin())].tensor();
      if (target.numel() > 0 && value.tensor().data() != target.data()) {
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
    for (const Step& step : last_->steps) {
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

size_t FusionExecutorCache::numExternalCalls() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (last_ == nullptr) {
    return 0;
  }
  const auto& steps = last_->steps;
  return static_cast<size_t>(std::count_if(
      steps.begin(), steps.end(), [](const auto& step) { return step.external.has_value(); }));
}

size_t FusionExecutorCache::numKernelsMade() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(next_kernel_ - 1);
}

void FusionExecutorCache::setRandomState(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  seed_ = seed;
  offset_ = offset;
}

}  // namespace nvfuser
