#include <scheduler/scan/schedule.h>

#include <algorithm>
#include <map>

#include <id_model/id_graph.h>
#include <ir/axis_map.h>
#include <ir/scan_loops.h>
#include <iteration_space/refused_loops.h>
#include <scheduler/analysis/own_loops.h>
#include <scheduler/utils.h>

namespace nvfuser::scans {

namespace {

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const ScanParams& params) : fusion_(fusion), params_(params) {}

  void run() {
    scheduler_utils::clearMemorySpace(fusion_);
    copyAtBorders();
    reference_ = fusion_->outputs()[static_cast<size_t>(params_.reference)]->as<TensorView>();
    const std::vector<ParallelType> types = params_.rows() ? rowLoops() : columnLoops();
    TransformPropagator propagator(reference_);
    MaxLogicalDomainInfoSpanningTree(reference_).traverse(&propagator);
    for (size_t i = 0; i < types.size(); ++i) {
      reference_->axis(static_cast<int64_t>(i))->parallelize(types[i]);
    }
    scheduler_utils::parallelizeAllLike(reference_);
    if (params_.host) {
      scanOneByOne();
    } else {
      vectorize();
    }
    inlineAll();
  }

 private:
  void copyAtBorders() {
    std::map<const Val*, int64_t> width_of;
    for (size_t i = 0; i < params_.inputs.size(); ++i) {
      width_of[fusion_->inputs()[i]] = params_.inputs[i];
    }
    if (!params_.host) {
      loads_ = scheduler_utils::cacheInputs(fusion_, true);
      for (TensorView* copy : loads_) {
        const auto width = width_of.find(copy->definition()->input(0));
        vectors_.emplace_back(copy, width == width_of.end() ? 0 : width->second);
      }
    }
    scheduler_utils::cacheAndForkOutputs(fusion_, !params_.host);
    for (Val* output : params_.host ? fusion_->outputs() : std::vector<Val*>()) {
      // What is scanned one by one has loops of its own.
      if (scanOf(output->as<TensorView>()) != nullptr && !output->isFusionInput()) {
        output->as<TensorView>()->cacheBefore();
      }
    }
    for (size_t i = 0; i < params_.outputs.size(); ++i) {
      vectors_.emplace_back(fusion_->outputs()[i]->as<TensorView>(), params_.outputs[i]);
    }
  }

  /// [others?, axis, columns?]
  void mergeAxes() {
    std::unordered_map<int64_t, int64_t> old2new;
    for (size_t i = 0; i < params_.order.size(); ++i) {
      old2new[params_.order[i]] = static_cast<int64_t>(i);
    }
    reference_->reorder(old2new);
    while (reference_->nDims() > params_.along + 2) {
      reference_->merge(params_.along + 1);
    }
    for (int64_t i = 1; i < params_.along; ++i) {
      reference_->merge(0);
    }
  }

  std::vector<ParallelType> rowLoops() {
    mergeAxes();
    std::vector<ParallelType> types;
    if (params_.along > 0) {
      types.push_back(ParallelType::BIDx);
      if (params_.host) {
        reference_->split(0, params_.lines);
        reference_->split(0, params_.tasks, false);
        types.push_back(ParallelType::Serial);
        splitAxis(ParallelType::TIDx, types);
        // [tasks, rows / Y, axis / V, Y, V]
        reference_->reorder({{2, 3}, {3, 2}});
        types.insert(types.begin() + shared_, ParallelType::Serial);
        return types;
      }
      if (params_.lines > 1) {
        reference_->split(0, params_.lines);
        types.push_back(ParallelType::TIDy);
      }
    }
    splitAxis(ParallelType::TIDx, types);
    return types;
  }

  std::vector<ParallelType> columnLoops() {
    mergeAxes();
    const int64_t columns = reference_->nDims() - 1;
    reference_->split(columns, params_.lines);
    reference_->reorder(
        {{columns, columns - 1}, {columns - 1, columns + 1}, {columns + 1, columns}});
    if (columns > 1) {
      reference_->merge(0);
    }
    // [columns / X, X, axis]
    std::vector<ParallelType> types{ParallelType::BIDx};
    if (params_.host) {
      reference_->split(0, params_.tasks, false);
      reference_->reorder({{2, 3}, {3, 2}});
      types.insert(types.end(), {ParallelType::Serial, ParallelType::Serial, ParallelType::TIDx});
      shared_ = 4;
      return types;
    }
    types.push_back(ParallelType::TIDx);
    splitAxis(ParallelType::TIDy, types);
    return types;
  }

  /// The last axis, which is scanned.
  void splitAxis(ParallelType threads, std::vector<ParallelType>& types) {
    int64_t at = reference_->nDims() - 1;
    reference_->split(at, params_.items);
    types.push_back(ParallelType::Serial);
    if (params_.threads > 1) {
      reference_->split(at++, params_.threads);
      types.push_back(threads);
    }
    // (Threads are loops of vectors on the CPU.)
    types.push_back(params_.host ? threads : ParallelType::Serial);
    shared_ = static_cast<int64_t>(types.size()) - 1;
  }

