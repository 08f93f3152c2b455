// What fusion does, on one screen or two: two additions over large matrices as one kernel,
// scheduled by hand, then checked, then timed beside the same operations unfused and beside a copy
// of as many bytes.
//
//   demo [--device=cuda|cpu|emulated] [--shape=ROWSxCOLUMNS]
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "demo_timing.h"
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/executor.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

struct Settings {
  std::string device;  ///< empty: the best one
  int64_t rows = 0;    ///< 0: what suits the device
  int64_t columns = 0;
};

/// One step of the schedule and the loops of the output after it.
struct Step {
  std::string call;
  std::string loops;
};

/// What the fusion computes, and how it was scheduled.
struct Story {
  std::vector<std::string> math;
  std::vector<Step> steps;
};

std::string loopsOf(const TensorView* tv) {
  return join(tv->getLoopDomain(), ",  ", [](IterDomain* id) {
    const ParallelType type = id->getParallelType();
    const std::string_view place = type == ParallelType::Unroll   ? "unrolled "
                                   : type == ParallelType::Serial ? ""
                                                                  : parallelTypeName(type);
    return text(place, isParallelTypeThread(type) ? " " : "", id->extent()->toInlineString());
  });
}

void heading(const char* words) { std::printf("\n== %s\n", words); }

/// T2 = T1 + 2 and T3 = T0 + T2 as one kernel.
Story defineAndSchedule(Fusion& fusion) {
  FusionGuard guard(&fusion);
  TensorView* tv0 = makeContigTensor(2);
  TensorView* tv1 = makeContigTensor(2);
  fusion.addInput(tv0);
  fusion.addInput(tv1);
  TensorView* tv2 = add(tv1, IrBuilder::create<Val>(2.0));
  TensorView* tv3 = add(tv0, tv2);
  fusion.addOutput(tv3);

  Story story;
  for (const Expr* expr : fusion.exprs()) {
    story.math.push_back(text(expr->output(0)->toInlineString(), " = ", expr->toInlineString()));
  }
  auto note = [&](const char* call) { story.steps.push_back({call, loopsOf(tv3)}); };
  note("as defined");
  tv3->merge(0);
  note("merge(0)");
  tv3->split(0, 128);
  note("split(0, 128)");
  tv3->split(0, 4);
  note("split(0, 4)");
  for (TensorView* input : {tv0, tv1}) {
    input->computeAt(tv3, -1, ComputeAtMode::MostInlined);
  }
  inlineMost();
  story.steps.push_back({"computeAt, inlineMost", "(as before; T2 is computed inside them)"});
  tv3->axis(0)->parallelize(ParallelType::BIDx);
  tv3->axis(1)->parallelize(ParallelType::Unroll);
  tv3->axis(2)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(tv3);
  note("parallelize, each axis");
  return story;
}

/// T2 = T1 + 2 and T3 = T0 + T2 as fusions of their own.
void defineFirst(Fusion& fusion) {
  TensorView* tv1 = makeContigTensor(2);
  fusion.addInput(tv1);
  fusion.addOutput(add(tv1, IrBuilder::create<Val>(2.0)));
}

void defineSecond(Fusion& fusion) {
  TensorView* tv0 = makeContigTensor(2);
  TensorView* tv2 = makeContigTensor(2);
  fusion.addInput(tv0);
  fusion.addInput(tv2);
  fusion.addOutput(add(tv0, tv2));
}

/// Each operation as a kernel: under the fused kernel's schedule, and without one.
class Unfused {
 public:
  Unfused(const Tensor& t0, const Tensor& t1) : t0_(t0), t1_(t1) {
    executors_[0].adopt(scheduledAlike(defineFirst));
    executors_[1].adopt(scheduledAlike(defineSecond));
    t2_ = executors_[0].run({t1});
    t3_ = executors_[1].run({t0, t2_[0].tensor()});
    caches_[0] = unscheduled(defineFirst);
    caches_[1] = unscheduled(defineSecond);
    const KernelArgumentHolder t2 = caches_[0]->runFusionWithInputs({t1});
    t3_unscheduled_ = caches_[1]->runFusionWithInputs({t0, t2[0].tensor()});
  }

