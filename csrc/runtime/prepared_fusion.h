/// What FusionExecutorCache keeps of its calls. Private to the files that implement it:
/// fusion_executor_cache.cpp (keys), plan_fusion.cpp (cuts and plans), plan_in_place.cpp (outputs
/// in their inputs' memory), plan_slots.cpp (where values are kept), run_fusion.cpp (compilation,
/// runs), run_steps.h (the steps of a run), plan_launches.cpp (what is left where that is launches
/// alone), report_fusion.cpp (what is shown), profile_fusion.cpp (what it costs),
/// describe_fusion.cpp (both, as data for a drawing).
#pragma once

#include <chrono>
#include <optional>

#include <runtime/external_segment.h>
#include <runtime/fusion_executor_cache.h>
#include <runtime/launch_sequence.h>
#include <scheduler/no_op/no_op.h>

namespace nvfuser {

inline constexpr size_t kNoSlot = SIZE_MAX;

/// What a plan with exchanges between devices knows of one, or of a product, whose rows may be
/// exchanged (plan_exchanges.cpp).
struct PlannedExchange {
  const CommunicationOp* op = nullptr;  ///< null: a product
  std::string name = {};
  bool has_work_beside = false;  ///< something is computed before the result is read
  std::optional<size_t> product =
      {};                         ///< of an allgather: the step whose operand's rows are its parts
  bool is_read_by_others = true;  ///< of an allgather: besides that product
  /// Of a product: the alltoall whose parts are its rows, and which alone reads them.
  std::optional<size_t> alltoall = {};
  size_t rows = 0;                       ///< of a product: the input whose rows are the result's
  ViewLayout product_result = {};        ///< of a product
  std::vector<ViewLayout> results = {};  ///< of the exchange, or of that alltoall
  std::vector<bool> in_place = {};       ///< of an allreduce: operands that nobody else reads
};

struct FusionExecutorCache::Step {
  FusionSegment* segment;
  SegmentKernel* kernel;  ///< null: a library's operation, or views of its inputs
  std::vector<std::pair<SchedulerType, Refusal>> refusals;  ///< before its plan
  std::vector<size_t> inputs;                               ///< slots
  std::vector<size_t> outputs;
  std::vector<size_t> dead;                  ///< slots that nobody reads any more
  std::shared_ptr<const LaunchPlan> plan;    ///< from the first run on
  std::vector<NoOpParams::View> views;       ///< of the inputs, instead of a kernel
  std::optional<ExternalRun> external = {};  ///< a library's operation, instead of a kernel
  std::optional<PlannedExchange> exchange = {};
};

/// What a call was, without its tensors' elements.
struct FusionExecutorCache::Asked {
  KernelArgumentHolder args;  ///< tensors without memory
  std::vector<int64_t> alignments;
  Device* device = nullptr;
  Options options;
};

/// The fusion for all calls whose sizes are of one form: what is run.
struct FusionExecutorCache::Form {
  std::unique_ptr<Fusion> settled;    ///< none for a fusion that the user scheduled
  std::unique_ptr<Fusion> rewritten;  ///< by the passes over the whole fusion; likewise
  const Fusion* graph = nullptr;      ///< what is cut into kernels
  /// What is computed by kernels, by which outputs are views (positions).
  std::map<std::vector<size_t>, std::unique_ptr<Variant>> variants;
};

/// One way of running the fusion: for all calls with the same key. The first run adds what depends
/// on intermediate results; then it stays as it is.
struct FusionExecutorCache::Prepared {
  struct ViewStep {
    PlannedView view;
    size_t source;  ///< slots
    size_t result;
  };
  /// Memory that steps write to part by part.
  struct JoinStep {
    PlannedJoin join;
    size_t result;       ///< slots
    size_t first_place;  ///< of the parts' places, one behind the other
  };
  Form* form = nullptr;
  std::vector<JoinStep> joins;  ///< before all steps
  std::vector<Step> steps;
  std::vector<ViewStep> views;  ///< after all steps
  /// By slot, for what a step computes: that of the place in a join where it belongs; kNoSlot for
  /// what belongs nowhere.
  std::vector<size_t> place_of;
  std::vector<const Val*> slots;  ///< the whole fusion's values; its inputs come first
  std::vector<size_t> outputs;    ///< slots of the fusion's outputs
  /// By output, the input whose storage it is written to (in_place.h).
  std::vector<std::optional<size_t>> updated;
  std::vector<size_t> returned;  ///< outputs that are not only written
  bool shows_arguments = false;  ///< some output, where any is written, may be an argument's memory
  KnownScalars sizes;
  bool exchanges = false;  ///< data with other devices
  /// From the first run on: one kernel takes arguments of the call and gives its results, these in
  /// the fusion's order.
  bool is_one_launch = false;
  bool takes_all_in_order = false;  ///< it takes the call's arguments as they are
  /// Likewise: what a call does where that is launches alone. Null: it is more.
  std::unique_ptr<const LaunchSequence> launches;
  Asked asked;
};

/// One key's.
struct FusionExecutorCache::Kept {
  explicit Kept(std::string its_key) : key(std::move(its_key)) {}

