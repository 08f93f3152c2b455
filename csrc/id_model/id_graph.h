/// The one graph of how axes relate (algorithms: docs/architecture.md). Vertices are classes of
/// axes that mean the same index; edges are transforms (split, merge, resize, swizzle) between
/// classes.
///
/// Exact: an axis of a producer and the axis it becomes in a consumer are one class; a broadcast
/// axis and the concrete axis it meets are not, unless both have one element. Permissive: they are
/// too, so a class says "may share a loop". Both are closed under congruence: transforms of one
/// kind with equal attributes and equal inputs have equal outputs. What a reshape merged or split,
/// and the schedule splits or merges again, is the axis that it was (restoredAxes).
///
///   T1[i0, b1] = broadcast(T0[i2]);  T3[i3, i4] = T1 + T2[i5, i6]
///   exact:      {i2, i0, i5, i3}  {b1}  {i6, i4}
///   permissive: {i2, i0, i5, i3}  {b1, i6, i4}
///
/// An axis never joins a class that already holds another axis of the same tensor's logical (or
/// root, or loop) list: in T1 = T0 + transpose(T0) the second meeting is left out, and the indexer
/// crosses that operation axis by axis.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

class IdGraph {
 public:
  enum class Mode : uint8_t { Exact, Permissive };

  /// Classes over all tensors that take part in the fusion, as scheduled at this moment.
  IdGraph(const Fusion& fusion, Mode mode);

  /// Number of the class of an axis; −1 for an axis of no tensor in the fusion.
  int classOf(const IterDomain* id) const;
  bool mapped(const IterDomain* a, const IterDomain* b) const;
  int numClasses() const { return static_cast<int>(members_.size()); }
  /// Axes of a class, in order of the tensors.
  const std::vector<IterDomain*>& members(int id_class) const {
    return members_[static_cast<size_t>(id_class)];
  }
  /// Transforms that make / use an axis of the class.
  const std::vector<Expr*>& definitions(int id_class) const {
    return definitions_[static_cast<size_t>(id_class)];
  }
  const std::vector<Expr*>& uses(int id_class) const {
    return uses_[static_cast<size_t>(id_class)];
  }
  /// The tensor an axis belongs to; null for an unknown one.
  TensorView* tensorOf(const IterDomain* id) const;

  std::string toString() const;

 private:
  int find(int node) const;
  bool unite(IterDomain* a, IterDomain* b);
  void closeUnderCongruence();

  /// Number of an axis; −1 for one of no tensor.
  int nodeOf(const IterDomain* id) const {
    const auto name = static_cast<size_t>(id->name());
    const int node = name < node_of_name_.size() ? node_of_name_[name] : -1;
    return node >= 0 && nodes_[static_cast<size_t>(node)] == id ? node : -1;
  }

  std::vector<int> node_of_name_;  ///< by the number of an axis in its Fusion; −1: none
  std::vector<IterDomain*> nodes_;
  std::vector<TensorView*> tensor_of_;
  mutable std::vector<int> parent_;
  /// Per root node: the (tensor, list) pairs that already have an axis in the class, sorted.
  std::vector<std::vector<std::pair<int, int>>> occupied_;
  std::vector<Expr*> transforms_;
  std::vector<int> class_of_node_;
  std::vector<std::vector<IterDomain*>> members_;
  std::vector<std::vector<Expr*>> definitions_;
  std::vector<std::vector<Expr*>> uses_;
};

/// Axes that transforms of a tensor give back of what its operation, a reshape, took: each with the
/// one that it is again. A split gives the parts of a merge, a merge of all parts the whole. (What
/// a schedule merges and splits again stays apart: tensors that are broadcast along a part have
/// such loops, too, and in theirs nothing comes back.)
///
///   reshape: merge(i0, i1) → m       split m by |i1| → a, b: a is i0, b is i1
///   reshape: split i0 by 4 → a, b    merge(a, b) is i0
using RestoredAxes = std::unordered_map<const IterDomain*, IterDomain*>;
RestoredAxes restoredAxes(const TensorView* tv);

}  // namespace nvfuser
