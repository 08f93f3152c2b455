/// Short texts of tensors for the tests of operations.
#pragma once

#include <string>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

/// "i7", "4" for iterated axes, "b" for broadcast ones, "b5" for those expanded to 5, "r…" for
/// reductions.
inline std::string axisText(const IterDomain* id) {
  const std::string extent = id->extent()->toInlineString();
  if (id->isBroadcast()) {
    return id->hasExpandedExtent() ? "b" + id->expandedExtent()->toInlineString() : "b";
  }
  return (id->isReduction() ? "r" : "") + extent;
}

inline std::string shapeText(const TensorView* tv) {
  return "[" +
         join(TensorDomain::noReductions(tv->getLogicalDomain()), ", ",
              [](const IterDomain* id) { return axisText(id); }) +
         "]";
}

/// The operations from a fusion input to `tv` along first operands, in order: "BroadcastOp
/// ReshapeOp".
inline std::string chainText(const TensorView* tv) {
  std::string text;
  while (tv->definition() != nullptr) {
    const Expr* def = tv->definition();
    text = std::string(exprKindName(def->kind())) + (text.empty() ? "" : " ") + text;
    if (def->inputs().empty() || !def->input(0)->isA<TensorView>()) {
      break;
    }
    tv = def->input(0)->as<TensorView>();
  }
  return text;
}

/// The transforms between the axes of a tensor: "Merge Split".
inline std::string transformsText(const TensorView* tv) {
  return join(tv->domain()->allExprs(), " ", [](const Expr* e) { return exprKindName(e->kind()); });
}

}  // namespace nvfuser
