/// Which axes a loop comes to each index of, whatever tensor they belong to: what the loop's axis
/// was made from, and what is made of that. A split is undone only where both of its parts are
/// there.
///
///   y[i1] = reshape(x[i3, i4])       a loop over i0·i1 visits i0, i1, and i3, i4
///
/// A loop goes through an axis once. Two axes that are both made of it are not visited together:
///
///   z[a, b] = reshape(x[i0, i1])     a loop over i0·i1 visits a·b, but not (a·b)·i0
#pragma once

#include <unordered_map>
#include <vector>

#include <id_model/id_graph.h>

namespace nvfuser {

class VisitedAxes {
 public:
  /// `sources`: classes that the loop's axis was made from, each of them once.
  VisitedAxes(const std::vector<int>& sources, const IdGraph& exact);

  /// Whether the loop comes to each index of an axis: it was scheduled from axes that are visited
  /// together. It may be a part of its logical axes, such as the rows of a reshape whose columns
  /// have other loops.
  bool leadTo(const IterDomain* id) const;

 private:
  const IdGraph& exact_;
  /// By class that is visited: the axes that it is made of, by the first way that was found; null
  /// for a source. Results of one transform share them.
  std::unordered_map<int, const std::vector<Val*>*> made_of_;
};

}  // namespace nvfuser
