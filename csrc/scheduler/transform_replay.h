/// Replays of one tensor's schedule on another, as domains and as a propagator over the spanning
/// tree. The rules are those of replay_loop.h.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include <scheduler/replay_loop.h>
#include <scheduler/tools/maxinfo_propagator.h>

namespace nvfuser {

class TransformReplay {
 public:
  /// The producer's domain with the loops of the consumer's first `pos` axes (−1: all), and how
  /// many leading loop axes stand for them. The producer itself is left as it is.
  static std::pair<TensorDomain*, int64_t> replayPasC(const TensorView* producer,
                                                      const TensorView* consumer, int64_t pos);
  /// The consumer's domain with the loops of the producer's first `pos` axes.
  static std::pair<TensorDomain*, int64_t> replayCasP(const TensorView* consumer,
                                                      const TensorView* producer, int64_t pos);
  /// Number of the producer's leading loop axes that already correspond to the consumer's first
  /// `pos` ones; −1 if fewer than those have a counterpart.
  static int64_t getMatchedLeafPosWithoutReplayPasC(const TensorView* producer,
                                                    const TensorView* consumer, int64_t pos);
  static int64_t getMatchedLeafPosWithoutReplayCasP(const TensorView* consumer,
                                                    const TensorView* producer, int64_t pos);
  /// Whether `target`'s loops are already what a replay of its sibling `reference` gives.
  static bool fullSelfMatching(const TensorView* reference, const TensorView* target);
  /// The axes of `new_self` (its logical domain corresponds to that of `self`, axis by axis) with
  /// all loop transforms of `self` and the bindings of its loop axes.
  static TensorDomain* fullSelfReplay(const TensorDomain* new_self, const TensorDomain* self);
};

/// Gives each tensor that it visits the loops of the one it comes from:
/// `MaxLogicalDomainInfoSpanningTree(ref) .traverse(&propagator)` schedules a whole Fusion like
/// `ref`.
class TransformPropagator : public MaxInfoSpanningTree::Propagator {
 public:
  /// The first `pos` loop axes of `from` are spread (−1: all).
  explicit TransformPropagator(TensorView* from, int64_t pos = -1);
  void propagateC2P(TensorView* from, TensorView* to) override;
  void propagateP2C(TensorView* from, TensorView* to) override;
  void propagateSibling(TensorView* from, TensorView* to) override;

 private:
  void propagate(TensorView* from, TensorView* to, ReplayDirection direction);
  /// For each visited tensor, how many leading loop axes stand for those of the reference.
  std::unordered_map<TensorView*, int64_t> replayed_pos_;
};

/// As above, with all loop axes of each tensor that is visited, not only those that stand for the
/// reference's.
class MostInlinedTransformPropagator : public MaxInfoSpanningTree::Propagator {
 public:
  void propagateC2P(TensorView* from, TensorView* to) override;
  void propagateP2C(TensorView* from, TensorView* to) override;
  void propagateSibling(TensorView* from, TensorView* to) override;
};

}  // namespace nvfuser
