#include <fuzz/library/run_programs.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include <fuzz/kernel_interpreter/kernel_interpreter.h>
#include <fuzz/library/build.h>
#include <fuzz/library/compare.h>
#include <fuzz/library/random_schedule.h>
#include <fuzz/library/reads_back.h>
#include <fuzz/library/references.h>
#include <fuzz/library/run_calls.h>
#include <fuzz/library/run_on_devices.h>
#include <fuzz/library/stages.h>
#include <ir/cloner.h>
#include <runtime/compile_batch.h>
#include <runtime/cpu/cpu_device.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/launch_values.h>

namespace nvfuser::fuzz {

namespace {

/// The most iterations of the loops around one tensor that a schedule may ask for: axes of one
/// element, split by 128 three times, take longer than anybody waits. On the CPU a tensor may have
/// as much memory; on the emulated device each may meet a barrier.
constexpr double kMostIterations = 1 << 25;
constexpr double kMostEmulatedIterations = 1 << 19;

/// One program on its way through the stages.
class Run {
 public:
  Run(const Program& program, size_t number, const RunOptions& options, const Progress& progress)
      : program_(program), number_(number), options_(options), progress_(progress) {}

  /// Everything before kernels are compiled.
  void prepare() {
    stage("define", [&] {
      Builder builder = build(program_);
      expected_ = expectedOf(program_, builder);
      fusion_ = builder.release();
      fusion_->verify();
      if (options_.verbose) {
        std::printf("%s", fusion_->toString().c_str());
      }
    });
    if (is_alive_) {
      stage("structure", [&] { checkStructure(); });
    }
    if (is_alive_) {
      stage("reference", [&] { interpretAll(); });
    }
    if (is_alive_ && wants("auto")) {
      stage("auto", [&] {
        cache_ = std::make_unique<FusionExecutorCache>(std::make_unique<Fusion>(*fusion_),
                                                       static_cast<int64_t>(number_));
      });
    }
    for (int64_t i = 1; i <= options_.schedules && is_alive_; ++i) {
      if (wants(text("schedule ", i)) && KernelExecutor::supported(fusion_.get())) {
        prepareSchedule(i);
      }
    }
  }

  /// Executors that can be compiled for a device now.
  std::vector<KernelExecutor*> executors(Device& device) {
    std::vector<KernelExecutor*> all;
    if (planAutomatic(device)) {
      for (KernelExecutor* executor : cache_->executors()) {
        if (executor->fusion() != nullptr && isSupported(*executor)) {
          all.push_back(executor);
        }
      }
    }
    for (const Manual& manual : manual_) {
      if (&device == manual.device) {
        all.push_back(manual.executor.get());
      }
    }
    return all;
  }
  DataType indexType() const { return program_.wide_index ? DataType::Int : DataType::Int32; }

  void execute() {
    if (cache_ != nullptr) {
      for (Device* device : devicesOf(options_)) {
        const std::string name = text("auto ", nameOf(*device));
        if (wants(name)) {
          stage(name, [&] { runAutomatic(*device, name); });
        }
      }
    }
    for (const Manual& manual : manual_) {
      stage(manual.stage, [&] { runManual(manual); });
    }
  }

  Outcome outcome;

 private:
  struct Manual {
    int64_t number;
    std::string stage;
    Device* device;
    std::shared_ptr<KernelExecutor> executor;
  };

  static bool isSupported(const KernelExecutor& executor) {
    Fusion copy(*executor.fusion());
    return KernelExecutor::supported(&copy);
  }

  /// Whether a stage, or one that begins so, is to be run.
  bool wants(const std::string& name) const {
    return options_.only.empty() || options_.only.starts_with(name) ||
           name.starts_with(options_.only);
  }

  template <typename Act>
  void stage(const std::string& name, const Act& act) {
    progress_(number_, name);
    try {
      act();
    } catch (const std::exception& e) {
      outcome.failures.push_back({false, name, e.what()});
      is_alive_ = is_alive_ && name.find(' ') != std::string::npos;
    }
  }

