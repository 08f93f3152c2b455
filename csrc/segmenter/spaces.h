/// Numbers for sets of axes, by which a cut sees what is computed in one space.
///
///   T1[a·b] = reshape(T0[a, b])     space {a, b}, as T0's
///
/// Axes are classes of the exact graph, followed back through splits and merges to where they come
/// from; equal numbers mean equal sets.
#pragma once

#include <map>
#include <set>
#include <vector>

#include <id_model/id_graph.h>

namespace nvfuser {

class Spaces {
 public:
  explicit Spaces(const IdGraph& graph)
      : graph_(graph), sources_(static_cast<size_t>(graph.numClasses())) {}

  /// Of the axes that are neither broadcasts nor, unless `with_reductions`, reductions.
  std::set<int> sourcesOf(const std::vector<IterDomain*>& axes, bool with_reductions);
  int number(const std::set<int>& space);
  /// Of a reduction.
  int signature(const std::set<int>& kept, const std::set<int>& reduced);

 private:
  /// Classes that a class is made of by splits and merges; itself if it comes from nothing else or
  /// from a resize, which makes other elements of it.
  const std::set<int>& sourcesOf(int id_class);

  const IdGraph& graph_;
  std::vector<std::set<int>> sources_;  ///< by class; empty: not yet known
  std::map<std::set<int>, int> numbers_;
  std::map<std::pair<std::set<int>, std::set<int>>, int> signatures_;
};

}  // namespace nvfuser
