/// A nest of loops as a list of steps. Loops have names, so that a step says what it does without
/// counting, and a plan prints as it is carried out:
///
///   split row by 4 -> row, vector
///   split row by 128 -> row, thread
///   split row in 8 -> grid, row
///   order columns, grid, row, thread, vector
///   bind thread threadIdx.x
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

class LoopSteps {
 public:
  /// Of a nest whose loops are these, outermost first; each is serial until it is bound.
  explicit LoopSteps(std::vector<std::string> loops);

  /// `inner` has `factor` turns.
  void split(std::string_view loop, int64_t factor, std::string_view outer, std::string_view inner);
  /// `outer` has `parts` turns.
  void splitIn(std::string_view loop, int64_t parts, std::string_view outer,
               std::string_view inner);
  void rename(std::string_view loop, std::string_view name);
  /// Neighbours become one loop, which takes the name of the second.
  void merge(std::string_view outer, std::string_view inner);
  /// All loops in another order.
  void order(std::vector<std::string> loops);
  /// `loop` goes right behind another one.
  void moveBehind(std::string_view loop, std::string_view other);
  /// `loop` goes right before another one.
  void moveBefore(std::string_view loop, std::string_view other);
  void bind(std::string_view loop, ParallelType type);

  /// From the outermost loop, 0.
  int64_t placeOf(std::string_view loop) const;
  bool has(std::string_view loop) const;
  std::vector<std::string> names() const;
  /// What the loops are bound to, outermost first.
  std::vector<ParallelType> bindings() const;

  /// Splits, merges and reorders the loops of a tensor, but does not bind them.
  void apply(TensorView* tv) const;
  /// Each step.
  std::vector<std::string> lines() const;
  friend bool operator==(const LoopSteps&, const LoopSteps&) = default;

 private:
  struct Loop {
    std::string name;
    ParallelType type = ParallelType::Serial;
    friend bool operator==(const Loop&, const Loop&) = default;
  };
  struct Step {
    enum class Kind : uint8_t { Split, SplitIn, Merge, Name, Order, Bind } kind;
    std::vector<int64_t> places;  ///< of the loop; of an order: where each loop comes from
    int64_t factor = 0;
    std::vector<std::string> names;  ///< of what there was, then of what there is
    ParallelType type = ParallelType::Serial;
    friend bool operator==(const Step&, const Step&) = default;
  };
  void splitAt(Step::Kind kind, std::string_view loop, int64_t factor,
               std::vector<std::string> names);
  std::vector<std::string> others(std::string_view loop) const;

  std::vector<Loop> loops_;
  std::vector<Step> steps_;
};

}  // namespace nvfuser
