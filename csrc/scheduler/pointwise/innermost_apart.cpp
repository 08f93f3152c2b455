#include <scheduler/pointwise/innermost_apart.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/column_values.h>
#include <scheduler/analysis/reference_axes.h>

namespace nvfuser::pointwise {

namespace {

constexpr int64_t kShortAxis = 4;    ///< elements, at most
constexpr int64_t kJoinedAxis = 32;  ///< of one along which three tensors or more are joined
/// Additions for an element of each of the tensors. A vector along the joined axis computes all
/// parts for each of its elements; a loop for each place computes one, and stores it far from the
/// others.
constexpr int64_t kLeastCost = 64;
/// Places of each part on average, up to which parts are narrow: the runs that a vector along the
/// joined axis would read of each are shorter than any vector.
constexpr int64_t kNarrowPart = 2;

/// Whether a tensor has an axis of the reference and no other one.
bool hasAlone(const ReferenceAxes& reference, const TensorView* tv, size_t axis,
              SchedulerRuntimeInfo& info) {
  for (size_t i = 0; i < reference.axes().size(); ++i) {
    if (i != axis && reference.find(tv, i) != nullptr && info.extent(reference.axes()[i]) > 1) {
      return false;
    }
  }
  return reference.find(tv, axis) != nullptr;
}

/// Whether a tensor is read in steps, or backwards, along another axis than this one, which is
/// short: runs of memory are as short then, and none of them is a vector.
bool stepsBeside(const TensorView* tv, const IterDomain* axis) {
  if (tv->definition() == nullptr || !tv->definition()->isA<SliceOp>()) {
    return false;
  }
  const auto& logical = tv->getLogicalDomain();
  return std::any_of(logical.begin(), logical.end(), [&](const IterDomain* id) {
    const auto* resize = dynamic_cast<const Resize*>(id->definition());
    return id != axis && resize != nullptr && resize->step() != 1;
  });
}

/// How often one of two tensors is chosen by the place along an axis alone.
int64_t choicesAlong(const ReferenceAxes& reference, const std::unordered_set<TensorView*>& tensors,
                     size_t axis, SchedulerRuntimeInfo& info) {
  int64_t choices = 0;
  for (const TensorView* tv : tensors) {
    if (const auto* joined = dynamic_cast<const CatOp*>(tv->definition())) {
      const auto place = static_cast<size_t>(joined->concatenatedDim());
      const bool along = reference.find(tv, axis) == tv->getLogicalDomain()[place];
      choices += along ? static_cast<int64_t>(joined->inputs().size()) - 1 : 0;
      continue;
    }
    const auto* op = dynamic_cast<const TernaryOp*>(tv->definition());
    const auto* condition = op == nullptr || op->getTernaryOpType() != TernaryOpType::Where
                                ? nullptr
                                : dynamic_cast<const TensorView*>(op->in1());
    choices += condition != nullptr && !condition->isFusionInput() &&
               hasAlone(reference, condition, axis, info);
  }
  return choices;
}

/// Of what has the axis and others. What lacks it, as numbers that are stacked, is computed once
/// for all of its places.
int64_t costAlong(const ReferenceAxes& reference, const std::unordered_set<TensorView*>& tensors,
                  size_t axis, SchedulerRuntimeInfo& info) {
  return std::accumulate(
      tensors.begin(), tensors.end(), int64_t{0}, [&](int64_t cost, const TensorView* tv) {
        const Expr* def = tv->definition();
        const bool counts = def != nullptr && reference.find(tv, axis) != nullptr &&
                            !hasAlone(reference, tv, axis, info);
        return cost + (counts ? costOfElement(def) : 0);
      });
}

/// Whether it pays that each loop along a longer axis computes one of the parts that are joined.
bool joinsApart(const ReferenceAxes& reference, const std::unordered_set<TensorView*>& tensors,
                size_t axis, int64_t elements, SchedulerRuntimeInfo& info) {
  const int64_t choices = choicesAlong(reference, tensors, axis, info);
  return choices >= 2 && (elements <= kNarrowPart * (choices + 1) ||
                          costAlong(reference, tensors, axis, info) >= kLeastCost);
}

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
    const auto tensors = tensorsOf(fusion, nest);
    if (elements < 2 || elements > kJoinedAxis ||
        (elements > kShortAxis && !joinsApart(reference, tensors, last, elements, info))) {
      return false;
    }
    for (const TensorView* tv : tensors) {
      bool has_other = false;
      for (size_t i = 0; i < reference.axes().size(); ++i) {
        has_other |=
            i != last && reference.find(tv, i) != nullptr && info.extent(reference.axes()[i]) > 1;
      }
      const IterDomain* along = reference.find(tv, last);
      shared &= has_other == (along != nullptr) && !stepsBeside(tv, along);
    }
  }
  return !shared;
}

}  // namespace nvfuser::pointwise
