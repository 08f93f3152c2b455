#include <scheduler/scatter/scatter.h>

#include <algorithm>
#include <limits>

#include <ir/exact_numerics.h>
#include <ir/external_ops.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/operations.h>
#include <scheduler/scatter/plan.h>
#include <scheduler/scatter/schedule.h>
#include <support/round.h>

namespace nvfuser {

namespace {

constexpr int64_t kLeastColumns = 8;    ///< of rows in vectors
constexpr int64_t kColumnsOfTask = 16;  ///< at least
constexpr int64_t kTrialVector = 2;     ///< elements of a thread of a GPU
constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();
constexpr int64_t kUpdatesAlone = 16384;  ///< elements that one thread does as fast as several

const ScatterOp* onlyScatter(const Fusion& fusion) {
  const ScatterOp* found = nullptr;
  for (const Expr* expr : fusion.exprs()) {
    if (expr->isA<ScatterOp>()) {
      if (found != nullptr) {
        return nullptr;
      }
      found = expr->as<ScatterOp>();
    }
  }
  return found;
}

bool isOfLibrary(const Expr* expr) { return isExternalOp(expr) && !expr->isA<ScatterOp>(); }

std::vector<IterDomain*> axesOf(const Val* tv) {
  return TensorDomain::noReductions(tv->as<TensorView>()->getLogicalDomain());
}

/// What is combined in registers as wide as in memory.
bool isCombined(DataType dtype) {
  return dtype == DataType::Float || dtype == DataType::Double || dtype == DataType::Int ||
         dtype == DataType::Int32;
}

/// Whether its results depend on the order of entries: sums and products of floats do.
bool rounds(const ScatterOp* op) {
  return isFloatingPointType(op->output(0)->dtype()) &&
         (op->accumulateOp() == BinaryOpType::Add || op->accumulateOp() == BinaryOpType::Mul);
}

/// Entries are as many as the index has; the target and the source are as long along the others.
std::optional<Refusal> refusesSizes(const ScatterOp* op) {
  const std::vector<IterDomain*> target = axesOf(op->output(0));
  const std::vector<IterDomain*> index = axesOf(op->input(1));
  const std::vector<IterDomain*> source = axesOf(op->input(2));
  const auto dim = static_cast<size_t>(op->dim());
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const Val* extent = index[axis]->getMaybeExpandedExtent();
    const bool is_source = source[axis]->getMaybeExpandedExtent()->sameAs(extent);
    const bool is_target = axis == dim || target[axis]->getMaybeExpandedExtent()->sameAs(extent);
    if (!is_source || !is_target || target[axis]->isBroadcast()) {
      return Refusal{
          text("entries of ", op->output(0), " are written to a part of its axis ", axis)};
    }
  }
  return std::nullopt;
}

class ScatterScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::Scatter; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    const ScatterOp* op = onlyScatter(fusion);
    if (op == nullptr) {
      std::string why = "it has no scatter, or several";
      return Refusal{std::move(why)};
    }
    if (auto refusal = refusesOperations(fusion, isOfLibrary)) {
      return refusal;
    }
    const DataType dtype = op->output(0)->dtype();
    if (!op->input(2)->isA<TensorView>() || (op->accumulateOp() && !isCombined(dtype))) {
      return Refusal{text(op->output(0), " is a scatter of ", dtype,
                          op->input(2)->isA<TensorView>() ? "" : ", of one number")};
    }
    if (auto refusal = refusesSizes(op)) {
      return refusal;
    }
    // As rows and as points, on the CPU and on a GPU; with tasks of either kind, what is where
    // stays the same.
    const bool has_columns = static_cast<size_t>(op->dim()) + 1 < axesOf(op->output(0)).size();
    for (const bool rows : {true, false}) {
      for (const bool host : {true, false}) {
        if (rows != has_columns && (rows || !host)) {
          continue;
        }
        ScatterParams trial;
        trial.rows = rows;
        if (!host) {
          trial.threads_x = trial.threads_y = trial.blocks = 4;
          trial.vectorization = kTrialVector;
          trial.unroll = rows ? kTrialVector : 1;
        }
        Fusion copy(fusion);
        scatters::schedule(&copy, trial);
        if (auto refusal = scatters::refusesLoops(copy, host ? kAnyNumber : kTrialVector)) {
          return refusal;
        }
      }
    }
    return std::nullopt;
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    if (!info.isHost()) {
      const ScatterOp* scatter = onlyScatter(fusion);
      if (isComputedExactly(fusion) && rounds(scatter)) {
        std::string why = "exact_numerics: threads of a GPU combine in any order";
        return Refusal{std::move(why)};
      }
      return scatters::planThreads(fusion, scatter, info);
    }
    const ScatterOp* op = onlyScatter(fusion);
    const std::vector<IterDomain*> index = axesOf(op->input(1));
    int64_t outside = 1;
    int64_t entries = 1;
    int64_t columns = 1;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const auto place = static_cast<int64_t>(axis);
      (place < op->dim()    ? outside
       : place == op->dim() ? entries
                            : columns) *= info.evaluate(index[axis]->getMaybeExpandedExtent());
    }
    auto params = std::make_unique<ScatterParams>();
    params->rows = columns >= kLeastColumns;
    const int64_t threads = info.device().multiprocessors;
    if (outside * entries * columns <= kUpdatesAlone || threads == 1) {
      return params;
    }
    if (outside >= threads) {
      params->tasks = threads;
    } else if (params->rows && columns >= 2 * kColumnsOfTask) {
      params->columns = std::max(kColumnsOfTask, ceilPow2(ceilDiv(columns, threads)));
    }
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    scatters::schedule(fusion, static_cast<const ScatterParams&>(params));
  }
};

}  // namespace

std::string ScatterParams::toString() const {
  const std::string kind = rows ? "rows" : "points";
  if (threads_x == 0) {
    return text(kind, tasks > 1 ? text(", tasks ", tasks) : std::string(),
                columns > 0 ? text(", columns ", columns) : std::string());
  }
  return text(kind, ", threads ", threads_x, " x ", threads_y, ", V ", vectorization,
              adds_vectors ? " added at once" : "",
              sums_by > 0 ? text(", sums of blocks by ", sums_by) : std::string(), ", unroll ",
              unroll, ", blocks ", blocks, " x ", blocks_y, ", resident ", resident_blocks,
              ", target by ", of_target, ", inputs by [", join(inputs, ", "),
              "], rows of them by [", join(reads, ", "), "], outputs by [", join(outputs, ", "),
              "]");
}

bool hasScatters(const Fusion& fusion) {
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(),
                     [](const Expr* expr) { return expr->isA<ScatterOp>(); });
}

const SchedulerEntry& scatterScheduler() {
  static const ScatterScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
