#include <scheduler/pointwise/innermost_apart.h>

#include <scheduler/analysis/reference_axes.h>

namespace nvfuser::pointwise {

namespace {

constexpr int64_t kShortAxis = 4;  ///< elements, at most

}  // namespace

bool isInnermostApart(const Fusion& fusion, const std::vector<LoopNest>& nests,
                      const std::vector<int64_t>& order, SchedulerRuntimeInfo& info) {
  if (order.size() < 2) {
    return false;
  }
  const auto last = static_cast<size_t>(order.back());
  bool shared = true;
  for (const LoopNest& nest : nests) {
    const ReferenceAxes reference(fusion, fusion.outputs()[nest.reference]->as<TensorView>());
    const Val* extent = reference.axes()[last]->extent();
    const int64_t elements = extent->isConst() ? extent->value().as<int64_t>() : 0;
    if (elements < 2 || elements > kShortAxis) {
      return false;
    }
    for (const TensorView* tv : tensorsOf(fusion, nest)) {
      bool has_other = false;
      for (size_t i = 0; i < reference.axes().size(); ++i) {
        has_other |=
            i != last && reference.find(tv, i) != nullptr && info.extent(reference.axes()[i]) > 1;
      }
      shared &= has_other == (reference.find(tv, last) != nullptr);
    }
  }
  return !shared;
}

}  // namespace nvfuser::pointwise
