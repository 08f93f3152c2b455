/// Where a tensor may have loops of its own inside loops that it shares.
///
///   loops of the reference: (i0·i1) / 4, V = 4
///   x[i0, i1]   (i0·i1) / 4, 4     its own V goes on where the shared loop stands
///   b[i1]       i1 / 4, 4          its own V says nothing of i1 inside a loop over (i0·i1) / 4:
///                                  its elements are read one by one, in the reference's loops
///
///   loops of the reference: i0·i1, i2 / 4, V = 4
///   m[i0, i2]   i0, i2 / 4, 4      its own V goes on: i0 is made of whole loops
///
/// A shared loop runs over the axes of the tensor that has most of them: in max(c[b0, i1], y[i0,
/// i1]) beside sum(c), c's loops are the reference's, (1·i1) / 4, but run over (i0·i1) / 4.
#pragma once

#include <vector>

#include <id_model/id_graph.h>

namespace nvfuser {

class OwnLoops {
 public:
  /// Of a scheduled Fusion, before anything is inlined. `nest`: what shares the reference's loops.
  OwnLoops(const Fusion& scheduled, const TensorView* reference,
           const std::vector<TensorView*>& nest);

  /// Whether `tv` may have its loops from position `from` on for itself: those of its other loops
  /// that come from the same axes are the reference's ones at their places, or have one element.
  bool mayHave(const TensorView* tv, int64_t from) const;
  /// The innermost of those that are not over a broadcast axis.
  bool mayHaveInnermost(const TensorView* tv) const;
  /// Whether a loop is the one that the reference's tensors share at that position.
  bool isShared(const IterDomain* loop, int64_t position) const;

 private:
  bool isShared(const TensorView* tv, int64_t position) const;

  IdGraph exact_;
  std::vector<const IterDomain*> shared_;  ///< what the loop at each position runs over
};

/// Whether the loops of one tensor are those of the other, each at its place.
bool haveSameLoops(const TensorView* a, const TensorView* b, const IdGraph& graph);

/// The innermost loop that is not over a broadcast axis as vectors of `width` elements, behind all
/// others: `loop` of `elements` → elements / width, width bound to Vectorize.
void vectorizeInnermost(TensorView* tv, int64_t width, int64_t elements);

}  // namespace nvfuser
