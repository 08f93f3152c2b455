#include <runtime/free_integers.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// Whether integers may have no such result: quotients by zero, shifts by too much.
bool mayHaveNone(const BinaryOp* op) {
  using enum BinaryOpType;
  constexpr std::array kWithout = {Div, Fmod,   Remainder, Mod,           CeilDiv,
                                   Pow, Lshift, Rshift,    LogicalRshift, Gcd};
  return isIntegralType(op->out()->dtype()) &&
         std::find(kWithout.begin(), kWithout.end(), op->getBinaryOpType()) != kWithout.end();
}

/// Whether the operation takes any number.
bool takesNumbers(const Expr* expr) {
  const auto* op = dynamic_cast<const BinaryOp*>(expr);
  return op != nullptr ? !mayHaveNone(op) : expr->isOneOf<UnaryOp, TernaryOp, FullOp, RNGOp>();
}

/// Adds the scalar and what it is computed from.
void addSources(const Val* val, std::unordered_set<const Val*>& known) {
  if (val == nullptr || !known.insert(val).second || val->definition() == nullptr) {
    return;
  }
  for (const Val* in : val->definition()->inputs()) {
    addSources(in, known);
  }
}

/// Scalars that say where axes begin and end, that sizes are compared with, or that other
/// operations take.
std::unordered_set<const Val*> decidingScalars(const Fusion& fusion) {
  std::unordered_set<const Val*> known;
  const auto addAxis = [&](const IterDomain* id) {
    addSources(id->extent(), known);
    if (id->hasExpandedExtent()) {
      addSources(id->expandedExtent(), known);
    }
  };
  for (const TensorView* tv : fusion.allTvs()) {
    for (const IterDomain* id : tv->domain()->allIDs()) {
      addAxis(id);
    }
    for (const Expr* expr : tv->domain()->allExprs()) {
      if (expr->isA<Split>()) {
        addSources(expr->as<Split>()->factor(), known);
      } else if (expr->isA<Resize>()) {
        addSources(expr->as<Resize>()->leftExpand(), known);
        addSources(expr->as<Resize>()->rightExpand(), known);
      }
    }
  }
  for (const SizeRequirement& requirement : fusion.sizeRequirements()) {
    addSources(requirement.found, known);
    addSources(requirement.needed, known);
  }
  for (const Expr* expr : fusion.exprs()) {
    if (takesNumbers(expr)) {
      continue;
    }
    for (const Val* in : expr->inputs()) {
      if (in->isScalar()) {
        addSources(in, known);
      }
    }
  }
  return known;
}

}  // namespace

std::vector<bool> freeIntegers(const Fusion& fusion) {
  const std::unordered_set<const Val*> deciding = decidingScalars(fusion);
  std::vector<bool> result;
  for (const Val* input : fusion.inputs()) {
    result.push_back(input->isScalar() && isIntegralType(input->dtype()) &&
                     deciding.count(input) == 0);
  }
  return result;
}

}  // namespace nvfuser
