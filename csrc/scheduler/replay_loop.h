/// The one replay: what a target's loop domain must be so that it runs over the same loops as a
/// reference's.
///
/// The reference's transforms between the axes that the operation connects and its first `pos` loop
/// axes are done again on the target, each one whose inputs the target has. Transforms that the
/// target already has are used, not repeated.
///
///   reference T3[(i0·i1)/4, 4] = T2 + broadcast(T1);   target T1[i0]
///   → T1[(i0·b)/4, 4] with a fresh axis b of extent 1
///
/// Such an axis stands in wherever the reference has a broadcast that the target lacks: as the
/// partner in a transform, or by itself at the same position of the loop domain. Transforms that
/// need an axis which the target lacks for another reason (the producer reduced it, it is read
/// through an index) are left out. Axes of the target that no replayed axis covers follow behind,
/// as they were. Transforms that belong to an operation (reshape, slice, pad: between root and
/// logical domain) stay what they are: a consumer's reshape is replayed on its producer like a
/// schedule; for a producer's loops it is undone in the consumer, whose loops are made from its
/// logical axes; a slice or pad is passed through, so that both sides are tiled alike.
///
///   reference T1[n, r k] = sum(T0[n, k]);   target T3[n, h, d] = reshape(T0 − T1)
///   → T3[n, (h·d)/4, 4], h·d of the class of k (id_model/id_graph.h: restoredAxes)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

enum class ReplayDirection : uint8_t { ConsumerToProducer, ProducerToConsumer, Sibling };

struct LoopReplay {
  std::vector<IterDomain*> loop;
  /// New axes of extent 1 among those of `loop` or their sources, each with the reference's axis
  /// that it stands for.
  std::vector<std::pair<IterDomain*, IterDomain*>> added;
  /// Number of leading axes of `loop` that stand for the reference's first `pos` axes.
  int64_t position = 0;
  /// Axis i of both loop domains correspond for all i below.
  int64_t aligned = 0;
};

/// Makes the axes, but leaves the target as it is: `applyReplay` sets them. Reference and target
/// are producer and consumer of one expression, or its two outputs.
LoopReplay replayLoop(const TensorView* reference, int64_t pos, const TensorView* target,
                      ReplayDirection direction);

/// Number of leading axes, at most `pos`, at which the target's loop domain is already what a
/// replay would make it.
int64_t matchingLoops(const TensorView* reference, int64_t pos, const TensorView* target,
                      ReplayDirection direction);

/// Sets the loop domain of `target`. Throws `UserError` if that would change loops it shares
/// already.
void applyReplay(TensorView* target, const LoopReplay& replay);

/// Replaces the inputs of `transform` among `ids` by its outputs, at the place of the first of
/// them.
void applyTransform(std::vector<IterDomain*>& ids, const Expr* transform);

}  // namespace nvfuser
