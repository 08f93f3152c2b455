#include <scheduler/pointwise/loop_order.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <id_model/id_graph.h>
#include <iteration_space/refused_loops.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/analysis/sectors.h>
#include <scheduler/pointwise/schedule.h>

namespace nvfuser::pointwise {

namespace {

/// Whether the loops of a nest's reference are loops of all in it: checked on a scheduled copy.
std::optional<Refusal> refusesLoops(const Fusion& scheduled, const std::vector<LoopNest>& nests) {
  const IdGraph exact(scheduled, IdGraph::Mode::Exact);
  std::unordered_map<const TensorView*, const TensorView*> reference_of;
  for (const LoopNest& nest : nests) {
    for (size_t position : nest.outputs) {
      reference_of[scheduled.outputs()[position]->as<TensorView>()] =
          scheduled.outputs()[nest.reference]->as<TensorView>();
    }
  }
  for (const TensorView* tv : scheduled.allTvs()) {
    if (tv->isFusionInput()) {
      continue;
    }
    if (tv->isFusionOutput()) {
      const auto known = reference_of.find(tv);
      const TensorView* reference = known == reference_of.end() ? tv : known->second;
      if (!haveSameLoops(tv, reference, exact)) {
        return Refusal{text("output ", tv, " has not the axes of ", reference)};
      }
      continue;
    }
    // Broadcast axes behind the shared loops are one element.
    const auto& axes = tv->getLoopDomain();
    if (std::any_of(axes.begin() + tv->getComputeAtPosition(), axes.end(),
                    [](const IterDomain* id) { return !id->isBroadcast(); })) {
      return Refusal{text(tv, " is not read at the element that is computed")};
    }
  }
  if (auto why = refusedLoops(scheduled, exact, LowerTarget::Cuda)) {
    return Refusal{std::move(*why)};
  }
  return std::nullopt;
}

constexpr int64_t kWarp = 32;  ///< elements that are stored at once
/// Elements whose sectors a block has in its first cache: what one read of a sector leaves, another
/// one finds.
constexpr int64_t kBlock = 512;
/// Of the sectors, for another order than that of the largest tensor.
constexpr double kLess = 0.8;

/// Bytes of the sectors that loops in this order move for each byte of a tensor.
double sectorBytes(const ReferenceAxes& axes, const TensorView* tv,
                   const std::vector<int64_t>& order, SchedulerRuntimeInfo& info) {
  const Sectors moved = sectorsOf(axes, tv, order, 1, tv->isFusionOutput() ? kWarp : kBlock, info);
  const int64_t bytes = moved.places * SchedulerRuntimeInfo::elementBytes(tv);
  return static_cast<double>(moved.sectors * kSectorBytes) /
         static_cast<double>(std::max(bytes, kSectorBytes));
}

/// The order of memory of the tensors for which a GPU moves the fewest sectors; of nearly equal
/// ones that of the largest tensor.
std::vector<int64_t> orderOfFewestSectors(const ReferenceAxes& axes,
                                          const std::vector<TensorView*>& tensors,
                                          SchedulerRuntimeInfo& info) {
  std::vector<int64_t> best = axes.memoryOrderOfLargest(tensors, info);
  std::set<std::vector<int64_t>> others;
  for (const TensorView* tv : tensors) {
    if (axes.covers(tv)) {
      others.insert(axes.memoryOrder(tv, info));
    }
  }
  others.erase(best);
  const auto moved = [&](const std::vector<int64_t>& order) {
    double bytes = 0;
    for (const TensorView* tv : tensors) {
      if (axes.covers(tv)) {
        bytes += static_cast<double>(info.bytes(tv)) * sectorBytes(axes, tv, order, info);
      }
    }
    return bytes;
  };
  double least = others.empty() ? 0 : moved(best);
  for (const std::vector<int64_t>& order : others) {
    if (const double bytes = moved(order); bytes < kLess * least) {
      best = order;
      least = bytes;
    }
  }
  return best;
}

}  // namespace

std::vector<int64_t> orderAsDefined(const Fusion& fusion, int64_t reference) {
  const auto* tv = fusion.outputs()[static_cast<size_t>(reference)]->as<TensorView>();
  std::vector<int64_t> order(TensorDomain::noReductions(tv->getLogicalDomain()).size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::optional<Refusal> refusesOrder(const Fusion& fusion, const std::vector<LoopNest>& nests,
                                    int64_t reference, std::vector<int64_t> order) {
  Fusion copy(fusion);
  if (nests.size() > 1 && !separate(&copy, nests)) {
    std::string why = "outputs of different axes need the same random numbers";
    return Refusal{std::move(why)};
  }
  PointwiseParams trial;
  trial.reference = reference;
  trial.order = std::move(order);
  trial.vectorization = 4;
  schedule(&copy, trial);
  return refusesLoops(copy, nests);
}

std::vector<int64_t> loopOrder(const Fusion& fusion, int64_t reference, const ReferenceAxes& axes,
                               const std::vector<TensorView*>& tensors,
                               SchedulerRuntimeInfo& info) {
  const std::vector<int64_t> order = info.isHost() ? axes.memoryOrderOfLargest(tensors, info)
                                                   : orderOfFewestSectors(axes, tensors, info);
  const bool all_covered = std::all_of(tensors.begin(), tensors.end(),
                                       [&](const TensorView* tv) { return axes.covers(tv); });
  const std::vector<int64_t> as_defined = orderAsDefined(fusion, reference);
  const bool suits = all_covered || order == as_defined ||
                     !refusesOrder(fusion, loopNests(fusion), reference, order);
  return suits ? order : as_defined;
}

}  // namespace nvfuser::pointwise
