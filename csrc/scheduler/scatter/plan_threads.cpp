/// What a GPU's kernel is to look like (scatter.h).
#include <algorithm>
#include <numeric>

#include <ir/axis_map.h>
#include <ir/internal_nodes.h>
#include <scheduler/analysis/reference_axes.h>
#include <scheduler/scatter/nests.h>
#include <scheduler/scatter/plan.h>
#include <support/round.h>

namespace nvfuser::scatters {

namespace {

constexpr int64_t kThreads = 256;         ///< of a block
constexpr int64_t kResident = 6;          ///< blocks of a multiprocessor: 40 registers a thread
constexpr int64_t kResidentUnrolled = 4;  ///< with 64 registers
constexpr int64_t kMostUnroll = 4;
constexpr int64_t kMostVector = 4;         ///< elements
constexpr int64_t kThreadsThatAdd = 1024;  ///< of the one block that a multiprocessor has
constexpr int64_t kReservedShared = 1024;  ///< bytes that are not the target's
/// Entries for each element that blocks add to memory: what they add lies in order, and comes in
/// vectors, so that one entry by itself takes about as long.
constexpr double kEntriesForSum = 0.5;
constexpr double kEntriesInVectorsForSum = 2;

/// Elements outside of the scattered axis and along it, and inside.
struct Extents {
  int64_t rows = 1;
  int64_t columns = 1;
};

Extents extentsOf(const Val* tensor, int64_t dim, SchedulerRuntimeInfo& info) {
  const std::vector<IterDomain*> axes =
      TensorDomain::noReductions(tensor->as<TensorView>()->getLogicalDomain());
  Extents extents;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    (static_cast<int64_t>(axis) <= dim ? extents.rows : extents.columns) *=
        info.evaluate(axes[axis]->getMaybeExpandedExtent());
  }
  return extents;
}

class Planner {
 public:
  Planner(const Fusion& fusion, const ScatterOp* op, SchedulerRuntimeInfo& info)
      : fusion_(fusion),
        op_(op),
        info_(info),
        entries_(extentsOf(op->input(1), op->dim(), info)),
        target_(extentsOf(op->output(0), op->dim(), info)) {}

  std::unique_ptr<ScatterParams> run() {
    auto params = std::make_unique<ScatterParams>();
    params->sums_by = addsByBlocks() ? 1 : 0;
    if (params->sums_by > 0) {
      const int64_t of_one = entries_.rows * entries_.columns / info_.device().multiprocessors;
      threads_ = std::clamp(ceilPow2(of_one / kMostVector), kThreads, kThreadsThatAdd);
    }
    chooseThreads(*params);
    chooseBlocks(*params);
    chooseUnroll(*params);
    chooseWidths(*params);
    return params;
  }

 private:
  /// Whether there are many entries for few elements, which the shared memory of a block can hold.
  bool addsByBlocks() const {
    const auto* result = op_->output(0)->as<TensorView>();
    const double elements = static_cast<double>(target_.rows * target_.columns);
    const double entries = static_cast<double>(entries_.rows * entries_.columns);
    const bool fits = target_.rows * target_.columns * dataTypeSizeByte(result->dtype()) <=
                      info_.device().shared_bytes_per_block_optin - kReservedShared;
    const double least = target_.columns > 1 ? kEntriesInVectorsForSum : kEntriesForSum;
    return op_->accumulateOp() == BinaryOpType::Add && fits && !hasGaps(result) &&
           info_.device().max_threads_per_block >= kThreadsThatAdd &&
           entries >= least * elements * info_.device().multiprocessors;
  }

  /// Vectors while every multiprocessor has a block.
  void chooseThreads(ScatterParams& params) const {
    const int64_t columns = entries_.columns;
    const int64_t bytes = dataTypeSizeByte(op_->output(0)->dtype());
    const int64_t elements = std::max(entries_.rows, target_.rows) * columns;
    int64_t width = std::min(kMostVector, kMaxVectorBytes / bytes);
    while (width > 1 && elements / (width * threads_) < info_.device().multiprocessors) {
      width /= 2;
    }
    params.rows = static_cast<size_t>(op_->dim()) + 1 < rankOf(op_->output(0));
    while (params.rows && columns % width != 0) {
      width /= 2;
    }
    params.vectorization = width;
    params.threads_x = threads_;
    if (params.rows) {
      params.threads_x = std::min(threads_, ceilPow2(ceilDiv(columns, width)));
    }
    params.threads_y = threads_ / params.threads_x;
  }