  const KernelArgumentHolder& result() const { return t3_; }
  const KernelArgumentHolder& resultUnscheduled() const { return t3_unscheduled_; }
  double time() { return timeBoth(executors_[0], executors_[1]); }
  double timeUnscheduled() {
    return timeBoth(*caches_[0]->executors()[0], *caches_[1]->executors()[0]);
  }

 private:
  static Fusion scheduledAlike(void (*define)(Fusion&)) {
    Fusion fusion;
    FusionGuard guard(&fusion);
    define(fusion);
    auto* out = fusion.outputs()[0]->as<TensorView>();
    out->merge(0)->split(0, 128)->split(0, 4);
    for (Val* input : fusion.inputs()) {
      input->as<TensorView>()->computeAt(out, -1, ComputeAtMode::MostInlined);
    }
    out->axis(0)->parallelize(ParallelType::BIDx);
    out->axis(1)->parallelize(ParallelType::Unroll);
    out->axis(2)->parallelize(ParallelType::TIDx);
    return fusion;
  }
  static std::unique_ptr<FusionExecutorCache> unscheduled(void (*define)(Fusion&)) {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    define(*fusion);
    return std::make_unique<FusionExecutorCache>(std::move(fusion));
  }
  double timeBoth(KernelExecutor& first, KernelExecutor& second) {
    return first.time({t1_}, t2_, 1)[0] + second.time({t0_, t2_[0].tensor()}, t3_, 1)[0];
  }

  Tensor t0_;
  Tensor t1_;
  KernelExecutor executors_[2];
  std::unique_ptr<FusionExecutorCache> caches_[2];
  KernelArgumentHolder t2_;
  KernelArgumentHolder t3_;
  KernelArgumentHolder t3_unscheduled_;
};

struct Time {
  const char* what;
  int64_t bytes;
  double ms;
};

/// The first is the copy. The last column: its time by the line's, so how near the line is to what
/// memory allows for the same result.
void printTimes(const std::vector<Time>& times) {
  std::printf("  %-38s %9s %10s %8s %10s\n", "", "MB moved", "ms", "GB/s", "copy = 1");
  for (const Time& time : times) {
    const auto bytes = static_cast<double>(time.bytes);
    std::printf("  %-38s %9.1f %10.4f %8.1f %10.2f\n", time.what, bytes / 1e6, time.ms,
                bytes / time.ms / 1e6, times.front().ms / time.ms);
  }
}

void showKernel(const CompiledKernel& kernel, const LaunchParams& launch) {
  heading(kernel.device().kind() == DeviceKind::Cpu ? "The kernel, as C++ for this CPU"
                                                    : "The kernel, as CUDA C++");
  std::printf("%s\n", kernel.generated().ownText().c_str());
  std::printf("lowered and written in %.1f ms, ", kernel.loweringMs());
  if (const KernelResources& resources = kernel.loaded().resources(); resources.from_cache) {
    std::printf("its code found in the disk cache; ");
  } else {
    std::printf("compiled in %.0f ms; ", resources.compile_ms);
  }
  const auto blocks = static_cast<long long>(launch.nBlocks());
  if (kernel.device().kind() == DeviceKind::Cpu) {
    std::printf("run as %lld tasks on %d threads\n", blocks,
                kernel.device().properties().multiprocessors);
  } else {
    std::printf("launched with %lld blocks of %lld threads\n", blocks,
                static_cast<long long>(launch.nThreads()));
  }
}

