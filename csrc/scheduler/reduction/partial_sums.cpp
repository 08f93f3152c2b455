#include <scheduler/reduction/partial_sums.h>

#include <algorithm>

#include <ir/axis_map.h>
#include <scheduler/reduction/loops.h>
#include <scheduler/rfactor.h>
#include <scheduler/utils.h>

namespace nvfuser::reduction {

namespace {

class PartialSums {
 public:
  PartialSums(Fusion* fusion, const ReductionParams& params) : fusion_(fusion), params_(params) {}

  std::optional<Refusal> keep() {
    keepChunks(params_.host ? keepLanes() : scheduler_utils::getReductionTvs(fusion_));
    return refusal_;
  }

 private:
  /// The reduction of these loops, which another one goes on with. Where that cannot be, why, and
  /// the tensor.
  TensorView* factor(TensorView* tv, const std::vector<int64_t>& loops) {
    if (const auto problem = refusal_ ? std::nullopt : refusesRFactor(tv, loops)) {
      refusal_ = Refusal{problem->what};
    }
    return refusal_ ? tv : tv->rFactor(loops, tensorOutputs(tv->definition())).front();
  }

  /// A row, or a task's share of it, is reduced into V partial results, which are reduced at its
  /// end. The reductions over steps, of lanes or whole.
  std::vector<TensorView*> keepLanes() {
    std::vector<TensorView*> of_steps = scheduler_utils::getReductionTvs(fusion_);
    if (params_.grid > 1) {
      for (TensorView*& of_row : of_steps) {
        std::vector<int64_t> own = reductionLoops(of_row);
        std::erase_if(own, [&](int64_t axis) { return of_row->axis(axis)->isBlockDim(); });
        of_row = factor(of_row, own);
      }
    }
    if (!params_.fastest_dim || params_.vectorization == 1) {
      return of_steps;
    }
    for (TensorView*& of_row : of_steps) {
      TensorView* tv = of_row;
      std::vector<int64_t> axes = reductionLoops(tv);
      axes.resize(std::max<size_t>(axes.size(), 1) - 1);
      of_row = factor(tv, axes);
      if (!refusal_ && params_.vectorization > kLanes) {
        // [rows…, V]: whole registers are combined first.
        const int64_t lanes = reductionLoops(tv).back();
        tv->split(lanes, kLanes);
        factor(tv, {lanes});
      }
    }
    return of_steps;
  }

  /// Chunks of steps are reduced apart: sums of many elements one by one lose digits.
  void keepChunks(const std::vector<TensorView*>& of_steps) {
    if (params_.chunk == 0 && params_.chunk_runs == 0) {
      return;
    }
    for (TensorView* tv : of_steps) {
      // Loops of one task or thread: [chunks, steps, …] of columns, [(runs,) chunks, steps, …] of
      // rows or [chunks, runs, steps, …].
      std::vector<int64_t> axes = reductionLoops(tv);
      std::erase_if(axes, [&](int64_t axis) { return tv->axis(axis)->isThread(); });
      const bool in_runs = params_.schedule_3d && params_.fastest_dim && params_.chunk > 0;
      const size_t outer = std::min<size_t>(in_runs ? 2 : 1, axes.size());
      factor(tv, {axes.begin() + static_cast<std::ptrdiff_t>(outer), axes.end()});
    }
  }

  Fusion* fusion_;
  const ReductionParams& params_;
  std::optional<Refusal> refusal_;
};

}  // namespace

std::vector<int64_t> reductionLoops(const TensorView* tv) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < tv->nDims(); ++i) {
    if (tv->axis(i)->isReduction()) {
      positions.push_back(i);
    }
  }
  return positions;
}

std::optional<Refusal> keepPartialSums(Fusion* fusion, const ReductionParams& params) {
  return PartialSums(fusion, params).keep();
}

}  // namespace nvfuser::reduction
