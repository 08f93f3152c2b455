#include <algorithm>

#include <ir/composite_nodes.h>
#include <ir/exact_numerics.h>
#include <preseg_passes/pipeline.h>
#include <runtime/compile_batch.h>
#include <runtime/free_integers.h>
#include <runtime/in_place.h>
#include <runtime/launch_help.h>
#include <runtime/launch_values.h>
#include <runtime/prepared_fusion.h>
#include <runtime/profiler_range.h>
#include <settling/settle.h>
#include <support/cancellation.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

constexpr size_t kMostPrepared = 256;  ///< keys remembered

std::unique_ptr<Fusion> verified(std::unique_ptr<Fusion> fusion) {
  if (fusion == nullptr) {
    userError("FusionExecutorCache: the fusion is null");
  }
  fusion->verify();
  return fusion;
}

}  // namespace

FusionExecutorCache::FusionExecutorCache(std::unique_ptr<Fusion> fusion, int64_t fusion_id,
                                         bool auto_schedule)
    : fusion_(verified(std::move(fusion))),
      shapes_(*fusion_, ShapeInference::Scope::Defined),
      questions_(*fusion_),
      free_integers_(freeIntegers(*fusion_)),
      options_(Options::current()),
      fusion_id_(fusion_id),
      auto_schedule_(auto_schedule) {
  // Draws keep the numbers that they have in the whole fusion.
  std::map<int64_t, int64_t> draws;
  for (Expr* expr : fusion_->exprs()) {
    if (drawsFromGenerator(expr)) {
      draws[expr->name()] = num_draws_++;
    }
    const Val* out = expr->output(0);
    computes_with_indices_ |= expr->isOneOf<BinaryOp, TernaryOp, ReductionOp, ScanOp>() &&
                              out->isA<TensorView>() && out->dtype() == DataType::Index;
  }
  fusion_->manage("random_draws", draws);
  preseg_passes::checkNames(options_);
  if (options_.dumps(DebugDumpOption::FusionIrOriginal)) {
    dump(options_, name(), "fusion_ir_original", fusion_->toString());
  }
}

/// What is run for sizes of a form. A fusion that the user scheduled stays as it is.
FusionExecutorCache::Form& FusionExecutorCache::formOf(const std::string& answers,
                                                       const FormUse& use) {
  std::unique_ptr<Form>& form = forms_[{answers, use.device == DeviceKind::Cpu, use.exactly}];
  if (form != nullptr) {
    return *form;
  }
  auto made = std::make_unique<Form>();
  made->graph = fusion_.get();
  if (auto_schedule_) {
    made->settled = settling::settle(*fusion_, questions_, answers);
    made->rewritten = std::make_unique<Fusion>(*made->settled);
    if (use.exactly) {
      nvfuser::computeExactly(*made->rewritten);
    }
    checkCancelled(use.cancellation);
    preseg_passes::runAll(
        *made->rewritten, options_, name(), use.device,
        [&](const preseg_passes::Pass&, const Fusion&, bool) { checkCancelled(use.cancellation); });
    made->graph = made->rewritten.get();
  }
  if (options_.dumps(DebugDumpOption::FusionIrPreseg)) {
    dump(options_, name(), "fusion_ir_preseg", made->graph->toString());
  }
  form = std::move(made);
  return *form;
}

/// The form of these arguments, whose sizes are checked against each other. A batch of one shares
/// the kernels of larger ones where nothing hangs on its being one.
FusionExecutorCache::Form& FusionExecutorCache::formFor(const KernelArgumentHolder& args,
                                                        const FormUse& use) {
  if (!auto_schedule_) {
    ExpressionEvaluator bound = bindAllInputs(*fusion_, args);
    requireScheduled(*fusion_, bound);
    requireUpdatable(*fusion_, *fusion_, args, bound);
    return formOf({}, use);
  }
  ExpressionEvaluator sizes = bindSizes(*fusion_, args);
  const bool iterates = shapes_.canIterate(sizes) && questions_.areAsOfMany(sizes) &&
                        layoutsFit(*fusion_, args, sizes);
  Form& form = formOf(iterates ? questions_.many() : questions_.answers(sizes), use);
  ExpressionEvaluator settled = bindAllInputs(*form.settled, args);
  requireUpdatable(*form.settled, *fusion_, args, settled);
  return form;
}

