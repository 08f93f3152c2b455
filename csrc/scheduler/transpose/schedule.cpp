#include <scheduler/transpose/schedule.h>

#include <algorithm>
#include <map>
#include <set>

#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/utils.h>

namespace nvfuser::transpose {

namespace {

class Scheduler {
 public:
  Scheduler(Fusion* fusion, const TransposeParams& params) : fusion_(fusion), params_(params) {}

  void run() {
    scheduler_utils::clearMemorySpace(fusion_);
    auto* reference = fusion_->outputs()[static_cast<size_t>(params_.reference)]->as<TensorView>();
    const std::vector<TensorView*> windows = windowsOfInputs(*fusion_);
    copyInputs();
    for (size_t i = 0; i < params_.windows.size(); ++i) {
      if (!windows[i]->isFusionOutput()) {
        load(windows[i], params_.windows[i], contains(params_.turned_windows, i));
      }
    }
    copyOutputs();
    makeTiles(reference);
    for (TensorView* tv : fusion_->allTvs()) {
      if (!tv->isFusionInput() && loopAxes(tv) == tile_at_ + 2) {
        loopsOverTile(tv);
      }
    }
    for (auto [tv, width] : vectors_) {
      vectorizeInnermost(tv, width);
    }
    inlineMost();
    placeCopies();
  }

 private:
  void copyInputs() {
    std::map<const Val*, size_t> number;
    for (size_t i = 0; i < fusion_->inputs().size(); ++i) {
      number.emplace(fusion_->inputs()[i], i);
    }
    for (TensorView* copy : scheduler_utils::cacheInputs(fusion_, true)) {
      const size_t i = number.at(copy->definition()->input(0));
      load(copy, params_.inputs[i], contains(params_.turned_inputs, i));
    }
  }

  /// What is read from an input; along the other side it passes a tile.
  void load(TensorView* copy, int64_t width, bool is_turned) {
    vectors_.emplace_back(copy, width);
    loads_.push_back(copy);
    if (is_turned) {
      along_other_.insert(copy);
      TensorView* tile = params_.host ? copy : copy->cacheAfter();
      turned_.push_back(tile->cacheAfter());
      addTile(tile, true);
    }
  }

  void copyOutputs() {
    scheduler_utils::cacheAndForkOutputs(fusion_, true);
    std::set<const Val*> done;
    for (size_t i = 0; i < fusion_->outputs().size(); ++i) {
      auto* output = fusion_->outputs()[i]->as<TensorView>();
      if (output->isFusionInput() || !done.insert(output).second) {
        continue;
      }
      vectors_.emplace_back(output, params_.outputs[i]);
      if (contains(params_.turned_outputs, i)) {
        along_other_.insert(output);
        TensorView* turned = output->cacheBefore();
        along_other_.insert(turned);
        turned_.push_back(turned);
        addTile(turned->cacheBefore(), false);
      }
      if (params_.streaming) {
        scheduler_utils::streamCopy(output);
      }
    }
  }

  static bool contains(const std::vector<int64_t>& numbers, size_t number) {
    return std::find(numbers.begin(), numbers.end(), static_cast<int64_t>(number)) != numbers.end();
  }

  void addTile(TensorView* tile, bool along_other) {
    tile->setMemoryType(MemoryType::Shared);
    if (along_other) {
      along_other_.insert(tile);
    }
    tiles_.push_back(tile);
    const int64_t size = SchedulerRuntimeInfo::elementBytes(tile);
    if (!params_.host && (!along_other || !loads_.empty())) {
      const int64_t vector = along_other ? params_.other_vector : params_.compute_vector;
      vectors_.emplace_back(tile, std::min(vector, kMaxVectorBytes / size));
    }
  }

  /// All tensors as [blocks, other tile, compute tile] (tasks and their tiles on the CPU).
  void makeTiles(TensorView* reference) {
    axes_ = TensorDomain::noBroadcasts(reference->getLogicalDomain()).size();
    std::unordered_map<int64_t, int64_t> old2new;
    for (size_t i = 0; i < params_.order.size(); ++i) {
      old2new[params_.order[i]] = static_cast<int64_t>(i);
    }
    reference->reorder(old2new);
    const int64_t rest =
        static_cast<int64_t>(params_.order.size()) - params_.other_axes - params_.compute_axes;
    for (int64_t i = 1; i < params_.compute_axes; ++i) {
      reference->merge(rest + params_.other_axes);
    }
    for (int64_t i = 1; i < params_.other_axes; ++i) {
      reference->merge(rest);
    }
    reference->split(rest + 1, params_.compute_tile);
    reference->split(rest, params_.other_tile);
    reference->reorder({{rest + 1, rest + 2}, {rest + 2, rest + 1}});
    // [rest…, other tiles, compute tiles, other tile, compute tile]
    for (int64_t i = 0; i < rest + 1; ++i) {
      reference->merge(0);
    }
    if (params_.host) {
      reference->split(0, params_.tiles);
      tile_at_ = 2;
    }
    TransformPropagator propagator(reference);
    MaxLogicalDomainInfoSpanningTree(reference).traverse(&propagator);
    reference->axis(0)->parallelize(ParallelType::BIDx);
    scheduler_utils::parallelizeAllLike(reference, 1);
    if (!params_.host) {
      for (TensorView* tile : tiles_) {
        swizzle(tile);
      }
    }
  }

