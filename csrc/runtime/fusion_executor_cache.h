/// `FusionExecutorCache`: runs any legal Fusion for any inputs, without a schedule from the user.
///
///   fusion → settled for a form of sizes and rewritten as a whole, once a form (settling/,
///            preseg_passes/)
///   arguments → (seen before?) → form of their sizes → cut into segments, each with the plan of a
///             scheduler → kernels (found by plan, else scheduled and compiled) → run in order
///
/// What a plan depends on (sizes, strides, alignment, device) is the key of what was prepared; the
/// kernels themselves serve every call whose plan has the same parameters. Tensors between segments
/// live in memory of the device and are freed after their last reader. Outputs that are an input or
/// another result in another shape are views of its memory where strides allow it.
///
/// Several threads may call at the same time. What was prepared is only read: such calls hold a
/// shared lock while they look for it, and none while they run. A key that is new is prepared and
/// first run by one thread, for which others with the same key wait; plans are made one at a time,
/// kernels of different keys are compiled at the same time.
///
/// What cannot be scheduled, lowered or compiled still runs: the group is cut further, down to
/// single operations, and what remains is computed on the host; one warning says why. With
/// `NVFUSER_DISABLE=fallback` it is an error instead.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <evaluator/shape_inference.h>
#include <runtime/call_key.h>
#include <runtime/fusion_description.h>
#include <runtime/fusion_profile.h>
#include <runtime/fusion_segment.h>
#include <runtime/joined_outputs.h>
#include <runtime/repeated_call.h>
#include <runtime/view_outputs.h>
#include <settling/form.h>
#include <support/options.h>

namespace nvfuser {

class CannotCompile;
class LaunchSequence;

class FusionExecutorCache {
 public:
  /// With `auto_schedule` false the fusion is one kernel, scheduled by the user. The passes of
  /// preseg_passes/ run here, on a copy, under the options of this moment.
  explicit FusionExecutorCache(std::unique_ptr<Fusion> fusion, int64_t fusion_id = 0,
                               bool auto_schedule = true);
  ~FusionExecutorCache();

  /// Outputs in the fusion's order, without those hidden by aliasing. Compiles what is missing.
  /// `device`: where to run a fusion without tensor inputs. `context`: the caller's stream and
  /// memory. May be called from several threads.
  KernelArgumentHolder runFusionWithInputs(const KernelArgumentHolder& args,
                                           std::optional<PrimDataType> forced_index_type = {},
                                           Device* device = nullptr,
                                           const RunContext& context = {});

  /// Before any call: the caller computes what cannot be compiled, so that is an error and not work
  /// for the host; and plans that fail while others do are in the report alone.
  void letCallerFallBack() { caller_falls_back_ = true; }

  /// Before any call: as under `NVFUSER_ENABLE=exact_numerics`, whatever the options of a call.
  void computeExactly() { exactly_ = true; }

  /// The other devices of every call whose context brings none (multidevice/).
  void setCommunicator(std::shared_ptr<external::Communicator> communicator) {
    communicator_ = std::move(communicator);
  }

  /// The same call again, looked up once for all like it; null where a call is not just launches of
  /// kernels that have run before, which write each output to a tensor of its own or to the
  /// argument that it updates, and where a number is complex.
  class RepeatedLaunch;  // repeated_launch.h
  std::unique_ptr<RepeatedLaunch> repeatedLaunch(std::span<const LentArgument> args,
                                                 const Options& options);
  /// Whether a call with another integer there is served by the same plans (free_integers.h).
  bool isFreeInteger(size_t input) const { return free_integers_[input]; }
  /// Whether there is any call that could be repeated: if not, nobody need lend anything.
  bool canRepeat() const { return can_repeat_.load(std::memory_order_acquire); }

  /// Plans and lowers for these arguments, but compiles and runs nothing; `executors` are then
  /// those that a call would run, to be compiled together with others (compile_batch.h).
  void prepare(const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type = {},
               Device* device = nullptr);

