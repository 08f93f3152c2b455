/// Whether a reader finds the element that it reads.
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
#include <optional>
#include <unordered_map>

#include <iteration_space/places.h>

namespace nvfuser {

/// Indices of a tensor's axes where a statement reads or writes it.
using AxisIndex = std::unordered_map<const IterDomain*, kir::Scalar>;

/// Where two statements are at different elements of one tensor.
struct ElementsApart {
  int position = 0;               ///< of the loop axis
  kir::Scalar written = nullptr;  ///< null where the writer's loops do not lead to it
  kir::Scalar read = nullptr;
};

/// The statement that completes a tensor. Its places are asked for only where its loops run over
/// more than its own axes.
struct WriterAt {
  const TensorView* tv = nullptr;
  std::function<Places()> places;
  std::function<kir::Scalar(const LoopClass*)> iteration;  ///< where a loop is
};

/// The first loop axis at `positions` along which the writer is at another element than the one
/// that `consumer`, at its places, reads; nothing if it is the same element.
std::optional<ElementsApart> elementsApart(const WriterAt& writer,
                                           const std::vector<int>& positions,
                                           const TensorView* consumer, const Places& places,
                                           const AxisIndex& read, const LoopModel& loops,
                                           const IdGraph& exact);

}  // namespace nvfuser
