/// Groups of units, the tensors between them, and merging them without making a cycle.
///
/// Groups are kept in an order in which they can run. Two of them may be merged if no path leads
/// from one to the other through a third; only groups that stand between them in that order can lie
/// on such a path, so the walk is bounded, and after the merge only those are put into a new order.
///
///   a → b,  a → c → b      a and b may not be merged (c would read and feed the union)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <segmenter/traits.h>

namespace nvfuser {

class GroupGraph {
 public:
  /// A walk that meets more groups or readers than this is given up, and the merge with it.
  static constexpr int kMostWalked = 512;
  static constexpr int kMostScanned = 8192;
  static constexpr size_t kMostReaders = 16;  ///< of a tensor that a union's cost looks at

  struct Node {
    std::vector<int> units;
    std::map<int, int64_t> reads;  ///< tensors that it reads but does not compute → bytes of them
    std::set<int> writes;          ///< tensors that it stores: outputs, and those that others read
    std::map<int, int> written_spaces;  ///< space of stored tensors → how many
    int signature = -1;                 ///< of its reductions; −1: none; −2: several
    int space = -1;                     ///< the largest one of its units
    int64_t elements = 0;               ///< of that space
    int kept = -1;                      ///< space of its reductions' results
    int reduced_space = -1;             ///< space that its reductions run over
    double work = 0;
    int parts = 0;  ///< of its widest concatenation; 0: it has none
    int weight = 0;
    int transforms = 0;
    bool alone = false;
    int version = 0;  ///< changes with every merge
  };

  /// What a merge of two groups would give.
  struct Union {
    double saved_bytes = 0;  ///< that no longer cross memory
    double held_bytes = 0;   ///< of tensors between kernels that are in memory for longer
    std::map<int, int> written_spaces;
    size_t num_units = 0;
    size_t num_transforms = 0;
    size_t weight = 0;
    bool crosses_cut = false;  ///< one reads what a segment_set of the other stores
    bool joins_wide = false;   ///< it would have several concatenations, one of them of many parts
    size_t num_borders = 0;    ///< tensors read and stored
    bool connected = false;    ///< one reads what the other stores
  };

  /// `parts`: units of each group; every unit is in one.
  GroupGraph(const FusionTraits& traits, const std::vector<std::vector<int>>& parts);

  int groupOf(int unit) const { return find(unit); }
  const Node& node(int group) const { return nodes_[static_cast<size_t>(group)]; }
  Union unionOf(int a, int b) const;
  /// Whether a path leads from one to the other through a third (or the walk was given up).
  bool wouldMakeCycle(int a, int b);
  /// Merges if that makes no cycle. Returns the group that stands for both.
  std::optional<int> merge(int a, int b);

  /// Live groups in an order in which they can run: their units, ascending.
  std::vector<std::vector<int>> parts() const;
  /// Groups and readers met in walks so far.
  int64_t walked() const { return walked_; }

 private:
  int find(int unit) const;
  /// Bytes of the tensors between kernels that `group` stores and `other` does not read; their
  /// readers are added to `readers`.
  double between(const Node& group, const Node& other, std::set<int>& readers) const;
  /// Groups that read what `group` stores / that store what it reads, with repetitions.
  template <typename Visit>
  void forSuccessors(int group, const Visit& visit) const;
  template <typename Visit>
  void forPredecessors(int group, const Visit& visit) const;
  /// Walks from `from` over groups between the two places; false where it comes to `target` other
  /// than directly.
  bool walk(int from, int target, bool forward, std::vector<int>& met);
  void absorb(int into, int from);
  /// Adds to the bytes that a group reads of a tensor, of which there are no more than all.
  void addRead(int64_t& of, int tensor, int64_t bytes) const;
  void addWrite(Node& node, int tensor);
  void dropWrite(Node& node, int tensor);

  const FusionTraits& traits_;
  mutable std::vector<int> parent_;  ///< by unit; a group is known by one of its units
  std::vector<Node> nodes_;          ///< by unit; empty unless it stands for a group
  std::vector<int64_t> order_;       ///< by unit: place of the group
  std::vector<int> num_readers_;     ///< by tensor: other groups that read it
  std::vector<int> seen_;            ///< by unit: last walk that met the group
  int walk_ = 0;
  int64_t walked_ = 0;
};

}  // namespace nvfuser
