/// Where in memory a statement reads and writes: the one way from places to offsets.
///
/// The places of a statement (iteration_space/places.h) give the index of each axis of what it
/// writes; iteration_space/reads.h those of what it reads.
#pragma once

#include <device_lower/allocation.h>
#include <device_lower/loop_tree.h>
#include <iteration_space/reads.h>

namespace nvfuser {

class Indexer {
 public:
  Indexer(const IdGraph& exact, LoopModel& loops, Symbols& symbols, Allocations& allocations)
      : exact_(exact),
        loops_(loops),
        symbols_(symbols),
        allocations_(allocations),
        reads_(loops, exact, symbols) {}

  /// The statement that completes a tensor. Reading requires that it ran at the element that is
  /// read, in the same iteration of the loops that both share.
  void noteWriter(const Leaf& leaf);

  /// From now on statements are indexed as if `loop` were at `index`: a load that runs ahead of its
  /// loop, a member of a group. A null index ends it.
  void shift(const LoopClass* loop, kir::Scalar index);
  /// Where the loop is: its variable, unless it is shifted.
  kir::Scalar iteration(const LoopClass* loop) const;

  /// Places of a statement; `replaced` gives loops another index than their variable (0 for a
  /// vectorized one).
  Places around(const Leaf& leaf,
                const std::unordered_map<const LoopClass*, kir::Scalar>& replaced = {}) const;

  /// Indices of the logical axes of `producer`, read by `expr` for `consumer`. Axes read through an
  /// index or dropped (gather, select) are left for the caller to fill in.
  AxisIndex producerAxes(const Expr* expr, const TensorView* producer, const TensorView* consumer,
                         const Places& places) const;
  /// Element that `consumer` reads at its places, given the indices of the producer's logical axes.
  /// A `UserError` where the loops that both share have computed another one.
  kir::Ref read(const TensorView* producer, const TensorView* consumer, const Places& places,
                AxisIndex logical) const;
  /// Element of its own memory that a statement computing `tv` writes.
  kir::Ref write(const TensorView* tv, const Places& places) const;
  /// An axis that a tensor of the caller has in memory, and the index along it.
  struct MemoryAxis {
    kir::Scalar index = nullptr;
    kir::Scalar extent = nullptr;
    kir::Scalar stride = nullptr;
  };
  /// All of them, outermost first, without broadcasts.
  std::vector<MemoryAxis> memoryAxes(const TensorView* tv, AxisIndex known) const;
  /// Indices of the axes of what a statement writes.
  AxisIndex indicesOf(const TensorView* tv, const Places& places) const;
  /// Which stage of a circular buffer the statement works on; 0 where there is one.
  kir::Scalar stage(const TensorView* tv) const;
  /// Row-major index of the element being computed, over the logical domain.
  kir::Scalar logicalElement(const TensorView* tv, const Places& places) const;

 private:
  kir::Scalar offset(const TensorView* tv, const AxisIndex& known) const;
  /// A `UserError` where threads that write shared memory in one iteration have elements of several
  /// of the tensor's own: a loop over the axes of another tensor goes through these otherwise.
  void requireRoom(const TensorView* tv, const AxisIndex& known) const;
  /// Whether any loop is shifted now.
  bool isAtAnotherTurn() const;
  kir::Scalar taskBase(const Allocation& allocation) const;
  kir::Scalar stageBase(const TensorView* tv) const;

  const IdGraph& exact_;
  LoopModel& loops_;
  Symbols& symbols_;
  Allocations& allocations_;
  Reads reads_;
  std::unordered_map<const TensorView*, const Leaf*> writer_;
  std::unordered_map<const LoopClass*, kir::Scalar> shifted_;
};

}  // namespace nvfuser
