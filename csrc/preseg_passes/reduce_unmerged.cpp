#include <preseg_passes/reduce_unmerged.h>

#include <algorithm>
#include <optional>
#include <set>

#include <ir/exact_numerics.h>
#include <ir/internal_nodes.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <preseg_passes/before_reshape.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// The first reshape that `tv` is computed of, element by element; null if there is none.
const TensorView* reshapeOf(const TensorView* tv) {
  std::vector<const TensorView*> open{tv};
  std::set<const TensorView*> seen{tv};
  while (!open.empty()) {
    const TensorView* next = open.back();
    open.pop_back();
    const Expr* def = next->isFusionInput() ? nullptr : next->definition();
    if (def == nullptr) {
      continue;
    }
    if (def->isA<ReshapeOp>()) {
      return next;
    }
    if (!def->isOneOf<UnaryOp, BinaryOp, TernaryOp>() && !isPlainCopy(def)) {
      continue;
    }
    for (const Val* in : def->inputs()) {
      const auto* operand = dynamic_cast<const TensorView*>(in);
      if (operand != nullptr && seen.insert(operand).second) {
        open.push_back(operand);
      }
    }
  }
  return nullptr;
}

/// The axes in front of the reshape that are reduced, if each of its groups is reduced or is left
/// as it is.
std::optional<std::vector<int64_t>> axesBefore(const std::vector<ops::AxisGroup>& groups,
                                               const std::vector<int64_t>& reduced) {
  std::vector<int64_t> axes;
  for (const ops::AxisGroup& group : groups) {
    const auto count = std::count_if(reduced.begin(), reduced.end(), [&](int64_t axis) {
      return static_cast<size_t>(axis) >= group.new_begin &&
             static_cast<size_t>(axis) < group.new_end;
    });
    const bool all = static_cast<size_t>(count) == group.new_end - group.new_begin;
    if (!all && (count != 0 || !group.keeps())) {
      return std::nullopt;
    }
    for (size_t i = group.old_begin; all && i < group.old_end; ++i) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return axes;
}

void reduceBefore(Expr* expr) {
  auto* in = expr->input(0)->as<TensorView>();
  const TensorView* reshaped = reshapeOf(in);
  if (reshaped == nullptr || !sameSizes(shownSizes(reshaped), shownSizes(in)) ||
      !endsInReductions(reshaped)) {
    return;
  }
  BeforeReshape before(reshaped->definition()->input(0)->as<TensorView>(), reshaped);
  auto* old = expr->output(0)->as<TensorView>();
  const auto axes = axesBefore(before.groups(), ops::reducedAxes(old));
  TensorView* operand = axes ? before.of(in) : nullptr;
  if (operand == nullptr) {
    return;
  }
  if (auto* op = dynamic_cast<ReductionOp*>(expr)) {
    TensorView* made = reductionOp(op->getReductionOpType(), *axes, op->init(), operand);
    if (sameForm(old, made)) {
      replaceTensor(old, made);
    }
    return;
  }
  const WelfordResult made = WelfordRaw(operand, *axes);
  const std::vector<TensorView*> results{made.avg, made.var_sum, made.n};
  for (size_t i = 0; i < results.size(); ++i) {
    if (!sameForm(expr->output(i)->as<TensorView>(), results[i])) {
      return;
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    replaceTensor(expr->output(i)->as<TensorView>(), results[i]);
  }
}

}  // namespace

void reduceUnmerged(Fusion& fusion) {
  if (reducesInOrder(fusion)) {
    return;
  }
  FusionGuard guard(&fusion);
  for (Expr* expr : fusion.exprs()) {
    const auto* welford = dynamic_cast<const WelfordOp*>(expr);
    const bool is_of_numbers = welford != nullptr && !welford->inVar()->isA<TensorView>();
    if (is_of_numbers || expr->isA<ReductionOp>()) {
      reduceBefore(expr);
    }
  }
}

}  // namespace nvfuser::preseg_passes
