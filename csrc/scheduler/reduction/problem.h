/// A reduction at given sizes, as the planners see it: one kept and one reduced extent, which of
/// them lies innermost in memory, and how wide accesses can be.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <scheduler/analysis/persistent_buffers.h>
#include <scheduler/analysis/reference_axes.h>
#include <scheduler/reduction/params.h>

namespace nvfuser::reduction {

/// What holds for all sizes.
struct Form {
  IdGraph permissive;
  ReductionSignature signature;
  PersistentBuffers buffers;

  /// With reductions of one signature.
  static std::variant<std::unique_ptr<Form>, Refusal> of(const Fusion& fusion);
  /// With inner and outer reductions; the signature is that of the inner ones.
  static std::variant<std::unique_ptr<Form>, Refusal> ofInnerOuter(const Fusion& fusion);

 private:
  Form(const Fusion& fusion, IdGraph graph, ReductionSignature of_graph);
};

/// Whether loops through the reference's axes in this order, the last ones of them as one, are
/// those of all tensors.
using SuitsLoops =
    std::function<bool(const std::vector<int64_t>& order, bool fastest_dim, int64_t inner_axes)>;

/// Elements of a loop of the CPU that are worth a vector of which they are a part, where accesses
/// have masks.
inline constexpr int64_t kLeastMaskedRun = 5;

struct Problem {
  /// With the loops that `schedule` makes.
  Problem(const Fusion& fusion, const Form& form, SchedulerRuntimeInfo& info);
  /// With other ones: of inner and outer reductions.
  Problem(const Fusion& fusion, const Form& form, SchedulerRuntimeInfo& info,
          const SuitsLoops& suits_loops);

  const Fusion& fusion;
  const Form& form;
  SchedulerRuntimeInfo& info;
  ReferenceAxes axes;  ///< of what is reduced
  std::vector<int64_t> order;
  std::vector<int64_t> inner;  ///< the last of `order`: all reduced or all kept
  bool fastest_dim = true;
  bool schedule_3d = false;
  int64_t kept = 1;
  int64_t reduced = 1;
  int64_t inner_extent = 1;
  int64_t full_tensors = 0;  ///< border tensors that have all axes
  int64_t full_inputs = 0;
  int64_t input_bytes = 0;  ///< bytes of one element of all full inputs
  int64_t row_bytes = 0;    ///< of all inputs that have the inner axes
  int64_t largest_dtype = 1;
  int64_t full_dtype = 1;   ///< the largest of full tensors
  bool of_indices = false;  ///< on a GPU: no large tensor lies in memory along a reduced axis alone
  bool has_masks = false;   ///< for parts of the CPU's vectors, of all border tensors' elements

  /// Widest access to any tensor along the inner axes that divides them.
  int64_t widest() const;
  /// Whether the fusion, not the call, says how many elements are reduced.
  bool isReducedByConstants() const;
  /// Parameters with what does not depend on a device.
  std::unique_ptr<ReductionParams> makeParams(SchedulerType type) const;
  /// Fills in the accesses of inputs and outputs for vectors of `params.vectorization`.
  void setWidths(ReductionParams& params) const;

 private:
  /// Of an input of which windows alone are read (analysis/windows.h): what one access of any of
  /// them can move.
  int64_t widthOfWindows(const TensorView* input) const;
  /// What one access of it, or of each of its windows, can move.
  int64_t widthOf(const TensorView* tv) const;
  /// Whether no tensor lies in memory along a reduced axis, which only indices have: taps of a
  /// window. Threads along it would read no neighbours, and exchange what each could add up alone.
  /// So would they where neighbours along a kept axis lie as near, as windows that are an input do,
  /// and where few elements of a small table are all that lies along the reduced axis.
  ///
  ///   T2[n] = max(T1[n, 9]), T1[i, k] = T0[i + k]
  bool isReducedNowhere(const std::vector<TensorView*>& border) const;
  std::vector<int64_t> reducedFirst() const;
  /// Whether a border tensor has all axes, or as many elements behind a reshape.
  bool isFull(const TensorView* tv) const;
  /// What follows from the order in which loops go through the reference's axes.
  void setOrder(std::vector<int64_t> to);
  /// On the CPU nothing hides the divisions by which elements are found of what is no run along the
  /// inner axes, and vectors cannot do them: as many of these as the most tensors are runs along.
  void keepRuns(const std::vector<TensorView*>& tensors);
  /// `order` with the kept axes among themselves as the reference has them: a reshape of a
  /// reduction's result merges those so, however memory holds them.
  std::vector<int64_t> keptAsDefined() const;
  bool reshapes() const;
  bool followsReshapes(const SuitsLoops& suits_loops) const;
  int64_t keptAxes() const;
  /// Whether a reshape of kept axes across a reduced one, which lies between them in memory, wants
  /// all of them as one loop.
  bool mustMergeKept(const SuitsLoops& suits_loops) const;
};

}  // namespace nvfuser::reduction
