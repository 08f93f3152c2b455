/// Where each statement of a lowered Fusion is, as text: the index of each axis of what it writes,
/// the bounds that it is guarded by, and what its loops go through besides.
#pragma once

#include <string>

#include <device_lower/lower.h>
#include <device_lower/predicates.h>
#include <ir/axis_map.h>

namespace nvfuser {

inline std::string placesText(Lowering& l) {
  static constexpr std::string_view kRoles[] = {"",       "init ",     "update ", "finish ",
                                                "clear ", "exchange ", "step "};
  const Indexer indexer(*l.exact, *l.loops, *l.symbols, *l.allocations);
  const Predicates predicates(*l.fusion, *l.exact, *l.loops, *l.symbols, true);
  std::string out;
  forEachLeaf(l.tree, [&](const Leaf& leaf, const auto&) {
    const Places places = indexer.around(leaf);
    out += text("  ", kRoles[static_cast<size_t>(leaf.role)], "T", leaf.out->name(), " in");
    for (const LoopClass* loop : leaf.path) {
      out += text(" ", loop->index, ":", loop->promoted);
    }
    out += "\n";
    for (const TensorView* tv : tensorOutputs(leaf.expr)) {
      for (const IterDomain* id : tv->getLogicalDomain()) {
        const kir::Scalar index = places.index(id);
        out += text("    ", id, " at ", index != nullptr ? index->toString() : "no index", "\n");
      }
    }
    for (const Predicates::Bound& bound : predicates.bounds(leaf, places)) {
      out += text("    bound ", bound.index, " < ", bound.extent, "\n");
    }
    for (const LoopAxis& axis : places.foreign(leaf.out, takesElements(leaf.role))) {
      if (!axis.id->isBroadcast() && !axis.id->isReduction() && !axis.index->isConstant(0)) {
        out += text("    foreign ", axis.id, " at ", axis.index, "\n");
      }
    }
  });
  return out;
}

}  // namespace nvfuser
