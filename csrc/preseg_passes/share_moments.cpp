#include <preseg_passes/share_moments.h>

#include <vector>

#include <ir/exact_numerics.h>
#include <ir/internal_nodes.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

/// Whether it starts from nothing and takes each element once.
bool isPlain(const WelfordOp* op) {
  return op->inAvg()->isA<TensorView>() && op->inVar()->isZero() && op->inN()->isOneInt();
}

/// Whether `divisor` is the number of elements that `reduced` sums up.
bool isCount(const Val* divisor, const TensorView* reduced) {
  int64_t count = 1;
  for (const IterDomain* id : reduced->getLogicalDomain()) {
    if (!id->isReduction()) {
      continue;
    }
    const auto extent = ops::constantOf(id->extent());
    if (!extent) {
      return false;
    }
    count *= *extent;
  }
  if (!divisor->isScalar() || !divisor->isConst()) {
    return false;
  }
  const PolymorphicValue value = divisor->value();
  return value.is<double>() ? value.as<double>() == static_cast<double>(count)
                            : value.is<int64_t>() && value.as<int64_t>() == count;
}

/// Readers of a sum that divide it by its count.
std::vector<TensorView*> meansOf(const ReductionOp* sum) {
  std::vector<TensorView*> means;
  auto* out = sum->out()->as<TensorView>();
  for (const Expr* use : out->fusion()->usesOf(out)) {
    const auto* op = dynamic_cast<const BinaryOp*>(use);
    if (op != nullptr && op->getBinaryOpType() == BinaryOpType::Div && op->lhs() == out &&
        isCount(op->rhs(), out)) {
      means.push_back(op->out()->as<TensorView>());
    }
  }
  return means;
}

}  // namespace

void shareMoments(Fusion& fusion) {
  if (reducesInOrder(fusion)) {
    return;
  }
  FusionGuard guard(&fusion);
  const std::vector<Expr*> exprs = fusion.exprs();
  for (Expr* expr : exprs) {
    const auto* welford = dynamic_cast<const WelfordOp*>(expr);
    if (welford == nullptr || !isPlain(welford)) {
      continue;
    }
    auto* mean = welford->outAvg()->as<TensorView>();
    for (const Expr* use : fusion.usesOf(welford->inAvg()->as<TensorView>())) {
      const auto* sum = dynamic_cast<const ReductionOp*>(use);
      if (sum == nullptr || sum->getReductionOpType() != BinaryOpType::Add ||
          !sum->init()->isZero() ||
          ops::reducedAxes(mean) != ops::reducedAxes(sum->out()->as<TensorView>())) {
        continue;
      }
      for (TensorView* other : meansOf(sum)) {
        if (sameForm(other, mean)) {
          replaceTensor(other, mean);
        }
      }
    }
  }
}

}  // namespace nvfuser::preseg_passes
