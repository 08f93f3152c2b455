/// Makes the tensors that reading through windows (resize_windows.h) takes: parts of inputs, and
/// choices between tensors by an index.
#pragma once

#include <vector>

#include <scheduler/resize_windows.h>

namespace nvfuser::scheduler_tools {

/// The axes of a tensor but for those that a reduction took.
std::vector<IterDomain*> axesOf(const TensorView* tv);

class WindowTensors {
 public:
  explicit WindowTensors(Fusion* fusion) : fusion_(fusion) {}

  TensorView* tensor(std::vector<IterDomain*> root, std::vector<IterDomain*> logical,
                     DataType dtype);
  IterDomain* axis(Val* extent, bool of_resize = false);
  /// Axes of what `tv` looks like through its windows.
  std::vector<IterDomain*> axesThrough(const TensorView* tv, const Windows& windows);
  IterDomain* resizedAxis(IterDomain* id, const Window& window);
  /// An input through its windows: a slice, or a pad with zeros around it.
  TensorView* windowOf(TensorView* tv, const Windows& windows);
  /// Whether what a window reads along an axis of a tensor like `like`, for each j, is below (or,
  /// with `from`, at least) `bound`.
  TensorView* compare(const TensorView* like, size_t place, const Window& window, Val* bound,
                      bool from);
  /// `tv`, which is read through `window` of an axis of `extent` elements, where the window is
  /// inside of these, and `otherwise` elsewhere; without a choice where it is known to be inside.
  TensorView* whereInside(TensorView* tv, size_t place, const Window& window, Val* extent,
                          Val* otherwise);
  TensorView* where(TensorView* condition, Val* then, Val* otherwise);
  /// The window of an operand, of which the result has the elements at `start` and from there on
  /// each `step`-th, and is itself read through `window`.
  Window behind(const Window& window, const IterDomain* axis_of_result, Val* start, int64_t step,
                bool inside);

 private:
  /// The least element that a window reads, and the one behind the greatest.
  std::pair<Val*, Val*> endsOf(const Window& window);
  Val* number(int64_t value);

  Fusion* fusion_;
};

}  // namespace nvfuser::scheduler_tools