  /// On the CPU, where a row's elements are scanned one by one in a loop of their own, those of
  /// several rows in turn: none waits for the sum in front of it.
  void scanOneByOne() {
    for (TensorView* tv : fusion_->allTvs()) {
      // (What did not get the loops of the reference is refused.)
      if (!params_.rows() || scanOf(tv) == nullptr || tv->nDims() != reference_->nDims()) {
        continue;
      }
      tv->axis(-1)->parallelize(ParallelType::Serial);
      if (tv->nDims() > shared_ + 1) {
        tv->setAllocationDomain(tv->getLoopDomain(), true);  // readers go along rows
        tv->reorder({{shared_, shared_ + 1}, {shared_ + 1, shared_}});
        tv->axis(-1)->parallelize(ParallelType::Unroll);
      }
      // A step of whole elements has no conditions.
      tv->split(shared_, 1, false);
      tv->axis(shared_)->parallelize(ParallelType::Unswitch);
      held_[tv] = shared_;
      if (const TensorView* in = producersOf(tv).front(); !in->isFusionInput()) {
        held_[in] = shared_;
      }
    }
  }

  void vectorize() {
    std::vector<TensorView*> nest = fusion_->allTvs();
    std::erase_if(nest, [](const TensorView* tv) { return tv->isFusionInput(); });
    const OwnLoops own(*fusion_, reference_, nest);
    std::erase_if(vectors_, [&](const auto& vector) {
      return scanOf(vector.first) != nullptr || !own.mayHaveInnermost(vector.first);
    });
    std::erase_if(loads_, [&](const TensorView* tv) { return !own.mayHave(tv, shared_); });
    for (auto [tv, width] : vectors_) {
      vectorizeInnermost(tv, width, params_.items);
    }
    // The loads of a step are in flight together.
    for (const TensorView* tv : loads_) {
      held_[tv] = shared_;
    }
  }

  void inlineAll() {
    MaxPosCalculator most(*fusion_, held_);
    for (TensorView* tv : fusion_->allTvs()) {
      tv->inlineAt(-1, true, &most);
    }
  }

  Fusion* fusion_;
  const ScanParams& params_;
  TensorView* reference_ = nullptr;
  std::vector<TensorView*> loads_;
  std::vector<std::pair<TensorView*, int64_t>> vectors_;
  std::unordered_map<const TensorView*, int64_t> held_;
  int64_t shared_ = 0;  ///< position of the loop behind which all is of a constant size
};

}  // namespace

void schedule(Fusion* fusion, const ScanParams& params) {
  FusionGuard guard(fusion);
  Scheduler(fusion, params).run();
}

std::optional<Refusal> refusesLoops(const Fusion& scheduled, const ScanParams& params) {
  const IdGraph exact(scheduled, IdGraph::Mode::Exact);
  const auto* reference =
      scheduled.outputs()[static_cast<size_t>(params.reference)]->as<TensorView>();
  std::vector<TensorView*> nest = scheduled.allTvs();
  std::erase_if(nest, [](const TensorView* tv) { return tv->isFusionInput(); });
  const OwnLoops own(scheduled, reference, nest);
  for (const TensorView* tv : scheduled.allTvs()) {
    if (tv->isFusionInput()) {
      continue;
    }
    if (scanOf(tv) != nullptr) {
      if (tv->nDims() < reference->nDims()) {
        return Refusal{text(tv, " has not the axes of ", reference)};
      }
      if (const ScanLoops along = scanLoops(tv); !along.broken.empty()) {
        return Refusal{text(tv, ": ", along.broken)};
      }
    }
    if (tv->isFusionOutput()) {
      if (!haveSameLoops(tv, reference, exact)) {
        return Refusal{text("output ", tv, " has not the axes of ", reference)};
      }
      continue;
    }
    const auto& axes = tv->getLoopDomain();
    if (std::any_of(axes.begin() + tv->getComputeAtPosition(), axes.end(),
                    [](const IterDomain* id) {
                      return !id->isBroadcast() && !id->extent()->isConstInt();
                    })) {
      return Refusal{text(tv, " is not read at the element that is computed")};
    }
    if (scanOf(tv) == nullptr && !own.mayHave(tv, tv->getComputeAtPosition())) {
      return Refusal{text(tv, " shares loops with a tensor that has more axes in them")};
    }
  }
  if (auto why =
          refusedLoops(scheduled, exact, params.host ? LowerTarget::Cpu : LowerTarget::Cuda)) {
    return Refusal{std::move(*why)};
  }
  return std::nullopt;
}

}  // namespace nvfuser::scans