  /// The kernels that a call with such arguments, of which tensors may be meta tensors, would have
  /// to compile: to be compiled together with those of other fusions (compile_kernels.h).
  std::vector<CompiledKernel*> waitingKernels(const KernelArgumentHolder& args,
                                              Device* device = nullptr);

  /// Whether a call with such arguments finds everything compiled.
  bool isCompiled(const KernelArgumentHolder& args);
  /// As the user defined it.
  Fusion* fusion() const { return fusion_.get(); }
  /// As it is cut into kernels, for sizes like those of the last call; before the first one, for
  /// sizes of more than one element.
  const Fusion& rewritten();

  // Of the call (or `prepare`) before; of several threads, of the key that was turned to last.
  /// Text of the kernels.
  std::vector<std::string> getMostRecentCode() const;
  /// One for each kernel, in the order in which they run.
  std::vector<KernelExecutor*> executors() const;
  /// Number of segments that the fusion was cut into. Those that are views of their inputs are not
  /// counted: they have no kernel.
  size_t numKernels() const;
  /// Number of segments that are an operation of a library, run between kernels.
  size_t numExternalCalls() const;
  /// How it was cut: each segment's scheduler, parameters, inputs and outputs, and why no scheduler
  /// took more.
  std::string report() const;
  /// Plans and kernels that failed and that others stand in for, over all arguments: what the
  /// warnings said.
  std::vector<std::string> failedPlans() const;
  /// Runs a call, compiling what is missing, then each of its kernels `repeats` times by itself and
  /// beside a copy of as many bytes on the same device. The tensors given stay as they are: what
  /// the fusion updates is updated in a copy. Throws what `runFusionWithInputs` throws.
  FusionProfile profile(const KernelArgumentHolder& args, int repeats = 10,
                        Device* device = nullptr);
  /// What such a call does, step by step, with what each step costs (as `profile`) and why
  /// neighbours are not one kernel.
  FusionDescription describe(const KernelArgumentHolder& args, int repeats = 10,
                             Device* device = nullptr);
  /// The same of the call before, with arguments of equal sizes instead of its own. Throws
  /// `UserError` if nothing has run.
  FusionDescription describe(int repeats = 10);

  /// Number of kernels made so far, over all arguments.
  size_t numKernelsMade() const;
  void setRandomState(uint64_t seed, uint64_t offset);
  /// Random operations without seeds of their own: a call advances the offset by so many.
  int64_t numDraws() const { return num_draws_; }

 private:
  struct Prepared;
  struct Step;
  struct Call;
  struct Form;
  struct Variant;
  struct Kept;
  struct Asked;
  class Exchanges;
  class ExchangePlanner;
  class StepRunner;
  using Cut = std::vector<FusionSegment*>;