  void checkStructure() {
    const Builder again = build(program_);
    const Fusion& other = const_cast<Builder&>(again).fusion();
    check(fusion_->sameDefinition(other), "the same calls define the same fusion");
    check(fusion_->hash() == other.hash(), "the same calls give the same hash");
    check(fusion_->toString() == other.toString(), "the same calls give the same text");
    const Fusion copy(*fusion_);
    copy.verify();
    check(copy.toString() == fusion_->toString(), "a copy prints like its original");
    check(copy.hash() == fusion_->hash(), "a copy has its original's hash");
    check(copy.sameDefinition(*fusion_), "a copy equals its original");
    readBack(*fusion_);
    check(parseProgram(program_.toString()) == program_, "a program's file reads back");
  }

  void interpretAll() {
    const std::string undefined = interpretInAllWays(program_, *fusion_, expected_);
    if (!undefined.empty()) {
      outcome.undefined = 1;
      outcome.reasons.push_back(text("undefined: ", undefined));
      is_alive_ = false;
    }
  }

  void prepareSchedule(int64_t number) {
    auto scheduled = std::make_unique<Fusion>(*fusion_);
    const std::string name = text("schedule ", number);
    bool is_scheduled = false;
    stage(name + " applied", [&] {
      const std::string log =
          scheduleRandomly(*scheduled, program_.schedule_seed + static_cast<uint64_t>(number),
                           program_.schedule_steps);
      if (options_.verbose) {
        std::printf("---- %s\n%s%s", name.c_str(), log.c_str(), scheduled->toString().c_str());
      }
      scheduled->verify();
      // What is scheduled, or what its text says: both are run.
      std::unique_ptr<Fusion> read = readBack(*scheduled);
      if (number % 2 == 1) {
        scheduled = std::move(read);
      }
      is_scheduled = true;
    });
    if (!is_scheduled) {
      return;
    }
    const double iterations = iterationsOf(*scheduled);
    for (Device* device : devicesOf(options_)) {
      const std::string at = text(name, " ", nameOf(*device));
      if (!wants(at)) {
        continue;
      }
      const bool on_cpu = device->kind() == DeviceKind::Cpu;
      if (iterations > (on_cpu ? kMostIterations : kMostEmulatedIterations)) {
        refuse("fuzz: more iterations than are worth waiting for");
        continue;
      }
      stage(at, [&] {
        if ((options_.verbose || !options_.interpret) && !canBeLowered(*scheduled, *device, at)) {
          return;
        }
        auto executor =
            std::make_shared<KernelExecutor>(static_cast<int64_t>(number_), 0, 0, 100 + number);
        executor->adopt(*scheduled);
        manual_.push_back({number, at, device, executor});
      });
    }
  }

  /// One that is refused would break the batch that it is compiled in.
  bool canBeLowered(const Fusion& scheduled, Device& device, const std::string& at) {
    const bool on_cpu = device.kind() == DeviceKind::Cpu;
    try {
      const CompiledKernel lowered(scheduled, "lowered", device,
                                   on_cpu ? DataType(DataType::Int) : indexType(), CompileParams());
      if (options_.verbose) {
        std::printf("---- %s\n%s\n", at.c_str(), lowered.kernelString().c_str());
      }
      return true;
    } catch (const UserError& e) {
      refuse(e.what());
      return false;
    }
  }

  /// Of the loops around the tensor that has most of them, over all blocks and threads: what is not
  /// bound to these is computed in each.
  double iterationsOf(Fusion& scheduled) const {
    ExpressionEvaluator evaluator = bindAllInputs(scheduled, makeArguments(program_, cpuDevice()));
    std::map<ParallelType, double> launched;
    double most = 0;
    for (const TensorView* tv : scheduled.allTvs()) {
      double iterations = tv->isFusionInput() ? 0 : 1;
      for (const IterDomain* axis : tv->getLoopDomain()) {
        // Of nothing divided by nothing there are no parts.
        const PolymorphicValue known = evaluator.evaluate(axis->extent());
        const double extent = known.hasValue() ? known.as<double>() : 0;
        if (isParallelTypeThread(axis->getParallelType())) {
          double& size = launched[axis->getParallelType()];
          size = std::max(size, extent);
        } else {
          iterations *= extent;
        }
      }
      most = std::max(most, iterations);
    }
    for (const auto& [type, size] : launched) {
      most *= size;
    }
    return most;
  }

