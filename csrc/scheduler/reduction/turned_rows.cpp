#include <scheduler/reduction/turned_rows.h>

#include <algorithm>

#include <ir/internal_nodes.h>
#include <scheduler/analysis/column_values.h>
#include <scheduler/reduction/loops.h>
#include <scheduler/utils.h>

namespace nvfuser::reduction {

namespace {

constexpr int64_t kLongestRow = 64;
constexpr int64_t kLeastRows = 64;
// In additions. Measured on rows of 3 to 64 floats, with AVX2: softmax, norms, gates by a mean.
constexpr double kTurned = 0.25;   ///< an element, read or written
constexpr double kTreeOfSums = 8;  ///< over the lanes of a vector
constexpr double kTreeOfOthers = 16;
constexpr double kPartOfVector = 8;

/// Whether each element is computed from those at its place, of its row or of all rows.
bool staysAtItsPlace(const Expr* expr) {
  return expr->isOneOf<FullOp, UnaryOp, BinaryOp, TernaryOp, BroadcastOp, ExpandOp, SqueezeOp,
                       ReductionOp, WelfordOp>() ||
         (expr->isA<LoadStoreOp>() && expr->output(0)->isA<TensorView>() &&
          !expr->output(0)->as<TensorView>()->hasRoot());
}

/// Of the reference's kept axes, or its reduced ones, that have several elements, those of `tv`.
struct Share {
  int64_t own = 0;
  int64_t all = 0;
  bool isPart() const { return own != 0 && own != all; }
};

Share shareOf(const Problem& problem, const TensorView* tv, bool reduced) {
  Share share;
  const std::vector<IterDomain*>& axes = problem.axes.axes();
  const auto& logical = problem.form.signature.reference()->getLogicalDomain();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (logical[i]->isReduction() == reduced && problem.info.extent(axes[i]) > 1) {
      ++share.all;
      share.own += problem.axes.find(tv, i) != nullptr ? 1 : 0;
    }
  }
  return share;
}

/// Whether a border tensor is rows, a number for each row, or a row for all of them.
bool isPlain(const Problem& problem, const TensorView* tv) {
  const Share kept = shareOf(problem, tv, false);
  const Share reduced = shareOf(problem, tv, true);
  if (kept.isPart() || reduced.isPart() || !problem.axes.covers(tv)) {
    return false;
  }
  return kept.own == 0 || reduced.own == 0 || problem.axes.isRun(tv, problem.order, problem.info);
}

/// Whether turning takes less than what rows as vectors take besides: trees over lanes, what is
/// computed of a row one by one, and parts of vectors at the ends of rows.
bool pays(const Problem& problem, const std::vector<Expr*>& exprs) {
  double turned = 0;
  double apart = 0;
  for (const TensorView* tv : borderTensors(problem.fusion)) {
    if (shareOf(problem, tv, true).own > 0 && shareOf(problem, tv, false).own > 0) {
      turned += kTurned * static_cast<double>(problem.reduced);
      apart += problem.reduced % kLanes != 0 ? kPartOfVector : 0;
    }
  }
  for (const Expr* expr : exprs) {
    const auto* out = dynamic_cast<const TensorView*>(expr->output(0));
    if (const auto* reduction = dynamic_cast<const ReductionOp*>(expr)) {
      const bool is_sum = reduction->getReductionOpType() == BinaryOpType::Add;
      apart += is_sum ? kTreeOfSums : kTreeOfOthers;
    } else if (expr->isA<WelfordOp>()) {
      apart += kTreeOfOthers;
    } else if (out != nullptr &&
               !problem.form.signature.spansReduced(out, problem.form.permissive)) {
      apart += static_cast<double>(costOfElement(expr));
    }
  }
  return apart > turned;
}

}  // namespace

void planTurnedRows(const Problem& problem, ReductionParams& params) {
  const std::vector<Expr*> exprs = problem.fusion.exprs();
  const std::vector<TensorView*> border = borderTensors(problem.fusion);
  if (!problem.fastest_dim || problem.schedule_3d || problem.reduced < 2 ||
      problem.reduced > kLongestRow || problem.kept < kLeastRows ||
      !problem.isReducedByConstants() ||
      !std::all_of(exprs.begin(), exprs.end(), staysAtItsPlace) ||
      !std::all_of(
          border.begin(), border.end(),
          [&](const TensorView* tv) { return isPlain(problem, tv); }) ||
      !pays(problem, exprs)) {
    return;
  }
  params.turned_rows = true;
  params.fastest_dim = false;
  const auto& logical = problem.form.signature.reference()->getLogicalDomain();
  params.inner_axes = std::count_if(logical.begin(), logical.end(),
                                    [](const IterDomain* id) { return !id->isReduction(); });
  params.vectorization = kLanes;
}

void TurnedRows::copy(Fusion* fusion, const ReductionParams& params) {
  const IdGraph permissive(*fusion, IdGraph::Mode::Permissive);
  const auto signature = std::get<ReductionSignature>(reductionSignature(*fusion, permissive));
  const auto isOfRows = [&](const TensorView* tv) {
    return signature.spansReduced(tv, permissive) && signature.spansRows(tv, permissive);
  };
  std::vector<TensorView*> read;
  std::vector<TensorView*> written;
  for (Val* input : fusion->inputs()) {
    if (auto* tv = dynamic_cast<TensorView*>(input);
        tv != nullptr && !tv->isCpuScalar() && !fusion->usesOf(tv).empty() && isOfRows(tv)) {
      read.push_back(tv);
    }
  }
  scheduler_utils::cacheAndForkOutputs(fusion, params.streaming);
  for (Val* output : fusion->outputs()) {
    auto* tv = output->as<TensorView>();
    if (!tv->isFusionInput() && isOfRows(tv) &&
        std::find(written.begin(), written.end(), tv) == written.end()) {
      written.push_back(tv);
    }
  }
  for (TensorView* tv : read) {
    TensorView* rows = tv->cacheAfter();
    copies_.push_back(rows);
    tiles_.insert(tiles_.end(), {rows, rows->cacheAfter()});
  }
  for (TensorView* tv : written) {
    TensorView* turned = tv->cacheBefore();
    copies_.push_back(tv);
    turned_back_.push_back(turned);
    tiles_.insert(tiles_.end(), {turned, turned->cacheBefore()});
  }
}

void TurnedRows::reorder(int64_t place,
                         std::unordered_map<const TensorView*, int64_t>& held) const {
  for (const std::vector<TensorView*>* along_rows : {&copies_, &turned_back_}) {
    for (TensorView* tv : *along_rows) {
      tv->reorder({{place, place + 1}, {place + 1, place}});
    }
  }
  for (TensorView* tv : copies_) {
    tv->merge(place);
  }
  for (const TensorView* tv : tiles_) {
    held[tv] = place;
  }
}

}  // namespace nvfuser::reduction