  std::string name() const;
  std::shared_ptr<Kept> keptFor(const Call& call);
  Prepared& planFor(Kept& kept, const Call& call);
  void drop(Kept& kept);
  void touch(Kept& kept);
  std::shared_ptr<const Prepared> last() const;
  Call makeCall(const KernelArgumentHolder& args, std::optional<PrimDataType> forced_index_type,
                Device* device, const RunContext& context = {}) const;
  static Variant& variantFor(Form& form, Call& call, std::vector<PlannedView>& views,
                             std::vector<PlannedJoin>& joins);
  FusionSegment& segmentOf(Variant& variant, const Group& group);
  void cutAndPlan(Variant& variant, Call& call, Prepared& result);
  static std::vector<InPlace> inPlaceOf(const Variant& variant, const FusionSegment& segment,
                                        size_t step,
                                        const std::unordered_map<const Val*, size_t>& last_use,
                                        size_t last_risk, Call& call);
  bool planAll(const Variant& variant, const Cut& cut, bool all, Call& call, Prepared& result);
  std::shared_ptr<Prepared> makePrepared(Call& call);
  static void planSlots(const Variant& variant, const std::vector<PlannedView>& views,
                        std::vector<PlannedJoin> joins, Prepared& plan);
  static void planReturned(Prepared& plan);
  static void planDead(const std::vector<size_t>& kept, Prepared& plan);
  static void planExchanges(Prepared& plan);
  bool discardPlan(FusionSegment& segment, SchedulerType type, const Call& call,
                   std::string_view what, const std::exception& error);
  bool discardKernel(const Step& step, const Call& call, std::string_view what,
                     const std::exception& error);
  bool computeOnHost(const Step& step, const Call& call, const CannotCompile& error);
  using Waiting = std::vector<std::pair<const Step*, CompiledKernel*>>;
  static Waiting waitingSteps(const Prepared& what, const Call& call);
  bool compile(const Prepared& what, const Call& call);
  using StepObserver = std::function<void(const Step&, const KernelArgumentHolder& args,
                                          const KernelArgumentHolder& results)>;
  std::optional<KernelArgumentHolder> runFirst(Kept& kept, Call& call);
  std::optional<KernelArgumentHolder> run(const Prepared& plan, Call& call, Prepared* first,
                                          const StepObserver& observe = {});
  std::pair<uint64_t, uint64_t> takeDraws(const RunContext& context);
  static bool isOneLaunch(const Prepared& plan);
  static std::unique_ptr<const LaunchSequence> launchesOf(const Prepared& plan,
                                                          size_t num_arguments);
  std::shared_ptr<Kept> known(std::string_view key) const;
  std::shared_ptr<Kept> repeatable(std::span<const LentArgument> args,
                                   const Options& options) const;
  static std::string stepTensors(const Step& step);
  KernelArgumentHolder notUpdated(const KernelArgumentHolder& args);
  static Asked askedBy(const Call& call);
  static KernelArgumentHolder argumentsLike(const Asked& asked);
  static StepDescription describeStep(const Step& step, const KernelProfile& cost);
  std::vector<std::string> whyApart(Variant& variant, Call& call, const Prepared& plan,
                                    size_t first, size_t second);
  void showSegments(const Prepared& what, const Options& options) const;
  bool isExact(const Options& options) const {
    return exactly_ || options.isEnabled(EnableOption::ExactNumerics);
  }
  /// What forms differ in besides the answers to their questions.
  struct FormUse {
    DeviceKind device = DeviceKind::Cpu;
    bool exactly = false;
    Cancellation* cancellation = nullptr;
  };
  Form& formOf(const std::string& answers, const FormUse& use);
  Form& formFor(const KernelArgumentHolder& args, const FormUse& use);

  std::unique_ptr<Fusion> fusion_;
  ShapeInference shapes_;
  settling::FormQuestions questions_;
  const std::vector<bool> free_integers_;  ///< by input
  Options options_;                        ///< of the passes over the whole fusion
  int64_t fusion_id_;
  bool auto_schedule_;
  bool caller_falls_back_ = false;
  bool exactly_ = false;
  std::shared_ptr<external::Communicator> communicator_;
  /// Whether tensors of indices are computed with, whose results the sizes do not bound.
  bool computes_with_indices_ = false;

  mutable std::mutex planning_;  ///< held by the thread that plans; of all down to `keys_`
  /// By what a call's sizes decide (settling/form.h), whether it is for the CPU, and whether exact.
  std::map<std::tuple<std::string, bool, bool>, std::unique_ptr<Form>> forms_;
  int64_t next_kernel_ = 1;
  std::vector<std::string> failed_plans_;

  mutable std::shared_mutex keys_;  ///< taken after `planning_`
  std::unordered_map<std::string, std::shared_ptr<Kept>, CallKeyHash, std::equal_to<>> kept_;
  std::atomic<bool> can_repeat_{false};
  std::atomic<uint64_t> clock_{0};  ///< turns to another key; the last one is the key's of `last`

  std::mutex random_;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
  int64_t num_draws_ = 0;  ///< of a call
};

}  // namespace nvfuser