  void refuse(const std::string& why) {
    ++outcome.refused;
    outcome.reasons.push_back(text("refused: ", why));
  }

  void compare(const KernelArgumentHolder& results, const std::string& name) {
    if (results.size() != expected_.size()) {
      outcome.failures.push_back(
          {true, name, text("gave ", results.size(), " outputs instead of ", expected_.size())});
      return;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const Comparison comparison = compareOutput(results[i].tensor().toHostTensor(), expected_[i]);
      outcome.elements += comparison.elements;
      outcome.skipped += comparison.skipped;
      if (!comparison.mismatch.empty()) {
        outcome.failures.push_back(
            {true, name,
             text("output ", i, " (v", program_.outputs[i], ") ", comparison.mismatch)});
        return;
      }
    }
  }

  std::optional<PrimDataType> forcedIndex() const {
    return program_.wide_index ? std::optional(PrimDataType::Int) : std::nullopt;
  }

  /// Whether there is a plan. A failure is left to the run, which meets it again.
  bool planAutomatic(Device& device) {
    const std::string name = text("auto ", nameOf(device));
    if (cache_ == nullptr || !wants(name)) {
      return false;
    }
    progress_(number_, name);
    bool is_planned = false;
    try {
      cache_->prepare(makeArguments(program_, device), forcedIndex(), &device);
      is_planned = true;
    } catch (const std::exception&) {
      is_planned = false;
    }
    noteFailedPlans(name);
    return is_planned;
  }

  void noteFailedPlans(const std::string& name) {
    const std::vector<std::string> failed = cache_->failedPlans();
    for (; outcome.failed_plans < static_cast<int64_t>(failed.size()); ++outcome.failed_plans) {
      outcome.reasons.push_back(
          text(kFailedPlan, ", ", name, ": ", failed[static_cast<size_t>(outcome.failed_plans)]));
    }
  }

  /// Of a program's ways on the CPU each second one, and of all programs' half, runs its tasks the
  /// other way round. (The emulated device finds races in any order.)
  void orderTasks(int64_t way) const {
    const bool reverse = (program_.value_seed + static_cast<uint64_t>(way)) % 2 != 0;
    setCpuTaskOrder(reverse ? CpuTaskOrder::Reverse : CpuTaskOrder::Parallel);
  }

  void runAutomatic(Device& device, const std::string& name) {
    cache_->setRandomState(program_.value_seed, kRandomOffset);
    const KernelArgumentHolder arguments = makeArguments(program_, device);
    orderTasks(0);
    KernelArgumentHolder results;
    try {
      results = cache_->runFusionWithInputs(arguments, forcedIndex(), &device);
    } catch (const TooLong& e) {
      refuse(e.what());
      return;
    }
    noteFailedPlans(name);
    if (options_.verbose) {
      for (const std::string& code : cache_->getMostRecentCode()) {
        std::printf("---- %s\n%s\n", name.c_str(), code.c_str());
      }
    }
    compare(results, name);
    checkUnchanged(arguments, name);
  }

  void runManual(const Manual& manual) {
    manual.executor->setRandomState(program_.value_seed, kRandomOffset);
    const KernelArgumentHolder arguments = makeArguments(program_, *manual.device);
    CompileParams params;
    params.device = manual.device;
    params.index_type = indexType().type;
    KernelArgumentHolder results;
    orderTasks(manual.number);
    try {
      results =
          manual.executor->run(arguments, poisonedOutputs(*manual.device), LaunchParams(), params);
    } catch (const UserError& e) {
      refuse(e.what());
      return;
    }
    ++outcome.schedules;
    compare(results, manual.stage);
    checkUnchanged(arguments, manual.stage);
  }

