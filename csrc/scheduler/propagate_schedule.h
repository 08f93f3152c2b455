/// Spreading one tensor's transforms: to the whole Fusion, or to a bounded part of it.
#pragma once

#include <cstdint>
#include <vector>

#include <ir/fusion.h>

namespace nvfuser::scheduler_utils {

/// All tensors get the loops of the first `pos` axes of `from_tv` (−1: all), along the
/// maximum-information spanning tree.
void transformPropagateToAllFrom(TensorView* from_tv, int64_t pos = -1);

/// Between `from` and some tensors above it (backward), below it (forward), or on both sides.
struct BoundedDirectionalTransformPropagator {
  struct Options {
    /// Bindings of `from` are given to the tensors that were visited.
    bool propagate_parallel_type = false;
    /// The tensors named as the boundary get the loops too.
    bool transform_boundary = false;
    /// Bindings of its first axes only (−1: all).
    int64_t parallel_propagation_pos = -1;

    Options& propagateParallelType(int64_t up_to_pos = -1) {
      propagate_parallel_type = true;
      parallel_propagation_pos = up_to_pos;
      return *this;
    }
    Options& propagateToBoundary() { return transform_boundary = true, *this; }
  };
  static void backward(TensorView* from, int64_t pos, const std::vector<TensorView*>& to) {
    backward(from, pos, to, Options());
  }
  static void backward(TensorView* from, int64_t pos, const std::vector<TensorView*>& to,
                       const Options& options);
  static void forward(TensorView* from, int64_t pos, const std::vector<TensorView*>& to) {
    forward(from, pos, to, Options());
  }
  static void forward(TensorView* from, int64_t pos, const std::vector<TensorView*>& to,
                      const Options& options);
  static void bothWays(TensorView* from, int64_t pos, const std::vector<TensorView*>& backward_to,
                       const std::vector<TensorView*>& forward_to) {
    bothWays(from, pos, backward_to, forward_to, Options());
  }
  static void bothWays(TensorView* from, int64_t pos, const std::vector<TensorView*>& backward_to,
                       const std::vector<TensorView*>& forward_to, const Options& options);
};

/// Results of reductions, one for each reduction expression, in definition order.
std::vector<TensorView*> getReductionTvs(Fusion* fusion);
/// Results of reshapes.
std::vector<TensorView*> getViewTVs(Fusion* fusion);

}  // namespace nvfuser::scheduler_utils
