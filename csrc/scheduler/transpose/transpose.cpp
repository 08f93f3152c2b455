#include <scheduler/transpose/transpose.h>

#include <algorithm>

#include <id_model/id_graph.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/pointwise/pointwise.h>
#include <scheduler/pointwise/schedule.h>
#include <scheduler/transpose/schedule.h>
#include <scheduler/transpose/sides.h>
#include <support/round.h>
#include <support/text.h>

namespace nvfuser {

std::string TransposeParams::toString() const {
  return text("reference ", reference, ", order [", join(order, ", "), "], sides of ", other_axes,
              " and ", compute_axes, " axes, tile ", other_tile, " x ", compute_tile, ", V ",
              other_vector, " and ", compute_vector,
              host ? text(", ", tiles, " tiles a task") : text(", threads ", threads),
              streaming ? ", streaming" : "", ", inputs by [", join(inputs, ", "),
              "], outputs by [", join(outputs, ", "), "], turned inputs [",
              join(turned_inputs, ", "), "], turned outputs [", join(turned_outputs, ", "), "]",
              windows.empty() ? std::string()
                              : text(", windows by [", join(windows, ", "), "], turned windows [",
                                     join(turned_windows, ", "), "]"));
}

namespace {

constexpr int64_t kMostOfStep = 16;      ///< in one step of a thread
constexpr int64_t kThreadElements = 16;  ///< of a tile, for each thread
constexpr int64_t kThreadBytes = 256;    ///< loaded by a thread before it uses any
constexpr int64_t kMostThreadsOfTile = 1024;
constexpr int64_t kLeastTile = 8;   ///< elements along a side
constexpr int64_t kSmallTile = 32;  ///< down to which tiles shrink to occupy the device
constexpr int64_t kMostTile = 512;
constexpr int64_t kSmall = 32;  ///< a tensor this many times smaller lies in a cache, in any order
constexpr int64_t kHostTask = 8192;  ///< elements
constexpr int64_t kHostLine = 64;    ///< bytes
constexpr int64_t kHostLanes = 16;
constexpr int64_t kHostLongTile = 4;
/// Bytes from which lines that are written side by side push each other out of a cache's sets.
constexpr double kHostStream = 2 << 20;

/// What kernels read and write: inputs, or the windows through which these are read, and outputs.
std::vector<TensorView*> readAndWritten(const Fusion& fusion) {
  std::vector<TensorView*> tensors = borderTensors(fusion);
  std::erase_if(tensors, [](const TensorView* tv) { return readThroughWindows(tv); });
  for (TensorView* window : windowsOfInputs(fusion)) {
    if (!window->isFusionOutput()) {
      tensors.push_back(window);
    }
  }
  return tensors;
}

/// The axes in the order of memory. A window's are those of the input that it is read from.
std::vector<IterDomain*> memoryOf(const TensorView* tv) {
  if (!isWindow(tv)) {
    return tv->getMaybeAllocationDomain();
  }
  const auto* input = tv->definition()->input(0)->as<TensorView>();
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(input->getLogicalDomain());
  std::vector<IterDomain*> memory;
  for (const IterDomain* id : input->getMaybeAllocationDomain()) {
    const auto place = std::find(axes.begin(), axes.end(), id) - axes.begin();
    if (place < static_cast<std::ptrdiff_t>(axes.size())) {
      memory.push_back(tv->getLogicalDomain()[static_cast<size_t>(place)]);
    }
  }
  return memory;
}

/// Whether, whatever the sizes, all tensors lie along one axis (or something is reduced).
std::optional<Refusal> refusesLayouts(const Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    if (isReduction(expr)) {
      return Refusal{text(expr->output(0), " is reduced")};
    }
  }
  const IdGraph graph(fusion, IdGraph::Mode::Permissive);
  const IterDomain* first = nullptr;
  for (const TensorView* tv : readAndWritten(fusion)) {
    const std::vector<IterDomain*> memory = memoryOf(tv);
    for (size_t i = memory.size(); i-- > 0;) {
      if (memory[i]->isBroadcast() || memory[i]->isReduction()) {
        continue;
      }
      const auto* read = isWindow(tv) ? tv->definition()->input(0)->as<TensorView>() : tv;
      const bool strided = read->isFusionInput() && read->getContiguity().size() == memory.size() &&
                           !read->getContiguity()[i].value_or(true);
      if (first != nullptr && (strided || graph.classOf(first) != graph.classOf(memory[i]))) {
        return std::nullopt;
      }
      first = first == nullptr ? memory[i] : first;
      if (strided) {
        return std::nullopt;  // its strides may say anything
      }
      break;
    }
  }
  return Refusal{first == nullptr ? std::string("no tensor has more than one element")
                                  : text("all tensors lie in memory along one axis, ", first)};
}

class Planner {
 public:
  Planner(const Fusion& fusion, const ReferenceAxes& reference, const transpose::Sides& sides,
          SchedulerRuntimeInfo& info, TransposeParams& params)
      : fusion_(fusion),
        reference_(reference),
        sides_(sides),
        tensors_(readAndWritten(fusion)),
        info_(info),
        params_(params) {}

