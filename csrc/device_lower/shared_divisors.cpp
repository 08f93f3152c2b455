#include <device_lower/shared_divisors.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// What is divided by, in front of copies and broadcasts.
const Val* sourceOf(const Val* divisor) {
  const Expr* def = divisor->isFusionInput() ? nullptr : divisor->definition();
  const bool is_same = def != nullptr && (def->isA<LoadStoreOp>() || def->isA<BroadcastOp>() ||
                                          def->isA<SqueezeOp>() || def->isA<ExpandOp>());
  return is_same ? sourceOf(def->input(0)) : divisor;
}

std::ptrdiff_t axesOf(const Val* val) {
  if (!val->isA<TensorView>()) {
    return 0;
  }
  const auto& logical = val->as<TensorView>()->getLogicalDomain();
  return std::count_if(logical.begin(), logical.end(), [](const IterDomain* id) {
    return !id->isBroadcast() && !id->isReduction();
  });
}

/// By a power of two a compiler multiplies.
bool isPowerOfTwo(const Val* divisor) {
  int exponent = 0;
  return divisor->isConst() && !isComplexType(divisor->dtype()) &&
         std::fabs(std::frexp(divisor->value().as<double>(), &exponent)) == 0.5;
}

}  // namespace

std::unordered_set<const TensorView*> quotientsByShared(const Fusion& fusion) {
  std::unordered_map<const Val*, std::vector<const TensorView*>> by_divisor;
  std::unordered_set<const TensorView*> found;
  for (const Expr* expr : fusion.exprs()) {
    const auto* op = dynamic_cast<const BinaryOp*>(expr);
    if (op == nullptr || op->getBinaryOpType() != BinaryOpType::Div ||
        op->out()->dtype() != DataType::Float || !op->out()->isA<TensorView>()) {
      continue;
    }
    const auto* quotient = op->out()->as<TensorView>();
    const Val* divisor = sourceOf(op->rhs());
    if (isPowerOfTwo(divisor)) {
      continue;
    }
    by_divisor[divisor].push_back(quotient);
    if (axesOf(divisor) < axesOf(quotient)) {
      found.insert(quotient);
    }
  }
  for (const auto& [divisor, quotients] : by_divisor) {
    if (quotients.size() > 1) {
      found.insert(quotients.begin(), quotients.end());
    }
  }
  return found;
}

}  // namespace nvfuser
