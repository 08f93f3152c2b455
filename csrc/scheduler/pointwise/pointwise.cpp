#include <scheduler/pointwise/pointwise.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include <id_model/id_graph.h>
#include <ir/external_ops.h>
#include <ir/internal_nodes.h>
#include <iteration_space/refused_loops.h>
#include <scheduler/analysis/cache_lines.h>
#include <scheduler/analysis/column_values.h>
#include <scheduler/analysis/elements_of_accesses.h>
#include <scheduler/analysis/operations.h>
#include <scheduler/analysis/reference_axes.h>
#include <scheduler/analysis/windows.h>
#include <scheduler/indexed_reads.h>
#include <scheduler/pointwise/choose_block.h>
#include <scheduler/pointwise/choose_rows.h>
#include <scheduler/pointwise/choose_windows.h>
#include <scheduler/pointwise/innermost_apart.h>
#include <scheduler/pointwise/loop_nests.h>
#include <scheduler/pointwise/loop_order.h>
#include <scheduler/pointwise/schedule.h>
#include <scheduler/pointwise/short_rows.h>
#include <support/round.h>

namespace nvfuser {

std::string PointwiseParams::toString() const {
  return text("reference ", reference, ", order [", join(order, ", "), "], break point ",
              break_point, ", V ", vectorization, ", threads ", threads_x, " x ", threads_y,
              rows > 1 ? text(", rows ", rows) : std::string(),
              apart ? ", innermost axis apart" : "", short_rows ? ", whole short rows" : "",
              row_values ? ", values of rows first" : "",
              column_values ? ", values of columns first" : "", flip_grid ? ", flipped grid" : "",
              streaming ? ", streaming" : "", ", inputs by [", join(inputs, ", "),
              "], outputs by [", join(outputs, ", "), "]",
              windows.empty() ? std::string() : text(", windows by [", join(windows, ", "), "]"));
}

namespace {

constexpr int64_t kThreads = 128;      ///< of a block on a GPU
constexpr int64_t kMostLoaded = 96;    ///< for the elements that a thread has loaded
constexpr int64_t kHostTile = 8192;    ///< elements of a task on the CPU
constexpr int64_t kLeastHostRow = 16;  ///< elements, for a loop of its own
constexpr int64_t kMostHostRows = 64;  ///< short ones, of a task on the CPU
constexpr int64_t kApartTile = 2048;   ///< elements of a task along the others
constexpr int64_t kHostLineBytes = 64;
constexpr int64_t kMostGridY = 65535;

constexpr int64_t kMostOfRows = 4;  ///< elements of a thread in a block of several rows

constexpr size_t kMostNests = 8;

/// Whether a kernel can have these loop nests: of one number of axes, sharing inputs alone.
std::optional<Refusal> refusesNests(const Fusion& fusion,
                                    const std::vector<pointwise::LoopNest>& nests) {
  auto reference = [&](const pointwise::LoopNest& nest) {
    return fusion.outputs()[nest.reference]->as<TensorView>();
  };
  const auto rank = [&](const pointwise::LoopNest& nest) {
    return TensorDomain::noReductions(reference(nest)->getLogicalDomain()).size();
  };
  auto other = nests.size() > kMostNests ? std::prev(nests.end()) : nests.begin();
  while (other != nests.end() && nests.size() <= kMostNests && rank(*other) == rank(nests[0])) {
    ++other;
  }
  if (other == nests.end()) {
    return std::nullopt;
  }
  std::string why =
      text("output ", reference(*other), " has not the axes of ", reference(nests.front()));
  return Refusal{std::move(why)};
}

/// Bytes that cross memory if the axes are cut after `left` of them: a tensor is read again for
/// each part of the other side that it does not depend on.
double bytesMoved(const ReferenceAxes& reference, const std::vector<TensorView*>& tensors,
                  const std::vector<int64_t>& order, size_t left, SchedulerRuntimeInfo& info) {
  double total = 0;
  for (const TensorView* tv : tensors) {
    double sides[2] = {1, 1};
    bool complete[2] = {true, true};
    double whole[2] = {1, 1};
    for (size_t k = 0; k < order.size(); ++k) {
      const auto axis = static_cast<size_t>(order[k]);
      const double extent = static_cast<double>(info.extent(reference.axes()[axis]));
      const int side = k < left ? 0 : 1;
      whole[side] *= extent;
      if (reference.find(tv, axis) != nullptr) {
        sides[side] *= extent;
      } else if (extent > 1) {
        complete[side] = false;
      }
    }
    // A side that has some of its axes is walked whole.
    for (int side = 0; side < 2; ++side) {
      if (!complete[side] && sides[side] > 1) {
        sides[side] = whole[side];
      }
    }
    total += sides[0] * sides[1] *
             static_cast<double>(dataTypeSizeByte(
                 tv->dtype() == DataType::Index ? info.getIndexType() : tv->dtype()));
  }
  return total;
}

/// What kernels of a GPU move: inputs that are read at an index count as what is read of them.
std::vector<TensorView*> withReads(const std::vector<TensorView*>& tensors,
                                   const std::unordered_set<TensorView*>& nest) {
  std::vector<TensorView*> result;
  for (TensorView* tv : tensors) {
    if (!scheduler_tools::isReadAtIndex(tv)) {
      result.push_back(tv);
      continue;
    }
    for (const Expr* use : tv->fusion()->usesOf(tv)) {
      auto* read = use->output(0)->as<TensorView>();
      if (nest.count(read) != 0) {
        result.push_back(read);
      }
    }
  }
  return result;
}

class PointwiseScheduler : public SchedulerEntry {
 public:
  SchedulerType type() const override { return SchedulerType::PointWise; }

