#include <runtime/run_steps.h>

#include <algorithm>

#include <evaluator/interpreter.h>
#include <ir/internal_nodes.h>
#include <runtime/in_place.h>
#include <runtime/launch_help.h>
#include <support/cancellation.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

/// Dense strides of `sizes` in the order in memory that `tv` declares; row-major if it declares
/// none that could be kept.
std::vector<int64_t> declaredStrides(const TensorView* tv, const std::vector<int64_t>& sizes) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const std::vector<IterDomain*> memory =
      TensorDomain::noReductions(tv->getMaybeAllocationDomain());
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t stride = 1;
  for (size_t i = memory.size(); i-- > 0;) {
    const auto place = std::find(logical.begin(), logical.end(), memory[i]);
    if (place == logical.end()) {
      return rowMajorStrides(sizes);
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    strides[axis] = stride;
    stride *= sizes[axis];
  }
  return strides;
}

/// A segment without a kernel, on the host.
KernelArgumentHolder interpretSegment(const Fusion& fusion, const KernelArgumentHolder& args,
                                      Device& device, const RunContext& context, uint64_t seed,
                                      uint64_t offset) {
  const KernelArgumentHolder on_host = args.onHost(context.stream);
  const InterpreterOptions options{.philox_seed = seed, .philox_offset = offset};
  KernelArgumentHolder results;
  for (const HostTensor& result : interpret(fusion, on_host.inputs(), options)) {
    const auto* tv = fusion.outputs()[results.size()]->as<TensorView>();
    Tensor placed = Tensor::emptyStrided(result.sizes(), declaredStrides(tv, result.sizes()),
                                         result.dtype(), device, context);
    placed.copyFrom(result, context.stream);
    results.push(std::move(placed));
  }
  return results;
}

}  // namespace

bool showsLaunches(const Options& options) {
  using enum DebugDumpOption;
  return options.dumps(LaunchParam) || options.dumps(KernelArgs) || options.dumps(Occupancy) ||
         options.dumps(BankConflict) || options.dumps(DumpEffBandwidth);
}

FusionExecutorCache::StepRunner::StepRunner(FusionExecutorCache& cache, const Prepared& plan,
                                            Call& call, Prepared* first,
                                            std::vector<KernelArgument>& slots, bool* has_updated)
    : cache_(cache),
      plan_(plan),
      call_(call),
      first_(first),
      slots_(slots),
      has_updated_(has_updated),
      seed_(call.draws->first),
      offset_(call.draws->second),
      shows_(showsLaunches(*call.params.options)) {
  if (plan.exchanges) {
    exchanges_.emplace(plan, call);
  }
}

KernelArgumentHolder FusionExecutorCache::StepRunner::argumentsOf(size_t number, bool* updates) {
  const Step& step = plan_.steps[number];
  KernelArgumentHolder args;
  args.reserve(step.inputs.size());
  for (size_t slot : step.inputs) {
    args.push(slots_[slot]);
  }
  if (step.kernel == nullptr || step.kernel->in_place.empty()) {
    return args;
  }
  if (!occupied_) {
    occupied_.emplace(call_.args);
  }
  // A step that runs for the first time may turn out not to do; then all run again.
  const bool may_run_again = first_ != nullptr && number + 1 < plan_.steps.size();
  for (const InPlace& pair : step.kernel->in_place) {
    if (step.inputs[pair.input] >= call_.args.size()) {
      continue;  // a place in a join, which nobody has seen
    }
    const Tensor& written = args[pair.input].tensor();
    if (may_run_again || occupied_->tensorsAt(written) > 1) {  // written when all have been read
      args[pair.input] = copyInPlaceOf(written, call_.context);
    } else {
      *updates = true;
    }
  }
  return args;
}

void FusionExecutorCache::StepRunner::runLibrary(size_t number, const KernelArgumentHolder& args,
                                                 KernelArgumentHolder& results) {
  const Step& step = plan_.steps[number];
  if (first_ != nullptr) {
    first_->steps[number].external->results =
        externalResults(step.segment->fusion(), args, plan_.sizes);
  }
  if (exchanges_ && exchanges_->run(number, args, results)) {
    return;  // carried out with what goes on beside it
  }
  results = runExternal(step.segment->fusion(), args, *call_.device, plan_.sizes, {seed_, offset_},
                        *step.external, call_.context);
}

bool FusionExecutorCache::StepRunner::launch(size_t number, const KernelArgumentHolder& args,
                                             KernelArgumentHolder& results) {
  const Step& step = plan_.steps[number];
  try {
    KernelExecutor::Launched launched = step.kernel->executor->runPart(
        {plan_.sizes, seed_, offset_}, args, call_.params, call_.context);
    results = std::move(launched.results);
    if (first_ != nullptr) {
      first_->steps[number].plan = std::move(launched.plan);
    }
    return true;
  } catch (const LaunchError& error) {
    if (*has_updated_ ||
        !cache_.discardKernel(step, call_, "kernel could not be launched", error)) {
      throw;
    }
    return false;
  }
}

bool FusionExecutorCache::StepRunner::compute(size_t number, const KernelArgumentHolder& args,
                                              KernelArgumentHolder& results) {
  const Step& step = plan_.steps[number];
  if (step.external) {
    runLibrary(number, args, results);
  } else if (step.kernel == nullptr) {
    for (const NoOpParams::View& view : step.views) {
      const Tensor& source = args[static_cast<size_t>(view.input)].tensor();
      results.push(source.asStrided(view.layout.sizes, view.layout.strides,
                                    source.storageOffset() + view.layout.offset));
    }
  } else if (step.plan != nullptr && !shows_) {
    results = KernelExecutor::run(*step.plan, args, seed_, offset_, call_.context);
  } else if (step.kernel->executor != nullptr) {
    return launch(number, args, results);
  } else {
    results = interpretSegment(step.segment->fusion(), args, *call_.device, call_.context, seed_,
                               offset_);
  }
  return true;
}

void FusionExecutorCache::StepRunner::keep(const Step& step, const KernelArgumentHolder& results) {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    slots_[step.outputs[i]] = results[i];
    if (const size_t place = plan_.place_of[step.outputs[i]]; place != kNoSlot) {
      Tensor part = slots_[place].tensor();
      if (!isSameView(results[i].tensor(), part)) {
        part.copyFrom(results[i].tensor(), call_.context.stream);
      }
    }
  }
  for (size_t slot : step.dead) {
    slots_[slot] = KernelArgument();
  }
}

bool FusionExecutorCache::StepRunner::run(size_t number, const StepObserver& observe) {
  const Step& step = plan_.steps[number];
  checkCancelled(call_.context.cancellation);
  bool updates = false;  // an argument, now
  const KernelArgumentHolder args = argumentsOf(number, &updates);
  if (exchanges_) {
    exchanges_->prepare(number);
  }
  KernelArgumentHolder results;
  if (!compute(number, args, results)) {
    return false;
  }
  if (observe) {
    observe(step, args, results);
  }
  *has_updated_ |= updates;
  keep(step, results);
  if (exchanges_) {
    exchanges_->postEarly(number, slots_);
  }
  return true;
}

bool FusionExecutorCache::StepRunner::runAll(const StepObserver& observe) {
  for (size_t number = 0; number < plan_.steps.size(); ++number) {
    if (!run(number, observe)) {
      return false;
    }
  }
  return true;
}

}  // namespace nvfuser
