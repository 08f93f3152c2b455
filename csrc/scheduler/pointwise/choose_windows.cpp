#include <scheduler/pointwise/choose_windows.h>

#include <algorithm>
#include <unordered_set>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/windows.h>

namespace nvfuser::pointwise {

namespace {

constexpr int64_t kLeastHostPart = 32;  ///< elements of a row on the CPU, for a loop of its own

/// What `tv` repeats along other axes, or compares: an iota, or not.
bool countsPlaces(const TensorView* tv) {
  const Expr* def = tv->definition();
  while (def != nullptr && def->isOneOf<BroadcastOp, BinaryOp>() &&
         def->input(0)->isA<TensorView>()) {
    def = def->input(0)->definition();
  }
  return def != nullptr && def->isA<IotaOp>();
}

/// Whether a place along an axis of the reference chooses what an element is, as where something is
/// joined: its loop is made of one part's elements, then of the next one's.
bool choosesAlong(const Fusion& fusion, const ReferenceAxes& reference, size_t axis) {
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(), [&](const Expr* expr) {
    const auto* choice = dynamic_cast<const TernaryOp*>(expr);
    const auto* truth =
        choice != nullptr ? dynamic_cast<const TensorView*>(choice->input(0)) : nullptr;
    const IterDomain* along =
        truth != nullptr && countsPlaces(truth) ? reference.find(truth, axis) : nullptr;
    return along != nullptr && !along->isBroadcast();
  });
}

/// On the CPU a vector's place in an axis with a window is found by divisions, lane by lane, unless
/// the axis is the only one of its loops, or one of the outer loops.
void cutForHostWindows(const Fusion& fusion, const ReferenceAxes& reference,
                       const std::vector<TensorView*>& windows, SchedulerRuntimeInfo& info,
                       PointwiseParams& params) {
  const auto axes = static_cast<int64_t>(params.order.size());
  int64_t cut = params.break_point;
  for (int64_t position = params.break_point; position < axes; ++position) {
    const auto axis = static_cast<size_t>(params.order[static_cast<size_t>(position)]);
    const bool moved = std::any_of(windows.begin(), windows.end(), [&](const TensorView* window) {
      const IterDomain* along = reference.find(window, axis);
      return along != nullptr && along->isRFactorProduct();
    });
    if (moved || choosesAlong(fusion, reference, axis)) {
      // Vectors go along the axis in front of one that is apart.
      cut = params.apart && position == axes - 2 ? position : std::min(position + 1, axes - 1);
    }
  }
  int64_t right = 1;
  for (int64_t position = cut; position < axes; ++position) {
    right *= info.extent(
        reference.axes()[static_cast<size_t>(params.order[static_cast<size_t>(position)])]);
  }
  if (right >= kLeastHostPart) {
    params.break_point = cut;
  }
}

}  // namespace

void cutForWindows(const Fusion& fusion, const ReferenceAxes& reference,
                   const std::vector<TensorView*>& windows, SchedulerRuntimeInfo& info,
                   PointwiseParams& params) {
  if (params.order.empty()) {
    return;
  }
  if (info.isHost()) {
    cutForHostWindows(fusion, reference, windows, info, params);
    return;
  }
  const auto last = static_cast<size_t>(params.order.back());
  const int64_t row = info.extent(reference.axes()[last]);
  const bool gains = std::any_of(windows.begin(), windows.end(), [&](const TensorView* window) {
    const IterDomain* along = reference.find(window, last);
    return along != nullptr && along->isRFactorProduct() && windowWidth(window, along, info) > 1;
  });
  if (row >= info.device().warp_size && row % 2 == 0 && gains) {
    params.break_point = static_cast<int64_t>(params.order.size()) - 1;
  }
}

void chooseWindows(const Fusion& fusion, const std::vector<LoopNest>& nests,
                   SchedulerRuntimeInfo& info, PointwiseParams& params) {
  const std::vector<TensorView*> windows = windowsOfInputs(fusion);
  if (windows.empty() || params.vectorization == 1) {
    return;
  }
  params.windows.assign(fusion.inputs().size(), params.vectorization);
  for (const LoopNest& nest : nests) {
    const ReferenceAxes reference(fusion, fusion.outputs()[nest.reference]->as<TensorView>());
    const std::unordered_set<TensorView*> own = tensorsOf(fusion, nest);
    for (TensorView* window : windows) {
      if (own.count(window) == 0) {
        continue;
      }
      const bool one_axis = params.break_point + 1 == static_cast<int64_t>(params.order.size());
      const IterDomain* along =
          one_axis ? reference.find(window, static_cast<size_t>(params.order.back())) : nullptr;
      const Val* input = window->definition()->input(0);
      const auto place = std::find(fusion.inputs().begin(), fusion.inputs().end(), input);
      int64_t& width = params.windows[static_cast<size_t>(place - fusion.inputs().begin())];
      width = std::min(width, along == nullptr ? 1 : windowWidth(window, along, info));
    }
  }
}

}  // namespace nvfuser::pointwise
