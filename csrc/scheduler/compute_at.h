/// computeAt: schedules everything between a producer and a consumer like the consumer, and inlines
/// it there.
#pragma once

#include <cstdint>
#include <unordered_set>

#include <ir/interface_nodes.h>

namespace nvfuser {

class ComputeAt {
 public:
  /// The first `consumer_position` loops of `consumer` (−1: all) are replayed on all tensors on the
  /// ways from `producer` to it, which are then placed there (Standard; an error where that cannot
  /// be), as far towards it as possible (BestEffort), or as far inside as possible (MostInlined).
  /// Inputs are not computed and stay where they are.
  static void runAt(TensorView* producer, TensorView* consumer, int64_t consumer_position,
                    ComputeAtMode mode = ComputeAtMode::Standard);
};

/// All tensors on ways from `from` to `to`, both included; empty if there is none.
std::unordered_set<TensorView*> tensorsBetween(TensorView* from, TensorView* to);

}  // namespace nvfuser
