#include <runtime/free_integers.h>

#include <unordered_set>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

bool takesNumbers(const Expr* expr) {
  return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp, FullOp, RNGOp>();
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
