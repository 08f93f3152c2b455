// What was planned is compiled and run: first by one thread, which works out the launches, then by
// any.
#include <algorithm>

#include <runtime/cannot_compile.h>
#include <runtime/compile_kernels.h>
#include <runtime/in_place.h>
#include <runtime/prepared_fusion.h>
#include <runtime/repeated_launch.h>
#include <runtime/run_steps.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

/// Whether slots are those of the call's arguments, as they are.
bool takesAllInOrder(const std::vector<size_t>& slots, size_t num_args) {
  if (slots.size() != num_args) {
    return false;
  }
  for (size_t i = 0; i < num_args; ++i) {
    if (slots[i] != i) {
      return false;
    }
  }
  return true;
}

}  // namespace

/// Where falling back is allowed: says why its kernel does not do, and does not ask that scheduler
/// again.
bool FusionExecutorCache::discardKernel(const Step& step, const Call& call, std::string_view what,
                                        const std::exception& error) {
  const HeuristicParams* params = step.kernel->params.get();
  if (params == nullptr) {
    return false;
  }
  std::lock_guard<std::mutex> lock(planning_);
  return discardPlan(*step.segment, params->scheduler_type, call, what, error);
}

namespace {

/// What is wrong is wrong for every kernel: it is said once.
void warnOnceOfProcess(std::string_view message) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    warn(message);
  }
}

}  // namespace

/// Where falling back is allowed: what needed the kernel is computed on the host from now on.
bool FusionExecutorCache::computeOnHost(const Step& step, const Call& call,
                                        const CannotCompile& error) {
  if (step.kernel->params == nullptr || caller_falls_back_ || !call.mayFallBack()) {
    return false;
  }
  const std::lock_guard<std::mutex> lock(planning_);
  failed_plans_.push_back(
      text("nothing can be compiled, so kernels are computed on the host, slowly: ", error.what()));
  warnOnceOfProcess(text(name(), ": ", failed_plans_.back()));
  step.segment->setOnHost();
  return true;
}

/// Kernels that are not compiled, each once, with the first step that runs it.
FusionExecutorCache::Waiting FusionExecutorCache::waitingSteps(const Prepared& what,
                                                               const Call& call) {
  Waiting waiting;
  for (const Step& step : what.steps) {
    KernelExecutor* executor = step.kernel != nullptr ? step.kernel->executor.get() : nullptr;
    if (executor == nullptr) {
      continue;
    }
    CompiledKernel* kernel = executor->waitingVariant(*call.device, call.index_type, call.params);
    const bool is_seen = std::any_of(waiting.begin(), waiting.end(),
                                     [&](const auto& other) { return other.second == kernel; });
    if (kernel != nullptr && !is_seen) {
      waiting.emplace_back(&step, kernel);
    }
  }
  return waiting;
}

std::vector<CompiledKernel*> FusionExecutorCache::waitingKernels(const KernelArgumentHolder& args,
                                                                 Device* device) {
  const Call call = makeCall(args, {}, device);
  std::vector<CompiledKernel*> kernels;
  while (true) {
    const std::shared_ptr<Kept> kept = keptFor(call);
    std::lock_guard<std::mutex> making(kept->making);
    if (!kept->dropped) {
      for (const auto& [step, kernel] : waitingSteps(planFor(*kept, call), call)) {
        kernels.push_back(kernel);
      }
      return kernels;
    }
  }
}

/// False where a kernel does not compile and its plan is dropped: the call has to be planned anew.
bool FusionExecutorCache::compile(const Prepared& what, const Call& call) {
  const Waiting waiting = waitingSteps(what, call);
  std::vector<CompiledKernel*> kernels;
  for (const auto& [step, kernel] : waiting) {
    kernels.push_back(kernel);
  }
  const std::vector<std::exception_ptr> errors = compileKernels(kernels, call.context.cancellation);
  bool complete = true;
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] == nullptr) {
      continue;
    }
    try {
      std::rethrow_exception(errors[i]);
    } catch (const CannotCompile& error) {
      if (!computeOnHost(*waiting[i].first, call, error)) {
        throw;
      }
      complete = false;
    } catch (const CompileError& error) {
      if (!discardKernel(*waiting[i].first, call, "kernel could not be compiled", error)) {
        throw;
      }
      complete = false;
    }
  }
  return complete;
}

/// Nothing where the plan did not do: the call has to be planned anew.
std::optional<KernelArgumentHolder> FusionExecutorCache::runFirst(Kept& kept, Call& call) {
  std::unique_lock<std::mutex> making(kept.making);
  if (kept.dropped) {
    return std::nullopt;
  }
  if (kept.ready.load()) {  // by the thread that held `making`
    making.unlock();
    touch(kept);
    return run(*kept.plan, call, nullptr);
  }
  Prepared& plan = planFor(kept, call);
  if (compile(plan, call)) {
    kept.compiled.store(true);
    if (std::optional<KernelArgumentHolder> results = run(plan, call, &plan)) {
      kept.ready.store(true, std::memory_order_release);
      return results;
    }
  }
  drop(kept);
  return std::nullopt;
}

