#include <scheduler/persistent/inner_outer.h>

#include <algorithm>
#include <numeric>

#include <scheduler/persistent/inner_outer_schedule.h>
#include <scheduler/reduction/plan.h>
#include <scheduler/reduction/refuses_turned.h>
#include <support/text.h>

namespace nvfuser {

using namespace reduction;

std::string InnerOuterParams::toString() const {
  return text("reference T", reference, ", order [", join(order, ", "), "]",
              project ? ", computed again from inputs" : "", ", V ", vectorization, ", batches ",
              batches, ", warps ", warps, ", rows ", rows, ", grid ", grid, ", blocks ", blocks,
              ", stages ", stages, ", unroll ", unroll, ", inputs by [", join(inputs, ", "),
              "], outputs by [", join(outputs, ", "), "]");
}

namespace {

constexpr int64_t kMostWarps = 16;    ///< of a block
constexpr int64_t kLeastWarps = 16;   ///< of a block, where rows are short
constexpr int64_t kRowsOfBlock = 16;  ///< that pay for a block's share of the sums of columns
constexpr int64_t kShortRow = 8;  ///< vectors: the rest of a warp is idle, which many rows wait for
constexpr int64_t kManyRows = 16384;
constexpr int64_t kEnoughBlocks = 64;     ///< where there are fewer rows
constexpr int64_t kMostBytes = 400;       ///< that a thread holds of rows and sums
constexpr int64_t kOtherRegisters = 24;   ///< of a thread
constexpr int64_t kRegistersOfBatch = 4;  ///< for where a further vector of the next row is
constexpr int64_t kRegistersOfThread = 255;
constexpr int64_t kMostBlocks = 3;  ///< of a multiprocessor
constexpr int64_t kUnroll = 4;

std::vector<int64_t> identityOrder(const TensorView* tv) {
  std::vector<int64_t> order(tv->getLogicalDomain().size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Why the loops do not suit the Fusion, tried on a copy, when they go through the reference's axes
/// in this order.
std::optional<Refusal> tryOrder(const Fusion& fusion, const Form& form,
                                std::vector<int64_t> order) {
  InnerOuterParams trial;
  trial.reference = form.signature.reference()->name();
  trial.order = std::move(order);
  trial.vectorization = trial.batches = trial.warps = trial.rows = trial.grid = trial.unroll = 2;
  Fusion copy(fusion);
  return inner_outer::schedule(&copy, trial);
}

class InnerOuterScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::InnerOuterPersistent; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    auto form = Form::ofInnerOuter(fusion);
    if (auto* refusal = std::get_if<Refusal>(&form)) {
      return std::move(*refusal);
    }
    const Form& of = *std::get<std::unique_ptr<Form>>(form);
    if (of.buffers.held().empty()) {
      return Refusal{text("nothing is needed both before and behind the reduction ",
                          of.signature.reference())};
    }
    return tryOrder(fusion, of, identityOrder(of.signature.reference()));
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    if (info.isHost()) {
      return Refusal{"tasks of the CPU cannot wait for each other's sums of columns"};
    }
    const auto form = std::get<std::unique_ptr<Form>>(Form::ofInnerOuter(fusion));
    // (Rows that do not lie innermost are refused, whatever they suit.)
    const Problem problem(fusion, *form, info,
                          [&](const std::vector<int64_t>& order, bool fastest_dim, int64_t) {
                            return !fastest_dim || !tryOrder(fusion, *form, order);
                          });
    if (!problem.fastest_dim || problem.schedule_3d) {
      return Refusal{text(form->signature.reference(), " is not reduced over the innermost axes ",
                          "in memory alone")};
    }
    if (problem.reduced == 0 || problem.kept == 0) {
      return Refusal{"there is nothing to reduce"};
    }
    if (auto refusal = refusesTurned(problem)) {
      return *refusal;
    }
    if (problem.order != identityOrder(form->signature.reference())) {
      if (auto refusal = tryOrder(fusion, *form, problem.order)) {
        return std::move(*refusal);
      }
    }
    auto params = std::make_unique<InnerOuterParams>();
    params->reference = form->signature.reference()->name();
    params->order = problem.order;
    if (auto refusal = chooseRow(fusion, *form, problem, info, *params)) {
      return std::move(*refusal);
    }
    ReductionParams widths(type());
    widths.vectorization = params->vectorization;
    problem.setWidths(widths);
    params->inputs = widths.inputs;
    params->outputs = widths.outputs;
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    inner_outer::schedule(fusion, static_cast<const InnerOuterParams&>(params));
  }

 private:
  static std::optional<Refusal> chooseRow(const Fusion& fusion, const Form& form,
                                          const Problem& problem, SchedulerRuntimeInfo& info,
                                          InnerOuterParams& params) {
    const DataType index = info.getIndexType();
    const PersistentBuffers& buffers = form.buffers;
    params.project = buffers.notRecomputable() == nullptr && !buffers.repeatsMany() &&
                     buffers.bytesProjected(index) < buffers.bytesHeld(index);
    // Of an element: what is held of the row, weights, and the sums.
    const auto found =
        std::get<InnerOuterReductions>(innerOuterReductions(fusion, form.permissive));
    int64_t bytes = params.project ? buffers.bytesProjected(index) : buffers.bytesHeld(index);
    int64_t loaded = 0;
    for (const Expr* expr : found.outer) {
      bytes += dataTypeSizeByte(expr->output(0)->dtype());
    }
    for (const TensorView* tv : borderTensors(fusion)) {
      if (tv->isFusionInput() && form.signature.spansReduced(tv, form.permissive)) {
        const bool of_all_rows =
            info.extent(tv->getLogicalDomain()) < problem.kept * problem.reduced;
        (of_all_rows ? bytes : loaded) += dataTypeSizeByte(tv->dtype());
      }
    }
    params.vectorization = problem.widest();
    const int64_t vectors = ceilDiv(problem.reduced, params.vectorization);
    if (vectors <= kShortRow && problem.kept >= kManyRows) {
      return Refusal{text("rows of ", problem.reduced,
                          " elements, a warp for each of them, leave most of its threads idle")};
    }
    int64_t batches = 1;
    while (ceilDiv(vectors, batches) > kWarpSize * kMostWarps) {
      batches += batches < 4 ? 1 : batches < 8 ? 2 : 4;
    }
    const int64_t held = batches * params.vectorization * bytes;
    if (batches > 1 && held > kMostBytes) {
      return Refusal{text("rows of ", problem.reduced, " elements do not fit registers (", bytes,
                          " bytes an element)")};
    }
    params.batches = batches;
    params.warps = std::min(ceilPow2(ceilDiv(ceilDiv(vectors, batches), kWarpSize)), kMostWarps);
    params.rows = std::max<int64_t>(kLeastWarps / params.warps, 1);
    const DeviceProperties& device = info.device();
    while (params.rows > 1 && problem.kept < params.rows * device.multiprocessors) {
      params.rows /= 2;
    }
    const int64_t threads = kWarpSize * params.warps * params.rows;
    const int64_t wanted = std::min(kOtherRegisters + ceilDiv(held, 4), kRegistersOfThread);
    const int64_t most =
        std::min({device.registers_per_multiprocessor / (threads * wanted),
                  device.max_threads_per_multiprocessor / threads,
                  std::max<int64_t>(kMostBlocks, 16 / (params.warps * params.rows))});
    const int64_t blocks = floorPow2(most);  // few values, for few kernels
    const int64_t needed = ceilDiv(problem.kept, params.rows);
    params.grid = std::min(device.multiprocessors * blocks,
                           std::max(floorPow2(problem.kept / kRowsOfBlock), kEnoughBlocks));
    if (needed < params.grid) {
      params.grid = floorPow2(needed);
    }
    params.blocks = std::min(blocks, ceilDiv(params.grid, device.multiprocessors));
    // The next row is loaded ahead where registers are left.
    const int64_t with_next = wanted + ceilDiv(batches * params.vectorization * loaded, 4) +
                              kRegistersOfBatch * (batches - 1);
    params.stages =
        with_next * threads * params.blocks < device.registers_per_multiprocessor ? 2 : 1;
    params.unroll = kUnroll;
    return std::nullopt;
  }
};

}  // namespace

const SchedulerEntry& innerOuterPersistentScheduler() {
  static const InnerOuterScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