void runOn(Device& device, Settings settings) {
  const bool cuda = device.kind() == DeviceKind::Cuda;
  const bool emulated = device.kind() == DeviceKind::Emulated;
  if (settings.rows == 0) {
    settings.rows = cuda ? 8192 : emulated ? 100 : 4096;
    settings.columns = cuda ? 8192 : emulated ? 300 : 4096;
  }
  const std::vector<int64_t> sizes{settings.rows, settings.columns};
  const int64_t tensor_bytes = settings.rows * settings.columns * int64_t{sizeof(float)};

  Fusion fusion;
  const Story story = defineAndSchedule(fusion);
  Tensor t0 = Tensor::randn(sizes, DataType::Float, /*seed=*/1, device);
  Tensor t1 = Tensor::randn(sizes, DataType::Float, /*seed=*/2, device);
  KernelArgumentHolder inputs(t0, t1);
  KernelExecutor executor;
  executor.compile(&fusion, inputs);  // before anything is printed: a device may turn out unusable

  heading("The fusion, as math");
  for (const std::string& line : story.math) {
    std::printf("  %s\n", line.c_str());
  }
  std::printf("  T0, T1: %s\n", t0.toString().c_str());

  heading("The schedule: the loops of T3 after each call");
  for (const Step& step : story.steps) {
    std::printf("  %-24s %s\n", step.call.c_str(), step.loops.c_str());
  }

  KernelArgumentHolder outputs = executor.run(inputs);
  showKernel(*executor.compiledKernel(), executor.lastLaunchParams());

  heading("The check");
  testValidate(&fusion, outputs, inputs, __LINE__, __FILE__);
  std::printf("  all %lld elements of T3 agree with the reference interpreter\n",
              static_cast<long long>(t0.numel()));

  Unfused unfused(t0, t1);
  testValidate(&fusion, unfused.result(), inputs, outputs, __LINE__, __FILE__, "unfused");
  testValidate(&fusion, unfused.resultUnscheduled(), inputs, outputs, __LINE__, __FILE__,
               "unfused and unscheduled");

  heading("The time: medians of this run, measured in turns");
  demo::CopyBuffers copy(device, tensor_bytes * 3 / 2);
  const std::vector<double> ms = demo::medians(
      {[&] { return copy.time(); }, [&] { return executor.time(inputs, outputs, 1)[0]; },
       [&] { return unfused.time(); }, [&] { return unfused.timeUnscheduled(); }},
      emulated ? 3 : 25);
  printTimes({{"copy of as many bytes as fused moves", 3 * tensor_bytes, ms[0]},
              {"fused: 1 kernel", 3 * tensor_bytes, ms[1]},
              {"unfused: 2 kernels, scheduled alike", 5 * tensor_bytes, ms[2]},
              {"unfused: 2 kernels, no schedule given", 5 * tensor_bytes, ms[3]}});
  std::printf(
      "\nFusion: 1 kernel instead of 2; T2 is neither written nor read again, so 3 passes over\n"
      "memory instead of 5; %.2f times as fast as unfused under the same schedule.\n",
      ms[2] / ms[1]);
  if (emulated) {
    std::printf("Emulated: a host program that checks every access; these are no GPU's times.\n");
  }
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    long long rows = 0;
    long long columns = 0;
    if (argument.starts_with("--device=")) {
      settings.device = argument.substr(9);
    } else if (std::sscanf(argv[i], "--shape=%lldx%lld", &rows, &columns) == 2 && rows > 0 &&
               columns > 0) {
      settings.rows = rows;
      settings.columns = columns;
    } else {
      userError("demo: ", argument,
                " is not known; give --device=cuda|cpu|emulated or --shape=ROWSxCOLUMNS");
    }
  }
  return settings;
}

void runDemo(const Settings& settings) {
  std::string why;
  Device* gpu = nullptr;
  if (settings.device.empty() || settings.device == "cuda") {
    gpu = cudaDevice(0, &why);
  }
  if (gpu != nullptr) {
    std::printf("Device: %s\n", gpu->properties().name.c_str());
    try {
      runOn(*gpu, settings);
      return;
    } catch (const CompileError& error) {
      if (!settings.device.empty()) {
        throw;
      }
      why = error.what();  // NVRTC is missing, say
    }
  }
  if (settings.device == "cuda") {
    userError("demo: no GPU can be used: ", why);
  }
  Device* device = &cpuDevice();
  if (settings.device == "emulated") {
    device = &emulatedDevice();
  } else if (!settings.device.empty() && settings.device != "cpu") {
    userError("demo: there is no device \"", settings.device,
              "\"; the devices are cuda, cpu and emulated");
  }
  std::printf("Device: %s, %d %s", device->properties().name.c_str(),
              device->properties().multiprocessors,
              device->kind() == DeviceKind::Cpu ? "threads" : "multiprocessors");
  std::printf("%s\n", why.empty() ? "" : text(" (no GPU: ", why, ")").c_str());
  runOn(*device, settings);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    runDemo(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
