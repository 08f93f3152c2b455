#include <segmenter/trees.h>

#include <algorithm>
#include <map>
#include <set>

#include <ir/axis_map.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// Whether `consumer` reads its operands at the very element it computes, so that they can be
/// computed on the spot.
bool readsInPlace(const Expr* consumer) {
  switch (consumer->kind()) {
    case ExprKind::UnaryOp:
    case ExprKind::BinaryOp:
    case ExprKind::TernaryOp:
    case ExprKind::BroadcastOp:
    case ExprKind::SqueezeOp:
    case ExprKind::ExpandOp:
    case ExprKind::ReductionOp:
    case ExprKind::WelfordOp:
      return true;
    case ExprKind::LoadStoreOp:
      return !tensorOutputs(consumer)[0]->hasRoot();
    default:
      return false;
  }
}

bool mustBeStored(const Expr* expr) {
  if (expr->isOneOf<ReductionOp, WelfordOp, ScatterOp>() || expr->outputs().size() > 1) {
    return true;
  }
  return std::any_of(expr->outputs().begin(), expr->outputs().end(),
                     [](Val* out) { return out->isFusionOutput(); });
}

}  // namespace

namespace {

/// A tree stores all outputs of its last expression, whoever reads them.
Group makeTree(const Fusion& fusion, std::vector<Expr*> exprs) {
  Group tree = makeGroup(fusion, std::move(exprs));
  tree.outputs = tensorOutputs(tree.exprs.back());
  return tree;
}

}  // namespace

std::vector<Group> cutIntoTrees(const Fusion& fusion) {
  const std::vector<Expr*> exprs = tensorExprs(fusion);
  // From the outputs backwards: consumers know their tree before producers ask.
  std::map<const Expr*, std::set<const Expr*>>
      tree_of;  // expression → last expressions of the trees it is in
  std::map<const Expr*, std::vector<Expr*>> members;
  for (auto it = exprs.rbegin(); it != exprs.rend(); ++it) {
    Expr* expr = *it;
    std::set<const Expr*> roots;
    bool joins = !mustBeStored(expr);
    for (Val* out : expr->outputs()) {
      for (Expr* use : fusion.usesOf(out)) {
        const bool pad_of_cat = expr->isA<PadOp>() && use->isA<CatOp>();
        joins &= readsInPlace(use) || pad_of_cat;
        roots.insert(tree_of[use].begin(), tree_of[use].end());
      }
    }
    joins &= roots.size() == 1;
    std::set<const Expr*>& mine = tree_of[expr];
    if (joins) {
      mine = roots;
    } else {
      mine = {expr};
      if (expr->isA<PadOp>()) {
        // A concatenation computes its pads itself, whoever else reads them.
        for (Expr* use : fusion.usesOf(expr->output(0))) {
          if (use->isA<CatOp>()) {
            members[*tree_of[use].begin()].push_back(expr);
          }
        }
      }
    }
    members[*mine.begin()].push_back(expr);
  }
  std::vector<Group> trees;
  for (Expr* expr : exprs) {
    if (tree_of[expr].count(expr) == 0) {
      continue;
    }
    std::vector<Expr*>& own = members[expr];
    std::reverse(own.begin(), own.end());
    trees.push_back(makeTree(fusion, std::move(own)));
  }
  return trees;
}

std::vector<Group> cutIntoSingles(const Fusion& fusion, const Group& tree) {
  std::vector<Group> singles;
  for (Expr* expr : tree.exprs) {
    std::vector<Expr*> exprs;
    if (expr->isA<CatOp>()) {
      for (Val* in : expr->inputs()) {
        if (in->definition() != nullptr && in->definition()->isA<PadOp>() &&
            std::find(exprs.begin(), exprs.end(), in->definition()) == exprs.end()) {
          exprs.push_back(in->definition());
        }
      }
    }
    exprs.push_back(expr);
    singles.push_back(makeTree(fusion, std::move(exprs)));
  }
  return singles;
}

}  // namespace nvfuser
