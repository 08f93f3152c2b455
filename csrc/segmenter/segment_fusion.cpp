#include <segmenter/segment_fusion.h>

#include <segmenter/trees.h>

namespace nvfuser {

std::vector<Group> segmentFusion(const Fusion& fusion, const TakesGroup& takes) {
  std::vector<Expr*> all = tensorExprs(fusion);
  if (all.empty()) {
    return {};
  }
  Group whole = makeGroup(fusion, std::move(all));
  if (takes(whole)) {
    return {std::move(whole)};
  }
  std::vector<Group> groups;
  for (Group& tree : cutIntoTrees(fusion)) {
    if (tree.exprs.size() == 1 || takes(tree)) {
      groups.push_back(std::move(tree));
      continue;
    }
    for (Group& single : cutIntoSingles(fusion, tree)) {
      groups.push_back(std::move(single));
    }
  }
  return groups;
}

}  // namespace nvfuser
