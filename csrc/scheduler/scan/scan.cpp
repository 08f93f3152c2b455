#include <scheduler/scan/scan.h>

#include <algorithm>
#include <numeric>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/external_ops.h>
#include <ir/scan_loops.h>
#include <scheduler/analysis/operations.h>
#include <scheduler/analysis/reference_axes.h>
#include <scheduler/pointwise/schedule.h>
#include <scheduler/scan/schedule.h>
#include <support/round.h>

namespace nvfuser {

namespace {

constexpr int64_t kAlone = 8192;        ///< elements that one thread does as fast as several (CPU)
constexpr int64_t kTasksPerThread = 4;  ///< of the CPU
constexpr int64_t kHostRun = 128;       ///< elements of a row between scans (CPU)
constexpr int64_t kHostRows = 4;        ///< scanned in turn (CPU)
constexpr int64_t kHostColumns = 128;   ///< columns at once (CPU)
constexpr int64_t kLeastHostColumns = 16;
constexpr int64_t kThreadsOfRow = 256;       ///< of a row, unless there are few
constexpr int64_t kMostThreadsOfRow = 1024;  ///< of a block
constexpr int64_t kLeastThreads = 128;       ///< of a block
constexpr int64_t kBusyThreads = 2048;       ///< of a multiprocessor
constexpr int64_t kMostItems = 8;
constexpr int64_t kItemsOfColumn = 4;
constexpr int64_t kItemsOfFewColumns = 16;  ///< threads of a column go through each other's sums
constexpr int64_t kMostHeld = 48;           ///< elements that a thread holds

std::vector<const ScanOp*> scansOf(const Fusion& fusion) {
  std::vector<const ScanOp*> scans;
  for (const Expr* expr : fusion.exprs()) {
    if (expr->isA<ScanOp>()) {
      scans.push_back(expr->as<ScanOp>());
    }
  }
  return scans;
}

/// What registers carry, and threads exchange.
bool isCarried(DataType dtype) {
  return dtype == DataType::Half || dtype == DataType::BFloat16 || dtype == DataType::Float ||
         dtype == DataType::Double || dtype == DataType::Int || dtype == DataType::Int32;
}

std::optional<Refusal> refusesScans(const Fusion& fusion) {
  const std::vector<const ScanOp*> scans = scansOf(fusion);
  if (scans.empty()) {
    return Refusal{"nothing is scanned"};
  }
  if (auto refusal = refusesOperations(fusion, hasNoKernel)) {
    return refusal;
  }
  for (const ScanOp* scan : scans) {
    if (!isCarried(scan->output(0)->dtype())) {
      return Refusal{text(scan->output(0), " is a scan of ", scan->output(0)->dtype())};
    }
    if (scan->isBackward() != scans.front()->isBackward()) {
      return Refusal{text(scan->output(0), " and ", scans.front()->output(0),
                          " are scanned in different directions")};
    }
  }
  return std::nullopt;
}

/// Which axis of the reference all scans go along; −1: there is none such.
int64_t axisOfScans(const Fusion& fusion, const TensorView* reference) {
  const IdGraph exact(fusion, IdGraph::Mode::Exact);
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(reference->getLogicalDomain());
  int64_t found = -1;
  for (const ScanOp* scan : scansOf(fusion)) {
    const auto* tv = scan->output(0)->as<TensorView>();
    const std::vector<IterDomain*> own = TensorDomain::noReductions(tv->getLogicalDomain());
    if (own.empty()) {
      return -1;
    }
    const IterDomain* along = own[static_cast<size_t>(scan->dim())];
    const auto place = std::find_if(axes.begin(), axes.end(), [&](const IterDomain* id) {
      return !id->isBroadcast() && exact.mapped(id, along);
    });
    const int64_t axis = place == axes.end() ? -1 : place - axes.begin();
    if (axis < 0 || (found >= 0 && axis != found)) {
      return -1;
    }
    found = axis;
  }
  return found;
}

const TensorView* referenceOf(const Fusion& fusion) {
  const int64_t output = pointwise::referenceOutput(fusion);
  return output < 0 ? nullptr : fusion.outputs()[static_cast<size_t>(output)]->as<TensorView>();
}

class ScanScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::Scan; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    if (auto refusal = refusesScans(fusion)) {
      return refusal;
    }
    const TensorView* reference = referenceOf(fusion);
    const int64_t along = reference != nullptr ? axisOfScans(fusion, reference) : -1;
    if (along < 0) {
      std::string why = "its scans go along no one axis of its largest result";
      return Refusal{std::move(why)};
    }
    // As rows of a GPU, and of the CPU.
    for (bool host : {false, true}) {
      ScanParams trial;
      trial.reference = pointwise::referenceOutput(fusion);
      trial.order = orderWith(reference, along);
      trial.along = static_cast<int64_t>(trial.order.size()) - 1;
      trial.host = host;
      trial.threads = host ? 1 : kWarpSize;
      trial.items = 4;
      if (auto refusal = refusesPlan(fusion, trial)) {
        return refusal;
      }
    }
    return std::nullopt;
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    auto params = std::make_unique<ScanParams>();
    params->reference = pointwise::referenceOutput(fusion);
    const TensorView* output = referenceOf(fusion);
    const int64_t along = axisOfScans(fusion, output);
    const ReferenceAxes reference(fusion, output);
    const std::vector<TensorView*> tensors = borderTensors(fusion);
    const auto extent = [&](int64_t axis) {
      return info.extent(reference.axes()[static_cast<size_t>(axis)]);
    };
    params->order.resize(reference.axes().size());
    std::iota(params->order.begin(), params->order.end(), 0);
    const bool all_covered = std::all_of(
        tensors.begin(), tensors.end(), [&](const TensorView* tv) { return reference.covers(tv); });
    if (all_covered) {
      const auto largest = std::max_element(
          tensors.begin(), tensors.end(),
          [&](const TensorView* a, const TensorView* b) { return info.bytes(a) < info.bytes(b); });
      params->order = reference.memoryOrder(*largest, info);
    }
    // Axes of one element do not lie inside of others.
    std::stable_partition(params->order.begin(), params->order.end(),
                          [&](int64_t axis) { return axis != along && extent(axis) == 1; });
    const auto place = std::find(params->order.begin(), params->order.end(), along);
    params->along = place - params->order.begin();
    params->host = info.isHost();
    Sizes sizes;
    sizes.length = extent(along);
    for (auto axis = params->order.begin(); axis != params->order.end(); ++axis) {
      if (axis != place) {
        (axis < place ? sizes.others : sizes.columns) *= extent(*axis);
      }
    }
    if (params->host) {
      planHost(sizes, info, kHostRows, *params);
      if (params->rows() && params->lines > 1 && refusesPlan(fusion, *params)) {
        planHost(sizes, info, 1, *params);
      }
    } else if (params->rows()) {
      planRows(fusion, sizes, reference, tensors, along, info, *params);
    } else {
      planColumns(sizes, info, *params);
    }
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    scans::schedule(fusion, static_cast<const ScanParams&>(params));
  }

