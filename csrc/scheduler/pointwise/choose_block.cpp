#include <scheduler/pointwise/choose_block.h>

#include <algorithm>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/sectors.h>
#include <scheduler/indexed_reads.h>

namespace nvfuser::pointwise {

namespace {

constexpr int64_t kBlockRows = 16;
constexpr int64_t kScattered = 2;    ///< bytes that are moved for one that is read
constexpr double kLessInRows = 0.7;  ///< of the sectors, for rows in place of one long run

/// Whether the places that data decide lie beside each other in memory: rows that follow each other
/// may share them, otherwise none do.
bool isReadWithinRows(const TensorView* tv, SchedulerRuntimeInfo& info) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const std::vector<int64_t> strides = info.strides(tv);
  const std::vector<Expr*> uses = tv->fusion()->usesOf(tv);
  return std::all_of(uses.begin(), uses.end(), [&](const Expr* use) {
    int64_t dim = -1;
    if (const auto* gather = dynamic_cast<const GatherOp*>(use)) {
      dim = gather->dim();
    } else if (const auto* select = dynamic_cast<const IndexSelectOp*>(use)) {
      dim = select->dim();
    }
    return dim >= 0 && dim < static_cast<int64_t>(logical.size()) &&
           strides[static_cast<size_t>(dim)] == 1;
  });
}

}  // namespace

int64_t rowsOfBlock(const ReferenceAxes& axes, const std::vector<TensorView*>& tensors,
                    SchedulerRuntimeInfo& info, const PointwiseParams& params) {
  const std::vector<int64_t>& order = params.order;
  if (order.size() < 2) {
    return 1;
  }
  const auto extent = [&](size_t k) {
    return info.extent(axes.axes()[static_cast<size_t>(order[k])]);
  };
  if (extent(order.size() - 1) < kBlockColumns || extent(order.size() - 2) < kBlockRows) {
    return 1;
  }
  int64_t flat = 0;
  int64_t in_rows = 0;
  bool is_scattered = false;  // in a single row
  for (const TensorView* tv : tensors) {
    if (scheduler_tools::isReadAtIndex(tv) && !isReadWithinRows(tv, info)) {
      continue;
    }
    const Sectors row = sectorsOf(axes, tv, order, 1, kBlockRows * kBlockColumns, info);
    const int64_t bytes =
        std::max(row.places * SchedulerRuntimeInfo::elementBytes(tv), kSectorBytes);
    is_scattered = is_scattered || row.sectors * kSectorBytes > kScattered * bytes;
    flat += row.sectors;
    in_rows += sectorsOf(axes, tv, order, kBlockRows, kBlockColumns, info).sectors;
  }
  const bool pays = static_cast<double>(in_rows) < kLessInRows * static_cast<double>(flat);
  return is_scattered && pays ? kBlockRows : 1;
}

}  // namespace nvfuser::pointwise
