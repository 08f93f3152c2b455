/// Inlining: a tensor at position p is computed inside the first p loops of all its consumers.
///
///   T1 at position 1:   for i: { T1 = f(T0) for j;  T2 = g(T1) for j }
///   T1 at position 2:   for i: for j: { T1 = f(T0);  T2 = g(T1) }
///
/// Axis i of a producer and of a consumer can be one loop if both are one class of the permissive
/// axis graph, the axis is no reduction of the producer, and neither side is bound to a type that
/// handles several elements at once (Vectorize, Group, Bulk). Besides, the loops must be runnable:
/// statements that share a loop must not wait, inside it, for a value that another one completes
/// only when the loop ends (x → sum → broadcast → sub ← x: x cannot be inlined into both inside the
/// summed loop). And a loop has one size: a tensor that is broadcast to two different extents
/// cannot be inlined into both. That is decided for all tensors together, consumers first, each as
/// far inside as it can go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ir/fusion.h>
#include <ir/interface_nodes.h>

namespace nvfuser {

/// The tensors of a set in the Fusion's order.
std::vector<TensorView*> inOrder(const Fusion& fusion, const std::unordered_set<TensorView*>& tvs);

/// How far inside each tensor of a Fusion can be placed, for the schedule of this moment.
class MaxPosCalculator {
 public:
  /// For the active Fusion (`FusionGuard`). No loop is shared over an axis of `uninlinable_ids`.
  /// Both values of `compute_at_only` mean the same: there is no computeWith.
  explicit MaxPosCalculator(const std::unordered_set<IterDomain*>& uninlinable_ids = {},
                            bool compute_at_only = false);
  explicit MaxPosCalculator(const Fusion& fusion,
                            const std::unordered_set<IterDomain*>& uninlinable_ids = {});
  /// Tensors of `held` are computed where their operands are rather than where they are read: at
  /// most at these positions.
  MaxPosCalculator(const Fusion& fusion,
                   const std::unordered_map<const TensorView*, int64_t>& held);
  ~MaxPosCalculator();
  MaxPosCalculator(const MaxPosCalculator&) = delete;
  MaxPosCalculator& operator=(const MaxPosCalculator&) = delete;

  /// Whether a loop over the axis may be shared, as far as the axis alone says; reductions only
  /// with `allow_reduction`: a consumer may reduce it, its producer may not.
  bool isAllowedID(const IterDomain* id, bool allow_reduction) const;
  /// Position before the first axis that `tv` cannot share, for its own sake.
  int64_t getMaxPosSelf(const TensorView* tv, bool allow_reduction = false) const;
  /// The same for one consumer too: loops of `producer` that can also be `consumer`'s.
  int64_t getMaxProducerPosFromConsumer(const TensorView* producer,
                                        const TensorView* consumer) const;
  /// For all consumers and siblings together, with runnable loops.
  int64_t getMaxPosAll(const TensorView* tv) const;
  /// Number of leading loop axes of `tv` that are among the first `pos` of `reference`.
  int64_t getMappedPos(const TensorView* tv, const TensorView* reference, int64_t pos) const;
  /// Why `tv` cannot go beyond `getMaxPosAll(tv)`, as a sentence for a message.
  std::string whyNotFurther(const TensorView* tv) const;

 private:
  struct State;
  MaxPosCalculator(const Fusion& fusion, const std::unordered_set<IterDomain*>& uninlinable_ids,
                   const std::unordered_map<const TensorView*, int64_t>& held);
  std::unique_ptr<State> state_;
};

/// Places every tensor of the active Fusion as far inside its consumers as possible.
void inlineMost(const std::unordered_set<IterDomain*>& uninlinable_ids = {});
void inlineMost(const std::vector<TensorView*>& tvs,
                const std::unordered_set<IterDomain*>& uninlinable_ids = {});
void inlineMost(const std::unordered_set<TensorView*>& tvs,
                const std::unordered_set<IterDomain*>& uninlinable_ids = {});

/// Places every tensor inside the loops that correspond to the first `reference_pos` loops of
/// `reference_tv` (−1: all). Where that cannot be, it is an error, or with `best_effort` as far
/// inside as possible.
void inlineAllAt(TensorView* reference_tv, int64_t reference_pos, bool best_effort = false,
                 const std::unordered_set<IterDomain*>& uninlinable_ids = {});
void inlineSelectedAt(const std::unordered_set<TensorView*>& selected, TensorView* reference_tv,
                      int64_t reference_pos, bool best_effort = false,
                      const std::unordered_set<IterDomain*>& uninlinable_ids = {});

/// What these two and computeAt do; errors speak in the name of `primitive`.
void inlineTensorsAt(std::string_view primitive, const std::vector<TensorView*>& tvs,
                     TensorView* reference_tv, int64_t reference_pos, bool best_effort,
                     const std::unordered_set<IterDomain*>& uninlinable_ids);

/// No tensor shares a loop any more.
void resetInlining(Fusion* fusion);

}  // namespace nvfuser