  /// All wait for each other, so they are resident together. Few numbers of them, since each is a
  /// kernel.
  void chooseBlocks(ScatterParams& params) const {
    const int64_t of_device = info_.device().max_threads_per_multiprocessor / threads_;
    params.resident_blocks =
        params.sums_by > 0 ? 1 : std::min(kResident, std::max<int64_t>(of_device, 1));
    const int64_t most = params.resident_blocks * info_.device().multiprocessors;
    const int64_t rows = std::max<int64_t>({entries_.rows, target_.rows, 1});
    const int64_t across = params.vectorization * params.threads_x;
    const int64_t wanted = ceilDiv(rows, params.rows ? params.threads_y : across);
    params.blocks = std::min(ceilPow2(wanted), most);
    if (params.rows) {
      params.blocks_y = std::min(ceilPow2(ceilDiv(entries_.columns, across)),
                                 std::max<int64_t>(most / params.blocks, 1));
    }
  }

  /// Rows that come in turn are read several at once, by fewer threads.
  void chooseUnroll(ScatterParams& params) const {
    const int64_t turns = entries_.rows / (params.blocks * params.threads_y);
    if (!params.rows || turns < kMostUnroll || params.resident_blocks <= kResidentUnrolled) {
      return;
    }
    params.unroll = kMostUnroll;
    params.blocks = params.blocks * kResidentUnrolled / params.resident_blocks;
    params.resident_blocks = kResidentUnrolled;
  }

  /// Of the widest access of each tensor that goes along the loops of one of the nests.
  void chooseWidths(ScatterParams& params) const {
    std::vector<ReferenceAxes> references;
    for (const Val* val : {op_->output(0), op_->input(1), op_->input(2)}) {
      references.emplace_back(fusion_, val->as<TensorView>());
    }
    std::vector<int64_t> inner(references[0].axes().size());
    std::iota(inner.begin(), inner.end(), 0);
    if (params.rows) {
      inner.erase(inner.begin(), inner.begin() + op_->dim() + 1);
    }
    const auto width = [&](const Val* val) -> int64_t {
      if (!val->isA<TensorView>()) {
        return 0;
      }
      int64_t most = 0;
      for (const ReferenceAxes& reference : references) {
        const auto* tv = val->as<TensorView>();
        if (reference.covers(tv)) {
          most = std::max(most, reference.vectorWidth(tv, inner, info_, !params.rows));
        }
      }
      return std::min(most, params.vectorization);
    };
    for (const Val* input : fusion_.inputs()) {
      params.inputs.push_back(width(input));
      const bool has_rows = params.rows && input->isA<TensorView>();
      const int64_t of_rows =
          has_rows ? references.back().vectorWidth(input->as<TensorView>(), inner, info_) : 0;
      params.reads.push_back(std::min(of_rows, params.vectorization));
    }
    for (const Val* output : fusion_.outputs()) {
      params.outputs.push_back(width(output));
    }
    params.of_target = width(storedResult(op_));
    params.adds_vectors = params.rows && params.vectorization > 1 &&
                          op_->accumulateOp() == BinaryOpType::Add &&
                          op_->output(0)->dtype() == DataType::Float &&
                          params.of_target == params.vectorization && addsWholeRows();
    chooseSums(params);
  }

  /// In the vectors that the target is filled in. One block has none to wait for.
  void chooseSums(ScatterParams& params) const {
    if (params.sums_by == 0 || params.blocks * params.blocks_y == 1) {
      params.sums_by = 0;
    } else if (op_->output(0)->dtype() == DataType::Float && params.of_target > 1 &&
               target_.rows * target_.columns % params.of_target == 0) {
      params.sums_by = params.of_target;
    }
  }

  /// Whether the source has an element for each column, and the index one for all of them.
  bool addsWholeRows() const {
    const auto columnsAre = [&](const Val* val, bool broadcast) {
      const std::vector<IterDomain*> axes =
          TensorDomain::noReductions(val->as<TensorView>()->getLogicalDomain());
      return std::all_of(axes.begin() + op_->dim() + 1, axes.end(),
                         [&](const IterDomain* id) { return id->isBroadcast() == broadcast; });
    };
    return columnsAre(op_->input(2), false) && columnsAre(op_->input(1), true);
  }

  const Fusion& fusion_;
  const ScatterOp* op_;
  SchedulerRuntimeInfo& info_;
  const Extents entries_;
  const Extents target_;
  int64_t threads_ = kThreads;  ///< of a block
};

}  // namespace

std::unique_ptr<ScatterParams> planThreads(const Fusion& fusion, const ScatterOp* op,
                                           SchedulerRuntimeInfo& info) {
  return Planner(fusion, op, info).run();
}

}  // namespace nvfuser::scatters