  /// Memory in which elements that no kernel writes are NaN; none where a layout of our own would
  /// not do.
  KernelArgumentHolder poisonedOutputs(Device& device) const {
    KernelArgumentHolder outputs;
    for (size_t i = 0; i < expected_.size(); ++i) {
      const auto* tv = fusion_->outputs()[i]->as<TensorView>();
      for (const IterDomain* axis : tv->getLogicalDomain()) {
        if (axis->hasExpandedExtent() || tv->hasAllocation()) {
          return {};
        }
      }
      const HostTensor& right = expected_[i].references[0];
      outputs.push(Tensor::empty(right.sizes(), right.dtype(), device, true));
    }
    return outputs;
  }

  /// Inputs are read, and no more.
  void checkUnchanged(const KernelArgumentHolder& arguments, const std::string& name) {
    const KernelArgumentHolder before = makeArguments(program_, cpuDevice());
    for (size_t i = 0; i < before.size(); ++i) {
      if (!before[i].isTensor()) {
        continue;
      }
      const HostTensor was = before[i].tensor().toHostTensor();
      const HostTensor is = arguments[i].tensor().toHostTensor();
      if (was.sizeBytes() != is.sizeBytes() ||
          (was.sizeBytes() > 0 && std::memcmp(was.data(), is.data(), was.sizeBytes()) != 0)) {
        outcome.failures.push_back({true, name, text("input ", i, " was changed")});
        return;
      }
    }
  }

  const Program& program_;
  size_t number_;
  const RunOptions& options_;
  const Progress& progress_;
  std::unique_ptr<Fusion> fusion_;
  std::vector<Expected> expected_;
  std::unique_ptr<FusionExecutorCache> cache_;
  std::vector<Manual> manual_;
  bool is_alive_ = true;
};

/// Compiles what can be compiled before it runs. A failure is left to the run, which meets it again
/// with the one kernel that fails.
void compileTogether(const std::vector<KernelExecutor*>& executors, Device& device,
                     PrimDataType index_type) {
  constexpr size_t kMost = 24;  // kernels in one text
  for (size_t begin = 0; begin < executors.size(); begin += kMost) {
    const size_t count = std::min(kMost, executors.size() - begin);
    try {
      compileBatch(std::span(executors).subspan(begin, count), device, index_type);
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace

void runPrograms(const std::vector<Program>& programs, const RunOptions& options,
                 const Progress& progress, const Finished& finished) {
  std::vector<std::unique_ptr<Run>> runs;
  for (size_t i = 0; i < programs.size(); ++i) {
    runs.push_back(std::make_unique<Run>(programs[i], i, options, progress));
    // (What is compiled of the others, their calls and their shares decide.)
    if (!programs[i].sizes_vary && programs[i].devices.empty()) {
      runs.back()->prepare();
    }
  }
  if (runs.size() > 1 && !options.interpret) {
    for (Device* device : devicesOf(options)) {
      std::vector<KernelExecutor*> narrow;
      std::vector<KernelExecutor*> wide;
      for (const auto& run : runs) {
        const bool counts_wide =
            device->kind() == DeviceKind::Cpu || run->indexType() == DataType::Int;
        for (KernelExecutor* executor : run->executors(*device)) {
          (counts_wide ? wide : narrow).push_back(executor);
        }
      }
      progress(programs.size(), "compile");
      compileTogether(narrow, *device, PrimDataType::Int32);
      compileTogether(wide, *device, PrimDataType::Int);
    }
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    const auto says = [&](std::string_view stage) { progress(i, stage); };
    if (programs[i].sizes_vary) {
      finished(i, runCalls(programs[i], options, says));
      continue;
    }
    if (!programs[i].devices.empty()) {
      finished(i, runOnDevices(programs[i], options, says));
      continue;
    }
    runs[i]->execute();
    finished(i, runs[i]->outcome);
    runs[i].reset();
  }
}

}  // namespace nvfuser::fuzz