const Fusion& FusionExecutorCache::rewritten() {
  std::lock_guard<std::mutex> lock(planning_);
  if (const auto plan = last()) {
    return *plan->form->graph;
  }
  return *formOf(questions_.many(), {.exactly = isExact(options_)}).graph;
}

FusionExecutorCache::~FusionExecutorCache() = default;

std::string FusionExecutorCache::name() const { return text("nvfuser_", fusion_id_); }

FusionExecutorCache::Call FusionExecutorCache::makeCall(
    const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type, Device* device,
    const RunContext& context) const {
  if (computes_with_indices_ && !forced_index_type) {
    forced_index_type = PrimDataType::Int;
  }
  Call call{args, device,  forced_index_type.value_or(args.getSmallestIndexTypeOfArguments()),
            {},   context, {},
            {},   {}};
  call.params.options = Options::current();
  call.params.index_type = forced_index_type;
  call.params.cancellation = context.cancellation;
  if (Device* tensors = deviceOfTensors(*fusion_, args)) {
    call.device = tensors;
  }
  if (call.device == nullptr) {
    call.device = &deviceWithoutTensors(args);
  }
  call.params.device = call.device;
  if (call.context.communicator == nullptr) {
    call.context.communicator = communicator_;
  }
  return call;
}

/// What is kept of calls with this key; null where nothing is.
std::shared_ptr<FusionExecutorCache::Kept> FusionExecutorCache::known(std::string_view key) const {
  std::shared_lock<std::shared_mutex> lock(keys_);
  const auto found = kept_.find(key);
  return found != kept_.end() ? found->second : nullptr;
}

/// Where calls with this key meet; new where there is none.
std::shared_ptr<FusionExecutorCache::Kept> FusionExecutorCache::keptFor(const Call& call) {
  LentArguments args(call.args);
  const CallKey key(*call.device, call.params.index_type, *call.params.options, args.span(),
                    free_integers_);
  if (std::shared_ptr<Kept> kept = known(key.bytes())) {
    return kept;
  }
  auto made = std::make_shared<Kept>(std::string(key.bytes()));
  std::unique_lock<std::shared_mutex> lock(keys_);
  const auto [place, is_new] = kept_.emplace(made->key, made);
  std::shared_ptr<Kept> kept = place->second;
  if (kept_.size() > kMostPrepared) {
    const auto oldest = std::min_element(kept_.begin(), kept_.end(), [](auto& a, auto& b) {
      return a.second->used.load() - 1 < b.second->used.load() - 1;  // those without a plan last
    });
    if (oldest->second != kept) {
      kept_.erase(oldest);
    }
  }
  return kept;
}

/// Its plan, made if there is none yet. With `making` held.
FusionExecutorCache::Prepared& FusionExecutorCache::planFor(Kept& kept, const Call& call) {
  if (kept.plan == nullptr) {
    std::lock_guard<std::mutex> lock(planning_);
    try {
      Call planning = call;
      kept.plan = makePrepared(planning);
    } catch (...) {
      drop(kept);
      throw;
    }
  }
  touch(kept);
  return *kept.plan;
}

/// With `making` held: the calls that wait for it look for the key again.
void FusionExecutorCache::drop(Kept& kept) {
  kept.dropped = true;
  std::unique_lock<std::shared_mutex> lock(keys_);
  if (const auto found = kept_.find(kept.key);
      found != kept_.end() && found->second.get() == &kept) {
    kept_.erase(found);
  }
}

