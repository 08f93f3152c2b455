/// Scans along one axis, with the element-wise operations around them, in one pass over memory.
///
///   rows, whose axis lies innermost in memory
///     GPU:  [blockIdx.x rows / Y, threadIdx.y Y, axis / (T·V), threadIdx.x T, V]
///     CPU:  [blockIdx.x tasks, rows / Y, axis / V, Y, V]
///   columns, beside each other in memory
///     GPU:  [blockIdx.x columns / X, threadIdx.x X, axis / (T·V), threadIdx.y T, V]
///     CPU:  [blockIdx.x tasks, columns / X, axis, X]
///
/// T threads share a row or column, in steps of T·V elements, each with V neighbours. On the CPU a
/// row's operands are computed V at a time in vectors, scanned one by one, Y rows in turn, and
/// their readers are vectors again; X columns are vectors throughout. Rows (columns) are shared by
/// tasks and blocks, so a few long ones are walked by a few of them.
///
/// It takes fusions without reductions whose scans go along one axis the same way, where each
/// tensor is read at the element that is computed. Other scans are a library's.
#pragma once

#include <vector>

#include <scheduler/registry.h>

namespace nvfuser {

struct ScanParams : HeuristicParams {
  ScanParams() : HeuristicParams(SchedulerType::Scan) {}

  int64_t reference = 0;       ///< number of the output whose loops all others get
  std::vector<int64_t> order;  ///< of its logical axes, outermost first
  int64_t along = 0;           ///< place of the scanned axis in that order; the last one: rows
  bool host = false;
  int64_t tasks = 1;            ///< of the CPU
  int64_t lines = 1;            ///< rows (Y) or columns (X) of a block, or of one vector loop
  int64_t threads = 1;          ///< T
  int64_t items = 1;            ///< V
  std::vector<int64_t> inputs;  ///< elements in one access of each input; empty: element by element
  std::vector<int64_t> outputs;  ///< the same for each output

  bool rows() const { return along + 1 == static_cast<int64_t>(order.size()); }
  std::string toString() const override;
  std::unique_ptr<HeuristicParams> clone() const override {
    return std::make_unique<ScanParams>(*this);
  }
};

bool hasScans(const Fusion& fusion);

const SchedulerEntry& scanScheduler();

}  // namespace nvfuser
