#include <scheduler/analysis/column_values.h>

#include <algorithm>
#include <unordered_set>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>
#include <ops/table/pointwise.h>
#include <scheduler/analysis/own_loops.h>

namespace nvfuser {

namespace {

constexpr int64_t kLeastCost = 3;   ///< of what is not computed again
constexpr size_t kMostHeld = 6;     ///< arrays
constexpr int64_t kCostOfRead = 3;  ///< of elements that lie apart

bool isBroadcastIn(const TensorView* tv, const std::vector<int64_t>& loops) {
  return std::all_of(loops.begin(), loops.end(),
                     [&](int64_t loop) { return tv->axis(loop)->isBroadcast(); });
}

}  // namespace

int64_t costOfElement(const Expr* expr) {
  if (expr->isA<UnaryOp>()) {
    return pointwiseRow(expr->as<UnaryOp>()->getUnaryOpType()).cost;
  }
  if (expr->isA<BinaryOp>()) {
    return pointwiseRow(expr->as<BinaryOp>()->getBinaryOpType()).cost;
  }
  if (expr->isA<TernaryOp>()) {
    return pointwiseRow(expr->as<TernaryOp>()->getTernaryOpType()).cost;
  }
  if (expr->isOneOf<SelectOp, IndexSelectOp, GatherOp>()) {
    return kCostOfRead;
  }
  return expr->isA<IotaOp>() ? 1 : 0;
}

namespace {

/// Of a tensor and what it is made of.
int64_t costBehind(const TensorView* tv) {
  int64_t cost = 0;
  std::unordered_set<const Expr*> seen;
  std::vector<const Val*> open{tv};
  while (!open.empty()) {
    const Expr* expr = open.back()->definition();
    open.pop_back();
    if (expr == nullptr || !expr->output(0)->isA<TensorView>() || !seen.insert(expr).second) {
      continue;
    }
    cost += costOfElement(expr);
    open.insert(open.end(), expr->inputs().begin(), expr->inputs().end());
  }
  return cost;
}

}  // namespace

void holdColumnValues(const Fusion& fusion, const TensorView* reference,
                      const std::vector<TensorView*>& tensors, const std::vector<int64_t>& rows,
                      std::unordered_map<const TensorView*, int64_t>& held) {
  const int64_t from = rows.front();
  const auto ofColumns = [&](const TensorView* tv) {
    const auto& loops = tv->getLoopDomain();
    return tv->nDims() > rows.back() && isBroadcastIn(tv, rows) &&
           std::any_of(loops.begin() + from, loops.end(),
                       [](const IterDomain* id) { return !id->isBroadcast(); });
  };
  std::vector<const TensorView*> found;
  for (const TensorView* tv : tensors) {
    if (tv->isFusionInput() || tv->isFusionOutput() || isReduction(tv->definition()) ||
        !ofColumns(tv) || held.count(tv) != 0) {
      continue;
    }
    const std::vector<Expr*> readers = fusion.usesOf(tv);
    const bool rows_read = std::any_of(readers.begin(), readers.end(), [&](const Expr* reader) {
      const auto* out = reader->output(0)->as<TensorView>();
      return out->nDims() > rows.back() && !isBroadcastIn(out, rows);
    });
    if (rows_read && costBehind(tv) >= kLeastCost) {
      found.push_back(tv);
    }
  }
  if (found.empty() || found.size() > kMostHeld) {
    return;
  }
  std::vector<TensorView*> nest = tensors;
  std::erase_if(nest, [](const TensorView* tv) { return tv->isFusionInput(); });
  const OwnLoops own(fusion, reference, nest);
  for (const TensorView* tv : found) {
    if (own.mayHave(tv, from)) {
      held.emplace(tv, from);
    }
  }
}

}  // namespace nvfuser