  void run() {
    for (const auto* part : {&sides_.rest, &sides_.other, &sides_.compute}) {
      params_.order.insert(params_.order.end(), part->begin(), part->end());
    }
    params_.other_axes = static_cast<int64_t>(sides_.other.size());
    params_.compute_axes = static_cast<int64_t>(sides_.compute.size());
    params_.host = info_.isHost();
    params_.host ? planHost() : planDevice();
    accesses(fusion_.inputs(), params_.inputs, params_.turned_inputs);
    const std::vector<TensorView*> windows = windowsOfInputs(fusion_);
    accesses({windows.begin(), windows.end()}, params_.windows, params_.turned_windows);
    accesses(fusion_.outputs(), params_.outputs, params_.turned_outputs);
  }

 private:
  bool isTurned(const TensorView* tv) const {
    return std::find(sides_.turned.begin(), sides_.turned.end(), tv) != sides_.turned.end();
  }

  int64_t widthOf(const TensorView* tv) const {
    if (isWindow(tv)) {
      const auto& side = isTurned(tv) ? sides_.other : sides_.compute;
      const IterDomain* along = reference_.find(tv, static_cast<size_t>(side.back()));
      return side.size() == 1 && along != nullptr ? windowWidth(tv, along, info_) : 1;
    }
    return reference_.vectorWidth(tv, isTurned(tv) ? sides_.other : sides_.compute, info_);
  }

  int64_t vector(bool turned, int64_t extent) const {
    int64_t width = 1;
    for (const TensorView* tv : tensors_) {
      width = isTurned(tv) == turned ? std::max(width, widthOf(tv)) : width;
    }
    width = std::min(width, kMostOfStep);
    while (extent % width != 0) {
      width /= 2;
    }
    return width;
  }

  void planHost() {
    int64_t least = kHostLine;
    for (const TensorView* tv : tensors_) {
      least = std::min(least, SchedulerRuntimeInfo::elementBytes(tv));
    }
    // Whole lines are written.
    const int64_t side = std::max(kHostLanes, kHostLine / least);
    params_.other_tile = params_.compute_tile = side;
    // Rows that begin inside a line share two lines a tile with their neighbours: longer pieces.
    if (sides_.other_extent * least % kHostLine != 0) {
      params_.other_tile *= kHostLongTile;
    }
    // Along the computed side pieces of rows are long enough to be fetched before they are asked
    // for; each single line would be waited for.
    const int64_t piece = side * (least < 4 ? 8 : 4);
    params_.compute_tile = std::clamp(ceilPow2(sides_.compute_extent), side, piece);
    params_.tiles = std::max<int64_t>(kHostTask / (params_.compute_tile * params_.other_tile), 1);
    params_.threads = 1;
    params_.streaming = sides_.bytes > kHostStream;
  }

