/// The walk behind resize_to_inputs.h: a tensor through windows, made from inputs through windows.
#pragma once

#include <map>
#include <vector>

#include <scheduler/window_tensors.h>

namespace nvfuser::scheduler_tools {

inline bool isComputed(const Val* val) {
  return val->definition() != nullptr && !val->isFusionInput();
}
inline bool isResize(const Expr* expr) { return expr->isOneOf<SliceOp, PadOp, CatOp>(); }
/// The pads that a concatenation joins; nothing if one of its operands is none.
std::vector<const PadOp*> padsOf(const CatOp* cat);

class ResizePropagation {
 public:
  ResizePropagation(Fusion* fusion, bool reads_at_indices)
      : fusion_(fusion), reads_at_indices_(reads_at_indices), make_(fusion) {}

  void run();

 private:
  // The way to the inputs (read_through_operations.cpp).
  /// `tv` through windows: itself if nothing moves, null if that cannot be computed from inputs, or
  /// would be computed too often.
  TensorView* at(TensorView* tv, Windows windows);
  /// Windows of an operand: those of the axes that its axes become.
  static Windows windowsOf(const Expr* expr, const TensorView* operand, const TensorView* result,
                           const Windows& windows);
  /// Whether an axis that is repeated is windowed, and others read the one element that there was:
  /// loops with that axis and loops without it would share its computation.
  static bool isSharedBeforeRepeat(const Expr* repeat, const Windows& windows);
  /// The repeat of an operand that is computed for it alone.
  TensorView* repeatedApart(const Expr* repeat, TensorView* tv, const Windows& windows);
  /// The tensor computed once more from inputs; null: not element by element.
  TensorView* apart(TensorView* tv);
  TensorView* through(TensorView* tv, const Windows& windows);
  /// An input at an index, through windows: those of axes that are the index's are windows of the
  /// index; along the others the read itself has one, and gives anything outside of it.
  TensorView* readOf(const Expr* def, const TensorView* tv, const Windows& windows);
  /// An index through windows; the first element's beyond its own, where a read would leave the
  /// input.
  TensorView* indexThrough(TensorView* index, const Windows& windows);
  TensorView* again(const Expr* def, TensorView* tv, const Windows& windows,
                    const std::vector<IterDomain*>& axes, std::vector<IterDomain*> root = {});
  TensorView* permuted(const Expr* def, TensorView* tv, const Windows& windows);
  /// One element, stretched to the window's extent.
  TensorView* stretched(const Expr* def, TensorView* tv, const Windows& windows);
  TensorView* reshaped(const Expr* def, const TensorView* tv, const Windows& windows);
  TensorView* counted(const IotaOp* op, TensorView* tv, const Windows& windows);

  // Slices, pads and concatenations (read_through_resizes.cpp).
  TensorView* throughResize(Expr* def, const Windows& windows);
  /// Whether the operation makes another axis of its i-th.
  static bool isResized(const TensorView* tv, size_t i);
  /// What is padded, where it is; around it the pad's value, or (not `exact`) anything.
  TensorView* padded(const PadOp* op, const Windows& windows, bool exact);
  TensorView* joined(const CatOp* op, const Windows& windows);

  // The graph (resize_to_inputs.cpp).
  void replace(TensorView* old, TensorView* with);
  /// Operations that lead to no output go.
  void sweep();

  Fusion* fusion_;
  bool reads_at_indices_;
  WindowTensors make_;
  /// A tensor and its windows.
  using View = std::vector<uint64_t>;
  std::map<View, TensorView*> copies_;
  int64_t left_ = 0;  ///< operations that may be made
};

}  // namespace nvfuser::scheduler_tools