/// Writes nothing where the same key is used again and again.
void FusionExecutorCache::touch(Kept& kept) {
  if (kept.used.load(std::memory_order_relaxed) != clock_.load(std::memory_order_relaxed) ||
      kept.used.load(std::memory_order_relaxed) == 0) {
    kept.used.store(clock_.fetch_add(1) + 1, std::memory_order_release);
  }
}

/// What was turned to last; null before the first plan.
std::shared_ptr<const FusionExecutorCache::Prepared> FusionExecutorCache::last() const {
  std::shared_lock<std::shared_mutex> lock(keys_);
  const Kept* newest = nullptr;
  uint64_t newest_use = 0;
  for (const auto& [key, kept] : kept_) {
    if (const uint64_t used = kept->used.load(std::memory_order_acquire); used > newest_use) {
      newest = kept.get();
      newest_use = used;
    }
  }
  return newest != nullptr ? newest->plan : nullptr;
}

void FusionExecutorCache::prepare(const KernelArgumentHolder& args,
                                  std::optional<PrimDataType> forced_index_type, Device* device) {
  const Call call = makeCall(args, forced_index_type, device);
  while (true) {
    const std::shared_ptr<Kept> kept = keptFor(call);
    std::lock_guard<std::mutex> making(kept->making);
    if (!kept->dropped) {
      planFor(*kept, call);
      return;
    }
  }
}

KernelArgumentHolder FusionExecutorCache::runFusionWithInputs(
    const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type, Device* device,
    const RunContext& context) {
  const ProfilerRange range("run", [&] { return name(); });
  Call call = makeCall(args, forced_index_type, device, context);
  const Options& options = *call.params.options;
  if (options.dumps(DebugDumpOption::FusionArgs)) {
    dump(options, name(), "fusion_args", args.toString());
  }
  while (true) {
    const std::shared_ptr<Kept> kept = keptFor(call);
    if (kept->ready.load(std::memory_order_acquire)) {
      touch(*kept);
      if (std::optional<KernelArgumentHolder> results = run(*kept->plan, call, nullptr)) {
        return *std::move(results);
      }
      std::lock_guard<std::mutex> making(kept->making);
      drop(*kept);
    } else if (std::optional<KernelArgumentHolder> results = runFirst(*kept, call)) {
      return *std::move(results);
    }
  }
}

bool FusionExecutorCache::isCompiled(const KernelArgumentHolder& args) {
  const Call call = makeCall(args, {}, nullptr);
  LentArguments lent(args);
  const CallKey key(*call.device, call.params.index_type, *call.params.options, lent.span(),
                    free_integers_);
  const std::shared_ptr<const Kept> kept = known(key.bytes());
  return kept != nullptr && kept->compiled.load();
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
  std::vector<KernelExecutor*> executors;
  if (const auto plan = last()) {
    for (const Step& step : plan->steps) {
      if (step.kernel != nullptr && step.kernel->executor != nullptr) {
        executors.push_back(step.kernel->executor.get());
      }
    }
  }
  return executors;
}

size_t FusionExecutorCache::numKernels() const {
  const auto plan = last();
  if (plan == nullptr) {
    return 0;
  }
  return static_cast<size_t>(
      std::count_if(plan->steps.begin(), plan->steps.end(),
                    [](const auto& step) { return step.kernel != nullptr; }));
}

size_t FusionExecutorCache::numExternalCalls() const {
  const auto plan = last();
  if (plan == nullptr) {
    return 0;
  }
  return static_cast<size_t>(
      std::count_if(plan->steps.begin(), plan->steps.end(),
                    [](const auto& step) { return step.external.has_value(); }));
}

size_t FusionExecutorCache::numKernelsMade() const {
  std::lock_guard<std::mutex> lock(planning_);
  return static_cast<size_t>(next_kernel_ - 1);
}

void FusionExecutorCache::setRandomState(uint64_t seed, uint64_t offset) {
  std::lock_guard<std::mutex> lock(random_);
  seed_ = seed;
  offset_ = offset;
}

}  // namespace nvfuser