  const std::string key;
  std::mutex making;  ///< held until it is ready
  /// Set once, before `used`; what changes in it until it is ready is read by no other thread.
  std::shared_ptr<Prepared> plan;
  bool dropped = false;  ///< the plan did not do: look for the key again
  std::atomic<bool> compiled{false};
  std::atomic<bool> ready{false};  ///< it was compiled and has run
  std::atomic<uint64_t> used{0};   ///< the cache's clock when it was last turned to; 0: no plan
};

/// What is left to compute where some outputs are views, and some are stored part by part.
struct FusionExecutorCache::Variant {
  std::unique_ptr<Fusion> own;  ///< null where all outputs are computed, each by one kernel
  const Fusion* fusion;
  std::vector<const Val*> outputs;  ///< for each output of the whole; null for a view
  std::vector<const Val*> sources;  ///< of the views
  std::vector<const Val*> joins;    ///< outputs that are stored part by part
  bool updates_arguments = false;
  /// By the names of their expressions and outputs.
  std::map<std::vector<int64_t>, std::unique_ptr<FusionSegment>> segments;
};

/// Milliseconds of the stages of a plan, for the dump pass_times.
class StageTimes {
 public:
  void begin() { since_ = std::chrono::steady_clock::now(); }
  /// What was done since then, or since the last note, is `stage`.
  void note(std::string_view stage);
  const std::string& lines() const { return lines_; }

 private:
  std::chrono::steady_clock::time_point since_ = {};
  std::string lines_;
};

/// What one call asks for.
struct FusionExecutorCache::Call {
  const KernelArgumentHolder& args;
  Device* device;
  PrimDataType index_type;
  CompileParams params;
  RunContext context;
  /// For a plan: the arguments, and behind them the places of parts of joins, without memory.
  KernelArgumentHolder planned_args = {};
  /// Knows all sizes, once a plan is needed.
  ExpressionEvaluator evaluator;
  KnownScalars sizes;
  /// Seed and first offset of its random numbers, from its first run on.
  std::optional<std::pair<uint64_t, uint64_t>> draws = {};
  StageTimes stages = {};

  bool mayFallBack() const { return nvfuser::mayFallBack(*params.options); }
};

/// Some arguments are written, and the call cannot go on.
[[noreturn]] void throwPartialUpdate(const std::string& name, const std::exception& error);

/// What a scheduler may know of a segment in this call.
SchedulerRuntimeInfo runtimeInfo(const FusionSegment& segment, const Fusion& whole,
                                 const KernelArgumentHolder& args, const KnownScalars& sizes,
                                 Device& device, PrimDataType index_type);

}  // namespace nvfuser
