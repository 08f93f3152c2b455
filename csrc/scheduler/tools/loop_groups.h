/// Which statements share a loop at each depth, while inlining is decided from the consumers to the
/// producers.
///
/// Statements are numbered in an order where producers come first. A group at depth d is a set of
/// statements in one loop at that depth. Two things must hold of it:
/// - The loops are runnable: no path of dependences leaves the group and returns to it. What such a
///   path passes outside could run neither before nor after the loop.
/// - The loop has one size: statements say what they iterate over as pairs (axis class, size), and
///   no class has two sizes. A broadcast says nothing; it takes the size of what it meets.
/// - The loop has one binding: those that are bound to threads, blocks or vectors say to which, as
///   the size of a class of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace nvfuser {

class LoopGroups {
 public:
  using Sizes = std::map<int, int>;
  static constexpr int kBinding = -1;  ///< the class whose size is the parallel type

  /// consumers[s]: statements that read what statement s writes. sizes[s][depth]: what its loop at
  /// that depth iterates over.
  LoopGroups(std::vector<std::vector<int>> consumers, std::vector<std::vector<Sizes>> sizes);

  /// Whether statement s can share its loop at `depth` with all its consumers, given that it does
  /// at all outer depths: first whether that is runnable, then whether the sizes agree.
  bool isRunnable(int s, int depth);
  /// Two sizes of a class that disagree, if any.
  struct Disagreement {
    int axis_class;
    int sizes[2];
  };
  std::optional<Disagreement> disagreement(int s, int depth);
  /// Puts s into one loop with all its consumers at `depth`.
  void join(int s, int depth);

 private:
  struct Level {
    std::vector<int> parent;
    std::vector<std::vector<int>> members;  // by representative
    std::vector<Sizes> sizes;               // by representative
  };
  int find(const Level& level, int s) const;
  Level& levelAt(int depth);
  /// The groups of the consumers of s, each once.
  std::vector<int> groupsOfConsumers(const Level& level, int s) const;

  std::vector<std::vector<int>> consumers_;
  std::vector<std::vector<Sizes>> sizes_;
  std::vector<Level> levels_;
};

}  // namespace nvfuser
