/// Which element of a tensor a statement reads, and whether that is the one that was computed.
///
/// The axes of what is read follow from the reader's axis by axis (`mapAxes`), so that
/// x + transpose(x) reads x at two places; a broadcast axis has index 0.
///
/// Where one place in memory serves all indices of a loop, what was written in this turn is there
/// and nothing else. So along each such loop the producer has to be written at the index at which
/// it is read:
///
///   T1[i0] in the loop of T2[i0] = T1[i0]             written at k, read at k
///   T1[i0] in the loop of T2[i0, i1] = T1[i1] + …     written at k, read at another index
///
/// docs/math/places.md says in which turns the two have to be equal: those of the reader alone.
#pragma once

#include <functional>

#include <iteration_space/places.h>
#include <iteration_space/schedule_refusal.h>

namespace nvfuser {

/// Indices of a tensor's axes where a statement reads or writes it.
using AxisIndex = std::unordered_map<const IterDomain*, kir::Scalar>;

/// The statement that completes a tensor. Its places are asked for only where its loops run over
/// more than its own axes.
struct WriterAt {
  const TensorView* tv = nullptr;
  std::function<Places()> places;
  std::function<kir::Scalar(const LoopClass*)> iteration;  ///< where a loop is
};

class Reads {
 public:
  Reads(const LoopModel& loops, const IdGraph& exact, Symbols& symbols)
      : loops_(loops), exact_(exact), symbols_(symbols) {}

  /// Adds to `known` the logical axes of `producer`, read by `expr` for `consumer`, and what
  /// follows from the loops around these. Axes read through an index or dropped (gather, select)
  /// are left out.
  MaybeRefused axes(const Expr* expr, const TensorView* producer, const TensorView* consumer,
                    const Places& places, AxisIndex& known) const;
  /// Adds the axes that the tensor's logical axes were made into.
  void followTransforms(const TensorView* tv, AxisIndex& known) const;
  /// Why `consumer`, at its places, reads another element than the one that is there.
  MaybeRefused elementsApart(const WriterAt& writer, const TensorView* consumer,
                             const Places& places, const AxisIndex& read) const;
  /// Whether both have loops over their own axes, and made alike of axes that correspond: then they
  /// are at one element wherever they share a loop, and no index has to be compared.
  bool areAlike(const Expr* expr, const TensorView* producer, const TensorView* consumer) const;

 private:
  friend class ReadCheck;
  using Partners = std::unordered_map<const Val*, const Val*>;
  /// Pairs that are found alike become `partners`: a chain of merges meets each axis many times.
  bool isAlike(const IterDomain* p, const IterDomain* c, Partners& partners) const;
  /// Axes of the producer that are read at the index of loops around the consumer, where these lead
  /// to the logical axes in `known`: a loop's variable need not be computed back.
  void followLoops(const TensorView* producer, const Places& places, AxisIndex& known) const;
  /// Whether an element is there at each index of a broadcast axis that loops go through, not at
  /// the first alone.
  bool storesRepeats(const TensorView* tv) const;
  /// Positions of the loop axes of which one place in memory serves all indices, one after the
  /// other or one for each thread.
  std::vector<int> heldAtOneIndex(const TensorView* tv) const;

  const LoopModel& loops_;
  const IdGraph& exact_;
  Symbols& symbols_;
};

/// The first statement of a scheduled Fusion that would read another element than it needs.
MaybeRefused refusedReads(const Fusion& fusion, const IdGraph& exact, const LoopModel& loops,
                          Symbols& symbols);

}  // namespace nvfuser
