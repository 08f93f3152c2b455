#include <segmenter/group.h>

#include <algorithm>
#include <set>

#include <ir/axis_map.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

Group makeGroup(const Fusion& fusion, std::vector<Expr*> exprs) {
  Group group;
  group.exprs = std::move(exprs);
  const std::set<const Expr*> inside(group.exprs.begin(), group.exprs.end());
  std::set<const TensorView*> read;
  for (const Expr* expr : group.exprs) {
    for (TensorView* in : tensorInputs(expr)) {
      const bool computed_here = !in->isFusionInput() && inside.count(in->definition()) != 0;
      if (!computed_here && read.insert(in).second) {
        group.inputs.push_back(in);
      }
    }
  }
  for (const Expr* expr : group.exprs) {
    for (TensorView* out : tensorOutputs(expr)) {
      const std::vector<Expr*> uses = fusion.usesOf(out);
      const bool read_outside = std::any_of(
          uses.begin(), uses.end(), [&](const Expr* use) { return inside.count(use) == 0; });
      if (out->isFusionOutput() || read_outside) {
        group.outputs.push_back(out);
      }
    }
  }
  return group;
}

std::vector<Expr*> tensorExprs(const Fusion& fusion) {
  std::vector<Expr*> exprs;
  for (Expr* expr : fusion.exprs()) {
    if (!tensorOutputs(expr).empty()) {
      exprs.push_back(expr);
    }
  }
  return exprs;
}

}  // namespace nvfuser
