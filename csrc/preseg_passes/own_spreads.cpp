#include <preseg_passes/own_spreads.h>

#include <map>

#include <ir/internal_nodes.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

constexpr int kMostSteps = 3;  ///< between a read and a broadcast

bool isCheap(const Expr* expr) {
  if (expr->isA<UnaryOp>()) {
    const UnaryOpType type = expr->as<UnaryOp>()->getUnaryOpType();
    return type == UnaryOpType::Cast || type == UnaryOpType::Neg;
  }
  if (!expr->isA<BinaryOp>()) {
    return false;
  }
  const BinaryOpType type = expr->as<BinaryOp>()->getBinaryOpType();
  return type == BinaryOpType::Add || type == BinaryOpType::Sub || type == BinaryOpType::Mul;
}

/// `tv`, computed again; null: it would cost more than an index.
TensorView* again(TensorView* tv, int steps) {
  const Expr* def = tv->isFusionInput() ? nullptr : tv->definition();
  if (def == nullptr) {
    return nullptr;
  }
  if (def->isA<SelectOp>()) {
    auto* in = def->input(0)->as<TensorView>();
    return in->isFusionInput() ? select(in, def->as<SelectOp>()->dim(), def->input(1)) : nullptr;
  }
  if (def->isA<IotaOp>()) {
    const auto* op = def->as<IotaOp>();
    return iota(op->length(), op->start(), op->step(), tv->dtype());
  }
  const auto operand = isCheap(def) ? onlyTensorOperand(def) : std::nullopt;
  if (!operand || steps == 0) {
    return nullptr;
  }
  std::vector<Val*> operands = def->inputs();
  operands[*operand] = again(operands[*operand]->as<TensorView>(), steps - 1);
  return operands[*operand] == nullptr ? nullptr : applyTo(def, operands);
}

}  // namespace

void readEachSpread(Fusion& fusion) {
  FusionGuard guard(&fusion);
  std::map<std::pair<int64_t, std::vector<bool>>, TensorView*> known;
  std::map<int64_t, std::vector<bool>> first;  // by the tensor's name
  for (Expr* expr : fusion.exprs()) {
    if (!expr->isA<BroadcastOp>()) {
      continue;
    }
    auto* tv = expr->input(0)->as<TensorView>();
    const std::vector<bool>& flags = expr->as<BroadcastOp>()->flags();
    if (first.emplace(tv->name(), flags).first->second == flags) {
      continue;
    }
    const auto [copy, is_new] = known.emplace(std::pair(int64_t{tv->name()}, flags), nullptr);
    if (is_new) {
      copy->second = again(tv, kMostSteps);
    }
    if (copy->second != nullptr) {
      fusion.replaceInput(expr, tv, copy->second);
    }
  }
}

}  // namespace nvfuser::preseg_passes
