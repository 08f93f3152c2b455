// FusionExecutorCache::profile: kernels of one call by themselves, beside copies of the same bytes.
#include <algorithm>

#include <runtime/dump_kernel.h>
#include <runtime/fusion_profile.h>
#include <runtime/prepared_fusion.h>
#include <runtime/warm_time.h>

namespace nvfuser {

namespace {

/// Milliseconds of a copy that reads and writes `bytes` in all.
double timeCopy(Device& device, int64_t bytes, int repeats) {
  const int64_t half = std::max<int64_t>(bytes / 2, 1);
  const Tensor from = Tensor::zeros({half}, DataType::Byte, device);
  const Tensor to = Tensor::zeros({half}, DataType::Byte, device);
  return warmTime(
      device,
      [&] { device.copyWithin(to.data(), from.data(), static_cast<size_t>(half), nullptr); },
      repeats);
}

/// As `warmTime`, of work that all devices of a mesh do together: each as often as the others.
double timeTogether(Device& device, const std::function<void()>& work, int repeats) {
  std::vector<double> times = device.timeEach(work, repeats, nullptr);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::string extents(const int64_t (&of)[3]) {
  return text("(", of[0], ", ", of[1], ", ", of[2], ")");
}

}  // namespace

std::string KernelProfile::launchText() const {
  std::string out = text("grid ", extents(shape.grid), ", block ", extents(shape.block));
  const bool in_clusters = shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1;
  append(out, in_clusters ? text(", cluster ", extents(shape.cluster)) : std::string());
  append(out, text(", ", shape.shared_bytes, " bytes of shared memory"));
  if (resources.registers >= 0) {
    append(out, text(", ", resources.registers, " registers, ", resources.spill_bytes,
                     " bytes spilled"));
  }
  append(out, resources.from_cache ? std::string(", from the cache")
                                   : text(", compiled in ", fixed(resources.compile_ms, 1), " ms"));
  return out;
}

std::string KernelProfile::toString() const {
  std::string lines = text(name, ": ", tensors, "\n");
  if (!scheduler.empty()) {
    append(lines, text("  scheduler ", scheduler, "\n"));
  }
  if (devices > 1) {
    append(lines, text("  ", bytes, " bytes received by each of ", devices, " devices in ",
                       fixed(ms, 4), " ms, ", fixed(gigabytesPerSecond(), 1), " GB/s\n"));
  } else if (ms > 0) {
    append(lines, text("  ", launchText(), "\n"));
    append(lines,
           text("  ", bytes, " bytes in ", fixed(ms, 4), " ms, ", fixed(gigabytesPerSecond(), 1),
                " GB/s, ", fixed(ofCopy(), 3), " of a copy's speed\n"));
  }
  for (const std::string& refusal : refusals) {
    append(lines, text("  not ", refusal, "\n"));
  }
  return lines;
}

std::string FusionProfile::toString() const {
  std::string lines = text(device, ": ", kernels.size(), kernels.size() == 1 ? " step" : " steps",
                           ", a call ", fixed(call_ms, 4), " ms\n");
  for (const KernelProfile& kernel : kernels) {
    append(lines, kernel.toString());
  }
  return lines;
}

/// What runs again and again must not update the caller's tensors again and again: a copy of those.
KernelArgumentHolder FusionExecutorCache::notUpdated(const KernelArgumentHolder& args) {
  {
    std::lock_guard<std::mutex> lock(planning_);
    formFor(args, {});  // a copy would hide what is wrong with them
  }
  KernelArgumentHolder own;
  for (size_t i = 0; i < args.size(); ++i) {
    const Val* input = i < fusion_->inputs().size() ? fusion_->inputs()[i] : nullptr;
    const bool updated =
        std::any_of(fusion_->getOutputAliases().begin(), fusion_->getOutputAliases().end(),
                    [&](const auto& alias) { return alias.second.aliased_io == input; });
    own.push(updated && args[i].isTensor() ? KernelArgument(args[i].tensor().clone()) : args[i]);
  }
  return own;
}

FusionProfile FusionExecutorCache::profile(const KernelArgumentHolder& args, int repeats,
                                           Device* wanted) {
  if (repeats < 1) {
    userError("profile: ", repeats, " repeats; at least one is needed");
  }
  const KernelArgumentHolder own = notUpdated(args);
  FusionProfile result;
  Call call = makeCall(own, {}, wanted);
  std::shared_ptr<Kept> kept;
  do {
    runFusionWithInputs(own, {}, wanted);
    kept = keptFor(call);
  } while (!kept->ready.load());
  const Prepared& plan = *kept->plan;
  Device& device = *call.device;
  size_t kernels = 0;
  size_t externals = 0;
  bool exchanges = false;
  run(plan, call, nullptr,
      [&](const Step& step, const KernelArgumentHolder& step_args,
          const KernelArgumentHolder& results) {
        KernelProfile one;
        one.tensors = stepTensors(step);
        for (const auto& [type, refusal] : step.refusals) {
          one.refusals.push_back(text(schedulerTypeName(type), ": ", refusal.why));
        }
        if (step.external) {
          one.name = text("external call ", ++externals, ", ", step.external->operation);
          one.devices = step.external->ran_by->get().devices;
          if (one.devices > 1) {
            one.bytes = step.external->ran_by->get().received_bytes;
            exchanges = true;
            one.ms = timeTogether(
                device,
                [&] {
                  runExternal(step.segment->fusion(), step_args, device, plan.sizes,
                              {call.draws->first, call.draws->second}, *step.external,
                              call.context);
                },
                repeats);
          }
        } else if (step.kernel == nullptr) {
          one.name = "views";
        } else {
          one.name = text("kernel ", ++kernels);
          const HeuristicParams* params = step.kernel->params.get();
          one.scheduler = params == nullptr ? "none: interpreted on the host"
                                            : text(schedulerTypeName(params->scheduler_type), ": ",
                                                   params->toString());
        }
        if (step.plan != nullptr && step.plan->kind() == LaunchPlan::Kind::Launch) {
          const CompiledKernel& compiled = step.plan->compiled();
          KernelExecutor& executor = *step.kernel->executor;
          one.shape = step.plan->shape();
          one.resources = compiled.resources();
          one.bytes = bytesOfLaunch(compiled, step_args, results);
          const KernelExecutor::Whole whole{plan.sizes, call.draws->first, call.draws->second};
          executor.measure(
              step_args, results,
              [&](Device& where, const std::function<void()>& launch) {
                one.ms = warmTime(where, launch, repeats);
              },
              &whole);
          one.copy_ms = timeCopy(device, one.bytes, repeats);
        }
        result.kernels.push_back(std::move(one));
      });
  result.device = device.properties().name;
  const auto one_call = [&] { runFusionWithInputs(own, {}, wanted); };
  result.call_ms =
      exchanges ? timeTogether(device, one_call, repeats) : warmTime(device, one_call, repeats);
  return result;
}

}  // namespace nvfuser