/// Each call draws numbers of its own, also beside other calls.
std::pair<uint64_t, uint64_t> FusionExecutorCache::takeDraws(const RunContext& context) {
  if (num_draws_ == 0) {
    return {0, 0};
  }
  if (context.draws) {
    return *context.draws;
  }
  std::lock_guard<std::mutex> lock(random_);
  const std::pair draws(seed_, offset_);
  offset_ += static_cast<uint64_t>(num_draws_);
  return draws;
}

void throwPartialUpdate(const std::string& name, const std::exception& error) {
  throw PartialUpdateError(text("run: ", name,
                                " failed when some of the inputs that it updates had been "
                                "written; restore them before calling it again: ",
                                error.what()));
}

/// Nothing where a kernel cannot be launched and its plan is dropped; then nothing has been written
/// that the caller sees.
/// `first` is the plan itself where it runs for the first time, to be completed.
std::optional<KernelArgumentHolder> FusionExecutorCache::run(const Prepared& plan, Call& call,
                                                             Prepared* first,
                                                             const StepObserver& observe) {
  if (!call.draws) {
    call.draws = takeDraws(call.context);
  }
  const auto [seed, offset] = *call.draws;
  const bool shows = showsLaunches(*call.params.options);
  if (plan.is_one_launch && plan.takes_all_in_order && !shows && !observe) {
    return KernelExecutor::run(*plan.steps[0].plan, call.args, seed, offset, call.context);
  }
  std::vector<KernelArgument> slots(plan.slots.size());
  for (size_t i = 0; i < call.args.size(); ++i) {
    slots[i] = call.args[i];
  }
  for (const Prepared::JoinStep& step : plan.joins) {
    const KernelArgumentHolder memory = memoryOf(step.join, *call.device, call.context);
    slots[step.result] = memory[0];
    for (size_t part = 0; part < step.join.parts.size(); ++part) {
      slots[step.first_place + part] = memory[part + 1];
    }
  }
  bool has_updated = false;
  try {
    if (!StepRunner(*this, plan, call, first, slots, &has_updated).runAll(observe)) {
      return std::nullopt;
    }
    if (first != nullptr) {
      first->is_one_launch = isOneLaunch(*first);
      first->takes_all_in_order =
          first->is_one_launch && takesAllInOrder(first->steps[0].inputs, call.args.size());
      first->launches = launchesOf(*first, call.args.size());
      if (first->launches != nullptr) {
        can_repeat_.store(true, std::memory_order_release);
      }
    }
    for (const Prepared::ViewStep& step : plan.views) {
      slots[step.result] = viewOf(slots[step.source].tensor(), step.view, call.context);
    }
    KernelArgumentHolder results;
    results.reserve(plan.returned.size());
    bool is_written = !plan.shows_arguments;
    for (size_t i = 0; i < plan.outputs.size() && is_written; ++i) {
      is_written = !plan.updated[i] || isSameView(slots[plan.outputs[i]].tensor(),
                                                  call.args[*plan.updated[i]].tensor());
    }
    if (is_written) {
      for (size_t i : plan.returned) {
        results.push(slots[plan.outputs[i]]);
      }
      return results;
    }
    std::vector<Tensor> values;
    std::vector<const Tensor*> targets;
    for (size_t i = 0; i < plan.outputs.size(); ++i) {
      values.push_back(slots[plan.outputs[i]].tensor());
      targets.push_back(plan.updated[i] ? &call.args[*plan.updated[i]].tensor() : nullptr);
    }
    writeBack(values, targets, call.context);
    for (size_t i : plan.returned) {
      results.push(std::move(values[i]));
    }
    return results;
  } catch (const std::exception& error) {
    if (!has_updated) {
      throw;
    }
    throwPartialUpdate(name(), error);
  }
}

/// What is kept of such calls, where one is launches and no more; else null.
std::shared_ptr<FusionExecutorCache::Kept> FusionExecutorCache::repeatable(
    std::span<const LentArgument> args, const Options& options) const {
  Device* device = nullptr;
  for (const LentArgument& argument : args) {
    if (const LentTensor* tensor = argument.tensor()) {
      if (tensor->device == nullptr || (device != nullptr && device != tensor->device)) {
        return nullptr;
      }
      device = tensor->device;
    }
  }
  if (device == nullptr || showsLaunches(options) || options.dumps(DebugDumpOption::FusionArgs)) {
    return nullptr;
  }
  const CallKey key(*device, std::nullopt, options, args, free_integers_);
  std::shared_ptr<Kept> kept = known(key.bytes());
  const bool can_be = kept != nullptr && kept->ready.load(std::memory_order_acquire) &&
                      kept->plan->launches != nullptr;
  return can_be ? kept : nullptr;
}

std::unique_ptr<FusionExecutorCache::RepeatedLaunch> FusionExecutorCache::repeatedLaunch(
    std::span<const LentArgument> args, const Options& options) {
  const bool fit_words = std::all_of(args.begin(), args.end(), [](const LentArgument& argument) {
    const PolymorphicValue* scalar = argument.scalar();
    return scalar == nullptr || scalar->is<bool>() || scalar->is<int64_t>() || scalar->is<double>();
  });
  std::shared_ptr<Kept> kept = fit_words ? repeatable(args, options) : nullptr;
  return kept == nullptr ? nullptr : std::make_unique<RepeatedLaunch>(*this, std::move(kept), args);
}

}  // namespace nvfuser