  /// The tile in memory: rows of units, the vectors in which it is written. Reading goes down a
  /// column of vectors of the other kind; their rows' units are exchanged so that they lie in
  /// different banks.
  void swizzle(TensorView* tile) const {
    const bool other = along_other_.count(tile) != 0;
    const int64_t written = other ? params_.other_vector : params_.compute_vector;
    const int64_t read = other ? params_.compute_vector : params_.other_vector;
    const int64_t length = other ? params_.other_tile : params_.compute_tile;
    const int64_t rows_of_tile = other ? params_.compute_tile : params_.other_tile;
    IterDomain* rows = tile->axis(tile_at_ + (other ? 1 : 0));
    IterDomain* row = tile->axis(tile_at_ + (other ? 0 : 1));
    std::vector<IterDomain*> memory{tile->axis(0)};
    auto split = [](IterDomain* id, int64_t factor) {
      return IterDomain::split(id, IrBuilder::create<Val>(factor, DataType::Index), true);
    };
    auto [groups, in_group] = split(rows, read);
    auto [outer, turned] = split(groups, std::min(rows_of_tile / read, length / written));
    auto [units, unit] = split(row, written);
    auto [turned_to, unit_at] = IterDomain::swizzle(SwizzleType::XOR, turned, units);
    memory.insert(memory.end(), {outer, turned_to, in_group, unit_at, unit});
    tile->setAllocationDomain(memory, true);
  }

  void loopsOverTile(TensorView* tv) const {
    const bool other = along_other_.count(tv) != 0;
    if (other) {
      tv->reorder({{tile_at_, tile_at_ + 1}, {tile_at_ + 1, tile_at_}});
    }
    if (params_.host) {
      tv->axis(tile_at_ + 1)->parallelize(ParallelType::TIDx);
      return;
    }
    tv->split(tile_at_ + 1, other ? params_.other_vector : params_.compute_vector);
    tv->merge(tile_at_);
    tv->split(tile_at_, params_.threads);
    tv->split(tile_at_, 1, false);
    // [blocks, 1, steps, threads, V]
    tv->axis(tile_at_)->parallelize(ParallelType::Unswitch);
    tv->axis(tile_at_ + 1)->parallelize(ParallelType::Unroll);
    tv->axis(tile_at_ + 2)->parallelize(ParallelType::TIDx);
  }

  void vectorizeInnermost(TensorView* tv, int64_t width) const {
    const int64_t elements =
        along_other_.count(tv) != 0 ? params_.other_vector : params_.compute_vector;
    if (params_.host || width < 2 || loopAxes(tv) != tile_at_ + 4) {
      return;
    }
    if (width < elements) {
      tv->split(tile_at_ + 3, width);
    }
    // Behind axes that no other tensor has, too: a vector is the innermost loop.
    tv->reorder({{loopAxes(tv) - 1, tv->nDims() - 1}});
    tv->axis(-1)->parallelize(ParallelType::Vectorize);
  }

  /// On a GPU all loads of a thread are under way before the first is used; on the CPU a tile is
  /// turned as a whole.
  void placeCopies() {
    MaxPosCalculator calc(*fusion_);
    for (TensorView* copy : params_.host ? turned_ : loads_) {
      const int64_t position = params_.host ? tile_at_ : tile_at_ + 1;
      if (copy->getComputeAtPosition() > position && hasAllAxes(copy)) {
        copy->inlineAt(position, true, &calc);
      }
    }
  }

  /// How many axes a tensor has without those behind that no other tensor has: broadcast axes of an
  /// input that are squeezed. (A loop for an axis of the tile that the tensor lacks counts.)
  static int64_t loopAxes(const TensorView* tv) {
    const auto& logical = tv->getLogicalDomain();
    int64_t count = tv->nDims();
    while (count > 0 && tv->axis(count - 1)->isBroadcast() &&
           std::find(logical.begin(), logical.end(), tv->axis(count - 1)) != logical.end()) {
      --count;
    }
    return count;
  }

  bool hasAllAxes(const TensorView* tv) const {
    return TensorDomain::noBroadcasts(tv->getLogicalDomain()).size() == axes_;
  }

  Fusion* fusion_;
  const TransposeParams& params_;
  std::set<const TensorView*> along_other_;
  std::vector<TensorView*> loads_;
  std::vector<TensorView*> tiles_;
  std::vector<TensorView*> turned_;  ///< copies that read a tile against its grain
  std::vector<std::pair<TensorView*, int64_t>> vectors_;
  size_t axes_ = 0;      ///< of the reference that are no broadcasts
  int64_t tile_at_ = 1;  ///< position of the tile's loops
};

}  // namespace

void schedule(Fusion* fusion, const TransposeParams& params) {
  FusionGuard guard(fusion);
  Scheduler(fusion, params).run();
}

}  // namespace nvfuser::transpose
