#include <scheduler/pointwise/choose_rows.h>

#include <algorithm>

#include <ir/internal_nodes.h>

namespace nvfuser::pointwise {

namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kLeastOfColumns = 4;   ///< operations on columns alone that rows share
constexpr int64_t kMostOfColumns = 32;   ///< values that they leave
constexpr int64_t kLeastThreads = 2048;  ///< of a processor, that there still are

}  // namespace

void chooseRows(const Fusion& fusion, const ReferenceAxes& reference,
                const std::unordered_set<TensorView*>& nest, SchedulerRuntimeInfo& info,
                PointwiseParams& params) {
  if (info.isHost() || params.break_point == 0) {
    return;
  }
  const auto cut = static_cast<size_t>(params.break_point);
  // An axis of the part, with more than one element, that the tensor has.
  const auto has = [&](const TensorView* tv, size_t from, size_t to) {
    for (size_t k = from; k < to; ++k) {
      const auto axis = static_cast<size_t>(params.order[k]);
      if (reference.find(tv, axis) != nullptr && info.extent(reference.axes()[axis]) > 1) {
        return true;
      }
    }
    return false;
  };
  const auto ofColumns = [&](const TensorView* tv) {
    return !has(tv, 0, cut) && has(tv, cut, params.order.size());
  };
  int64_t operations = 0;
  int64_t values = 0;
  for (const Expr* expr : fusion.exprs()) {
    if (!expr->output(0)->isA<TensorView>()) {
      continue;
    }
    auto* tv = expr->output(0)->as<TensorView>();
    if (nest.count(tv) == 0 || !ofColumns(tv)) {
      continue;
    }
    const bool is_index = expr->isOneOf<BroadcastOp, SqueezeOp, ExpandOp, LoadStoreOp>();
    operations += is_index ? 0 : 1;
    const std::vector<Expr*> uses = fusion.usesOf(tv);
    values += std::any_of(uses.begin(), uses.end(), [&](const Expr* use) {
      return !ofColumns(use->output(0)->as<TensorView>());
    });
  }
  if (operations < kLeastOfColumns || values * params.vectorization > kMostOfColumns) {
    return;
  }
  int64_t left = 1;
  int64_t right = 1;
  for (size_t k = 0; k < params.order.size(); ++k) {
    (k < cut ? left : right) *= info.extent(reference.axes()[static_cast<size_t>(params.order[k])]);
  }
  const int64_t least = kLeastThreads * info.device().multiprocessors;
  while (params.rows < kMostRows && left >= 2 * params.rows * params.threads_y &&
         left * right / (params.vectorization * params.rows * 2) >= least) {
    params.rows *= 2;
  }
}

}  // namespace nvfuser::pointwise