  std::optional<Refusal> refusesForm(const Fusion& fusion) const override {
    if (auto refusal = refusesOperations(fusion, isExternalOp)) {
      return refusal;
    }
    const int64_t output = pointwise::referenceOutput(fusion);
    if (output < 0) {
      return Refusal{"no tensor is computed"};
    }
    const std::vector<pointwise::LoopNest> nests = pointwise::loopNests(fusion);
    if (auto refusal = refusesNests(fusion, nests)) {
      return refusal;
    }
    return pointwise::refusesOrder(fusion, nests, output,
                                   pointwise::orderAsDefined(fusion, output));
  }

  Plan plan(const Fusion& fusion, SchedulerRuntimeInfo& info) const override {
    auto params = std::make_unique<PointwiseParams>();
    params->reference = pointwise::referenceOutput(fusion);
    const auto* output = fusion.outputs()[static_cast<size_t>(params->reference)]->as<TensorView>();
    const ReferenceAxes reference(fusion, output);
    // The loops are chosen for the first nest; others have them with extents of their own.
    const std::vector<pointwise::LoopNest> nests = pointwise::loopNests(fusion);
    const std::unordered_set<TensorView*> first = pointwise::tensorsOf(fusion, nests.front());
    std::vector<TensorView*> tensors = borderTensors(fusion);
    std::erase_if(tensors,
                  [&](TensorView* tv) { return first.count(tv) == 0 || readThroughWindows(tv); });
    std::vector<TensorView*> windows = windowsOfInputs(fusion);
    std::erase_if(windows, [&](TensorView* tv) { return first.count(tv) == 0; });
    const std::vector<TensorView*> moved = info.isHost() ? tensors : withReads(tensors, first);
    const auto covers = [&](const TensorView* tv) { return reference.covers(tv); };
    const bool all_covered = std::all_of(moved.begin(), moved.end(), covers);
    std::vector<TensorView*> covered = tensors;
    std::erase_if(covered, [&](const TensorView* tv) { return !covers(tv); });
    params->order = pointwise::loopOrder(fusion, params->reference, reference, tensors, info);
    params->apart =
        info.isHost() && pointwise::isInnermostApart(fusion, nests, params->order, info);
    if (info.isHost() && std::all_of(tensors.begin(), tensors.end(), [&](const TensorView* tv) {
          return reference.covers(tv) || scheduler_tools::isReadAtIndex(tv);
        })) {
      chooseHostBreakPoint(reference, tensors, info, *params);
    } else if (all_covered) {
      chooseBreakPoint(reference, moved, largest(covered, info), info, *params);
    }
    if (all_covered || info.isHost()) {
      pointwise::cutForWindows(fusion, reference, windows, info, *params);
    }
    const bool is_cut = params->break_point > 0 && !windows.empty();
    const int64_t rows_of_block = chooseBlock(fusion, reference, tensors, is_cut, info, *params);
    chooseVectors(fusion, reference, tensors, windows, rows_of_block, info, *params);
    if (!info.isHost() &&
        pointwise::takesShortRows(fusion, nests, params->order, params->vectorization, info)) {
      auto whole = wholeShortRows(fusion, reference, tensors, info, *params);
      params = whole == nullptr ? std::move(params) : std::move(whole);
    }
    pointwise::chooseRows(fusion, reference, first, info, *params);
    params->row_values = info.isHost() && params->break_point > 0 && !params->apart;
    params->column_values = params->row_values && params->threads_y > 1 &&
                            columnsOf(reference, *params, info) <= kMostHeldColumns;
    params->flip_grid = flipsGrid(reference, info, *params);
    pointwise::chooseWindows(fusion, nests, info, *params);
    // What stands in front of the rows has loops of its own, which not all shared loops lead on to.
    params->column_values = params->column_values && !refuses(fusion, *params, LowerTarget::Cpu);
    if (params->rows > 1 && refuses(fusion, *params, LowerTarget::Cuda)) {
      params->rows = 1;
    }
    std::unordered_set<TensorView*> seen = first;
    for (size_t n = 1; n < nests.size(); ++n) {
      narrow(fusion, nests[n], seen, info, *params);
    }
    return params;
  }