 private:
  struct Sizes {
    int64_t others = 1;   ///< outside of the axis, in memory
    int64_t length = 1;   ///< of the axis
    int64_t columns = 1;  ///< inside of it
  };

  static std::vector<int64_t> orderWith(const TensorView* reference, int64_t last) {
    std::vector<int64_t> order(TensorDomain::noReductions(reference->getLogicalDomain()).size());
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + last);
    order.push_back(last);
    return order;
  }

  /// Why a tensor cannot have the loops of a plan, such as several rows of a task at a time.
  static std::optional<Refusal> refusesPlan(const Fusion& fusion, const ScanParams& params) {
    Fusion copy(fusion);
    scans::schedule(&copy, params);
    return scans::refusesLoops(copy, params);
  }

  static void planHost(const Sizes& sizes, SchedulerRuntimeInfo& info, int64_t most_rows,
                       ScanParams& params) {
    const int64_t threads = info.device().multiprocessors;
    int64_t parallel = sizes.others;
    if (params.rows()) {
      params.items = kHostRun;
      params.lines = 1;
      while (params.lines < most_rows && sizes.others >= 2 * params.lines * threads) {
        params.lines *= 2;
      }
      parallel = ceilDiv(parallel, params.lines);
    } else {
      params.lines = std::min(ceilPow2(sizes.columns), kHostColumns);
      while (params.lines > kLeastHostColumns &&
             sizes.others * ceilDiv(sizes.columns, params.lines) < threads) {
        params.lines /= 2;
      }
      parallel *= ceilDiv(sizes.columns, params.lines);
    }
    params.tasks = sizes.others * sizes.length * sizes.columns <= kAlone
                       ? 1
                       : floorPow2(std::min(parallel, kTasksPerThread * threads));
  }

  /// The last element of each row may end a vector.
  static void planRows(const Fusion& fusion, const Sizes& sizes, const ReferenceAxes& reference,
                       const std::vector<TensorView*>& tensors, int64_t along,
                       SchedulerRuntimeInfo& info, ScanParams& params) {
    const std::vector<int64_t> inner{along};
    int64_t items = 1;
    for (const TensorView* tv : tensors) {
      items = std::max(items, reference.vectorWidth(tv, inner, info));
    }
    items = std::min(items, kMostItems);
    while (items > 1 && items * static_cast<int64_t>(tensors.size()) > kMostHeld) {
      items /= 2;
    }
    params.items = items;
    const int64_t busy = info.device().multiprocessors * kBusyThreads;
    const int64_t steps = ceilPow2(ceilDiv(sizes.length, items));
    params.threads = std::min(steps, kThreadsOfRow);
    while (params.threads < std::min(steps, kMostThreadsOfRow) &&
           sizes.others * params.threads * 2 <= busy) {
      params.threads *= 2;
    }
    while (params.threads * params.lines < kLeastThreads &&
           sizes.others >= params.lines * 2 * info.device().multiprocessors) {
      params.lines *= 2;
    }
    const auto width = [&](const Val* val) -> int64_t {
      return val->isA<TensorView>()
                 ? std::min(items, reference.vectorWidth(val->as<TensorView>(), inner, info))
                 : 0;
    };
    for (const Val* input : fusion.inputs()) {
      params.inputs.push_back(width(input));
    }
    for (const Val* output : fusion.outputs()) {
      params.outputs.push_back(width(output));
    }
  }

  static void planColumns(const Sizes& sizes, SchedulerRuntimeInfo& info, ScanParams& params) {
    const int64_t busy = info.device().multiprocessors * kBusyThreads;
    params.lines = std::min(ceilPow2(sizes.columns), kWarpSize);
    // A block walks all of its columns. Few columns are rather read in parts of their sectors.
    const auto blocksOf = [&](int64_t lines) {
      return sizes.others * ceilDiv(sizes.columns, lines);
    };
    while (params.lines > 1 && blocksOf(params.lines / 2) <= info.device().multiprocessors) {
      params.lines /= 2;
    }
    const int64_t blocks = blocksOf(params.lines);
    // Threads of one column are neighbours, and exchange by shuffles.
    const int64_t most_threads = params.lines == 1 ? kMostThreadsOfRow : kWarpSize;
    params.items =
        std::min(ceilPow2(sizes.length),
                 blocks < info.device().multiprocessors ? kItemsOfFewColumns : kItemsOfColumn);
    while (params.lines * params.threads < kMostThreadsOfRow && params.threads < most_threads &&
           blocks * params.lines * params.threads < busy &&
           sizes.length >= 2 * params.threads * params.items) {
      params.threads *= 2;
    }
  }
};

}  // namespace

std::string ScanParams::toString() const {
  std::string result = text(rows() ? "rows" : "columns", host ? " on the host" : "", ", reference ",
                            reference, ", order [", join(order, ", "), "], along ", along);
  const auto add = [&](const char* name, int64_t value) {
    if (value != 1) {
      append(result, text(", ", name, " ", value));
    }
  };
  add("tasks", tasks);
  add("lines", lines);
  add("threads", threads);
  add("items", items);
  append(result,
         text(", inputs by [", join(inputs, ", "), "], outputs by [", join(outputs, ", "), "]"));
  return result;
}

bool hasScans(const Fusion& fusion) { return !scansOf(fusion).empty(); }

const SchedulerEntry& scanScheduler() {
  static const ScanScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
