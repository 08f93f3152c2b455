#include <segmenter/group.h>

#include <unordered_set>

#include <ir/axis_map.h>

namespace nvfuser {

Group makeGroup(std::vector<Expr*> exprs, const std::function<bool(const TensorView*)>& stored) {
  Group group;
  group.exprs = std::move(exprs);
  std::unordered_set<const TensorView*> known;
  for (const Expr* expr : group.exprs) {
    for (TensorView* in : tensorInputs(expr)) {
      if (known.insert(in).second) {
        group.inputs.push_back(in);
      }
    }
    for (TensorView* out : tensorOutputs(expr)) {
      known.insert(out);
      if (stored(out)) {
        group.outputs.push_back(out);
      }
    }
  }
  return group;
}

Group wholeGroup(const Fusion& fusion) {
  return makeGroup(tensorExprs(fusion), [](const TensorView* tv) { return tv->isFusionOutput(); });
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