  void schedule(Fusion* fusion, const HeuristicParams& params) const override {
    pointwise::schedule(fusion, static_cast<const PointwiseParams&>(params));
  }

 private:
  static bool refuses(const Fusion& fusion, const PointwiseParams& params, LowerTarget target) {
    Fusion scheduled(fusion);
    pointwise::schedule(&scheduled, params);
    const IdGraph exact(scheduled, IdGraph::Mode::Exact);
    return refusedLoops(scheduled, exact, target).has_value();
  }

  /// Elements right of the cut.
  static int64_t columnsOf(const ReferenceAxes& reference, const PointwiseParams& params,
                           SchedulerRuntimeInfo& info) {
    int64_t columns = 1;
    for (size_t k = static_cast<size_t>(params.break_point); k < params.order.size(); ++k) {
      columns *= info.extent(reference.axes()[static_cast<size_t>(params.order[k])]);
    }
    return columns;
  }

  static const TensorView* largest(const std::vector<TensorView*>& tensors,
                                   SchedulerRuntimeInfo& info) {
    return *std::max_element(
        tensors.begin(), tensors.end(),
        [&](const TensorView* a, const TensorView* b) { return info.bytes(a) < info.bytes(b); });
  }

  /// `most`: the largest tensor.
  static void chooseBreakPoint(const ReferenceAxes& reference,
                               const std::vector<TensorView*>& tensors, const TensorView* most,
                               SchedulerRuntimeInfo& info, PointwiseParams& params) {
    const double one_dimensional = bytesMoved(reference, tensors, params.order, 0, info);
    double best = one_dimensional * 0.9;  // two dimensions have to gain something
    int64_t right = 1;
    for (size_t left = params.order.size(); left-- > 1;) {
      right *= info.extent(reference.axes()[static_cast<size_t>(params.order[left])]);
      if (right < info.device().warp_size) {
        continue;
      }
      const double bytes = bytesMoved(reference, tensors, params.order, left, info);
      if (bytes < best) {
        best = bytes;
        params.break_point = static_cast<int64_t>(left);
      }
    }
    // Rows of an odd length are read element by element; all of them as one axis are not, but for
    // those of what is broadcast, which is small.
    const auto cut = params.order.begin() + params.break_point;
    if (params.break_point > 0 && reference.vectorWidth(most, {cut, params.order.end()}, info) <
                                      reference.vectorWidth(most, params.order, info, true)) {
      params.break_point = 0;
    }
  }

  /// Several rows for a block where they share what is read, and a kernel can have them.
  /// `is_cut`: for the rows of windows.
  static int64_t chooseBlock(const Fusion& fusion, const ReferenceAxes& reference,
                             const std::vector<TensorView*>& tensors, bool is_cut,
                             SchedulerRuntimeInfo& info, PointwiseParams& params) {
    if (info.isHost() || is_cut) {
      return 1;
    }
    const int64_t rows = pointwise::rowsOfBlock(reference, tensors, info, params);
    if (rows > 1) {
      PointwiseParams trial = params;
      trial.break_point = static_cast<int64_t>(params.order.size()) - 1;
      trial.threads_x = pointwise::kBlockColumns;
      trial.threads_y = rows;
      if (refuses(fusion, trial, LowerTarget::Cuda)) {
        return 1;
      }
      params.break_point = trial.break_point;
    }
    return rows;
  }

