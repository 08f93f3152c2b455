#include <ir/exact_numerics.h>

#include <algorithm>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

constexpr const char* kKey = "exact_numerics";

}  // namespace

void computeExactly(Fusion& fusion) { fusion.manage(kKey, true); }

bool isComputedExactly(const Fusion& fusion) { return fusion.hasManaged(kKey); }

bool hangsOnOrder(const Expr* reduction) {
  if (reduction->isOneOf<WelfordOp, OnlineSoftmaxOp>()) {
    return true;
  }
  const auto* op = dynamic_cast<const ReductionOp*>(reduction);
  const bool rounds =
      op != nullptr && !isIntegralType(op->out()->dtype()) && !isBooleanType(op->out()->dtype());
  return rounds && (op->getReductionOpType() == BinaryOpType::Add ||
                    op->getReductionOpType() == BinaryOpType::Mul);
}

bool reducesInOrder(const Fusion& fusion) {
  if (!isComputedExactly(fusion)) {
    return false;
  }
  const std::vector<Expr*> exprs = fusion.exprs();
  return std::any_of(exprs.begin(), exprs.end(), hangsOnOrder);
}

}  // namespace nvfuser