  void planDevice() {
    params_.other_vector = vector(true, sides_.other_extent);
    params_.compute_vector = vector(false, sides_.compute_extent);
    int64_t largest = 1;        // of what is turned
    int64_t tile_bytes = 0;     // of an element in all tiles
    int64_t element_bytes = 0;  // of an element of everything that is loaded
    for (const TensorView* tv : tensors_) {
      const int64_t size = SchedulerRuntimeInfo::elementBytes(tv);
      if (isTurned(tv)) {
        largest = std::max(largest, size);
        tile_bytes += size;
      }
      element_bytes += tv->isFusionInput() || isWindow(tv) ? size : 0;
    }
    const bool vectors = params_.other_vector > 1 && params_.compute_vector > 1;
    const int64_t preferred = largest <= 2 ? (vectors ? 128 : 64) : largest <= 4 ? 64 : 32;
    const int64_t area = preferred * preferred;
    int64_t& other = params_.other_tile;
    int64_t& compute = params_.compute_tile;
    other = clampTile(preferred, sides_.other_extent, params_.other_vector);
    compute = clampTile(preferred, sides_.compute_extent, params_.compute_vector);
    // What a short side leaves, a long one takes.
    while (other * compute < area && compute < kMostTile && compute < sides_.compute_extent) {
      compute *= 2;
    }
    while (other * compute < area && other < kMostTile && other < sides_.other_extent) {
      other *= 2;
    }
    auto blocks = [&] {
      return sides_.rest_extent * ceilDiv(sides_.other_extent, other) *
             ceilDiv(sides_.compute_extent, compute);
    };
    auto shrink = [&](int64_t least) {
      int64_t& larger = other > compute ? other : compute;
      if (larger <= least) {
        return false;
      }
      larger /= 2;
      return true;
    };
    while (other * compute * tile_bytes > info_.device().shared_bytes_per_block &&
           shrink(kLeastTile * 2)) {
    }
    while (blocks() < 2 * info_.device().multiprocessors && shrink(kSmallTile)) {
    }
    const int64_t widest = std::max(params_.other_vector, params_.compute_vector);
    const int64_t elements =
        std::clamp<int64_t>(floorPow2(kThreadBytes / std::max<int64_t>(element_bytes, 1)), widest,
                            std::max(widest, kThreadElements));
    params_.threads = std::clamp(other * compute / elements,
                                 std::min(kWarpSize, other * compute / widest), kMostThreadsOfTile);
  }

  static int64_t clampTile(int64_t preferred, int64_t extent, int64_t vector) {
    return std::min(preferred, std::max({ceilPow2(extent), kLeastTile, vector}));
  }

  void accesses(const std::vector<Val*>& border, std::vector<int64_t>& widths,
                std::vector<int64_t>& turned) const {
    for (size_t i = 0; i < border.size(); ++i) {
      if (!border[i]->isA<TensorView>()) {
        widths.push_back(0);
        continue;
      }
      const auto* tv = border[i]->as<TensorView>();
      const bool other = isTurned(tv);
      const int64_t most = other ? params_.other_vector : params_.compute_vector;
      widths.push_back(params_.host ? 0 : std::min(most, widthOf(tv)));
      if (other) {
        turned.push_back(static_cast<int64_t>(i));
      }
    }
  }

  const Fusion& fusion_;
  const ReferenceAxes& reference_;
  const transpose::Sides& sides_;
  const std::vector<TensorView*> tensors_;
  SchedulerRuntimeInfo& info_;
  TransposeParams& params_;
};

class TransposeScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::Transpose; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    return refusesLayouts(fusion);
  }
  const SchedulerEntry* refusesAs() const override { return &pointwiseScheduler(); }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    auto params = std::make_unique<TransposeParams>();
    params->reference = pointwise::referenceOutput(fusion);
    const auto* output = fusion.outputs()[static_cast<size_t>(params->reference)]->as<TensorView>();
    const ReferenceAxes reference(fusion, output);
    std::vector<TensorView*> tensors = readAndWritten(fusion);
    const int64_t elements = info.extent(output->getLogicalDomain());
    std::erase_if(tensors, [&](const TensorView* tv) {
      return !reference.covers(tv) && kSmall * info.extent(tv->getLogicalDomain()) <= elements;
    });
    for (const TensorView* tv : tensors) {
      if (!reference.covers(tv)) {
        return Refusal{text(tv, " has an axis that ", output, " has not")};
      }
      for (size_t i = 0; i < reference.axes().size(); ++i) {
        const IterDomain* id = reference.find(tv, i);
        if (id != nullptr && info.extent(id) != info.extent(reference.axes()[i])) {
          return Refusal{text(tv, " is repeated along ", reference.axes()[i], " of ", output)};
        }
      }
    }
    auto sides = transpose::findSides(reference, tensors, info);
    if (auto* refusal = std::get_if<Refusal>(&sides)) {
      return std::move(*refusal);
    }
    Planner(fusion, reference, std::get<transpose::Sides>(sides), info, *params).run();
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    transpose::schedule(fusion, static_cast<const TransposeParams&>(params));
  }
};

}  // namespace

const SchedulerEntry& transposeScheduler() {
  static const TransposeScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