  /// On the CPU nothing hides the divisions by which an element's place in a tensor is found that
  /// is no run along the loops, and vectors cannot do them: the longest loops along which the most
  /// tensors are runs.
  static void chooseHostBreakPoint(const ReferenceAxes& reference,
                                   const std::vector<TensorView*>& tensors,
                                   SchedulerRuntimeInfo& info, PointwiseParams& params) {
    const std::vector<int64_t> order(params.order.begin(), params.order.end() - params.apart);
    const auto runs = [&](size_t left) {
      const std::vector<int64_t> inner(order.begin() + static_cast<std::ptrdiff_t>(left),
                                       order.end());
      return std::count_if(tensors.begin(), tensors.end(),
                           [&](const TensorView* tv) { return reference.isRun(tv, inner, info); });
    };
    auto most = runs(0);
    int64_t right = 1;
    for (const int64_t axis : order) {
      right *= info.extent(reference.axes()[static_cast<size_t>(axis)]);
    }
    for (size_t left = 1; left < order.size() && right > 0; ++left) {
      right /= info.extent(reference.axes()[static_cast<size_t>(order[left - 1])]);
      if (right >= kLeastHostRow && runs(left) > most) {
        most = runs(left);
        params.break_point = static_cast<int64_t>(left);
      }
    }
  }

  /// Whether the left part has more blocks than the grid's y dimension.
  static bool flipsGrid(const ReferenceAxes& reference, SchedulerRuntimeInfo& info,
                        const PointwiseParams& params) {
    int64_t left = 1;
    for (int64_t k = 0; k < params.break_point; ++k) {
      const auto axis = static_cast<size_t>(params.order[static_cast<size_t>(k)]);
      left *= info.extent(reference.axes()[axis]);
    }
    return params.break_point > 0 && ceilDiv(left, params.threads_y * params.rows) > kMostGridY;
  }

  /// Widths that suit the tensors of a further nest, too.
  static void narrow(const Fusion& fusion, const pointwise::LoopNest& nest,
                     std::unordered_set<TensorView*>& seen, SchedulerRuntimeInfo& info,
                     PointwiseParams& params) {
    const ReferenceAxes reference(fusion, fusion.outputs()[nest.reference]->as<TensorView>());
    const std::unordered_set<TensorView*> own = pointwise::tensorsOf(fusion, nest);
    const std::vector<int64_t> inner(
        params.short_rows ? params.order.end() - 1 : params.order.begin() + params.break_point,
        params.order.end());
    auto width = [&](Val* val, int64_t& known) {
      auto* tv = val->isA<TensorView>() ? val->as<TensorView>() : nullptr;
      if (tv == nullptr || own.count(tv) == 0) {
        return;
      }
      const int64_t fits = std::min(params.vectorization, reference.vectorWidth(tv, inner, info));
      known = seen.insert(tv).second ? fits : std::min(known, fits);
    };
    for (size_t i = 0; i < fusion.inputs().size(); ++i) {
      width(fusion.inputs()[i], params.inputs[i]);
    }
    for (size_t i = 0; i < fusion.outputs().size(); ++i) {
      width(fusion.outputs()[i], params.outputs[i]);
    }
  }

  /// Outputs that no cache could hold do not push out what is read again; whole lines of them are
  /// not read before they are written.
  static bool streams(const Fusion& fusion, const ReferenceAxes& reference,
                      const std::vector<int64_t>& inner, int64_t right,
                      SchedulerRuntimeInfo& info) {
    int64_t bytes = 0;
    for (const TensorView* tv : borderTensors(fusion)) {
      bytes += info.bytes(tv);
    }
    return info.device().l3_bytes > 0 && bytes > info.device().l3_bytes &&
           std::all_of(fusion.outputs().begin(), fusion.outputs().end(), [&](const Val* val) {
             const auto* tv = val->as<TensorView>();
             return right * dataTypeSizeByte(tv->dtype()) % kHostLineBytes == 0 &&
                    reference.vectorWidth(tv, inner, info) > 1;
           });
  }

  /// Vectors within a row, of as many threads as there are rows; null where a kernel cannot.
  static std::unique_ptr<PointwiseParams> wholeShortRows(const Fusion& fusion,
                                                         const ReferenceAxes& reference,
                                                         const std::vector<TensorView*>& tensors,
                                                         SchedulerRuntimeInfo& info,
                                                         const PointwiseParams& params) {
    auto whole = std::make_unique<PointwiseParams>();
    whole->reference = params.reference;
    whole->order = params.order;
    whole->short_rows = true;
    whole->threads_x = kThreads;
    const std::vector<int64_t> row{params.order.back()};
    const int64_t elements = info.extent(reference.axes()[static_cast<size_t>(row[0])]);
    for (const TensorView* tv : tensors) {
      whole->vectorization = std::max(whole->vectorization, reference.vectorWidth(tv, row, info));
    }
    while (elements % whole->vectorization != 0) {
      whole->vectorization /= 2;
    }
    setWidths(fusion, reference, row, false, info, *whole);
    return refuses(fusion, *whole, LowerTarget::Cuda) ? nullptr : std::move(whole);
  }

  /// What one access of each input and output moves along `inner`.
  static void setWidths(const Fusion& fusion, const ReferenceAxes& reference,
                        const std::vector<int64_t>& inner, bool tail, SchedulerRuntimeInfo& info,
                        PointwiseParams& params) {
    auto width = [&](const Val* val) -> int64_t {
      if (!val->isA<TensorView>()) {
        return 0;
      }
      const int64_t fits = reference.vectorWidth(val->as<TensorView>(), inner, info, tail);
      return std::min(params.vectorization, fits);
    };
    params.inputs.clear();
    params.outputs.clear();
    for (const Val* input : fusion.inputs()) {
      params.inputs.push_back(width(input));
    }
    for (const Val* output : fusion.outputs()) {
      params.outputs.push_back(width(output));
    }
  }

  static void chooseVectors(const Fusion& fusion, const ReferenceAxes& reference,
                            const std::vector<TensorView*>& tensors,
                            const std::vector<TensorView*>& windows, int64_t rows_of_block,
                            SchedulerRuntimeInfo& info, PointwiseParams& params) {
    const auto cut = params.order.begin() + params.break_point;
    const std::vector<int64_t> inner(cut, params.order.end());
    int64_t left = 1;
    int64_t right = 1;
    for (auto axis = params.order.begin(); axis != params.order.end(); ++axis) {
      (axis < cut ? left : right) *= info.extent(reference.axes()[static_cast<size_t>(*axis)]);
    }
    const int64_t processors = info.device().multiprocessors;
    // One axis for all ends once: the last vector goes element by element.
    const bool tail = params.break_point == 0 && !info.isHost();
    int64_t elements = 1;
    if (info.isHost()) {
      // A tile is a loop of vectors; small problems are one, so that no thread is woken for them.
      // The tile does not follow the sizes: one kernel serves many.
      params.threads_x = params.apart ? kApartTile : kHostTile;
      if (params.break_point > 0) {
        params.threads_y = floorPow2(
            std::clamp<int64_t>(kHostTile / std::max<int64_t>(right, 1), 1, kMostHostRows));
      }
    } else {
      for (const TensorView* tv : tensors) {
        elements = std::max(elements, reference.vectorWidth(tv, inner, info, tail));
      }
      elements = std::min(elements, elementsOfAccesses(tensors, info));
      while (elements > 1 && ((right % elements != 0 && !tail) ||
                              elements * static_cast<int64_t>(tensors.size()) > kMostLoaded ||
                              left * right / (elements * kThreads) < processors)) {
        elements /= 2;
      }
      elements = elementsOfLines(lineAccesses(reference, tensors, windows, inner, info), reference,
                                 inner, left * right, elements, info);
      if (rows_of_block > 1) {
        elements = std::min(elements, kMostOfRows);
        params.threads_x = pointwise::kBlockColumns / elements;
        params.threads_y = rows_of_block;
      } else if (params.break_point > 0) {
        const int64_t columns = ceilDiv(right, elements);
        params.threads_x = std::min(kThreads, ceilPow2(columns));
        params.threads_y = kThreads / params.threads_x;
      }
    }
    params.streaming =
        info.isHost() && !params.apart && streams(fusion, reference, inner, right, info);
    params.vectorization = elements;
    setWidths(fusion, reference, inner, tail, info, params);
  }
};

}  // namespace

const SchedulerEntry& pointwiseScheduler() {
  static const PointwiseScheduler scheduler;
  return scheduler;
}

}  // namespace nvfuser
