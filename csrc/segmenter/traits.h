/// What cutting needs to know of a Fusion, computed once: tensors with their readers and bytes,
/// operations with their kind, the space that each iterates over and, for reductions, the
/// signature.
///
/// Spaces and signatures are small numbers: equal numbers mean equal sets of axes, where axes are
/// classes of the exact graph of axes followed back through splits and merges, without broadcasts.
///
///   T1[i0] = sum(T0[i0, i1])     space {i0, i1}, signature ({i0} kept | {i1} reduced)
///   T3[i0, i1] = T0 * T1[i0, b]  space {i0, i1}
///
/// The smallest piece is a unit: one operation; a concatenation with its pads, which have no kernel
/// without it (so a pad may be in several units).
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include <ir/fusion.h>
#include <support/device_properties.h>

namespace nvfuser {

/// What is known of the call that a Fusion is cut for.
struct SegmentCall {
  /// Elements along an axis (for an expanded one: as many as it pretends to have).
  std::function<int64_t(const IterDomain*)> extent;
  /// What a plan may depend on besides sizes, of an input of the Fusion (strides, alignment): equal
  /// texts for equal layouts. May be empty.
  std::function<std::string(const TensorView*)> layout;
  DeviceKind device = DeviceKind::Cpu;
  /// Groups of one form get one answer. Not so once a plan of one of them has failed.
  bool one_answer_per_form = true;
};

class Spaces;

struct TensorTraits {
  TensorView* tv = nullptr;
  int unit = -1;             ///< that computes it; −1 for inputs of the Fusion
  std::vector<int> readers;  ///< units, ascending, each once
  bool is_output = false;
  bool cuts = false;  ///< by segment_set: kernels that read it compute nothing that it is made of
  int64_t elements = 1;  ///< without broadcasts
  int64_t bytes = 0;
  int space = 0;
};

struct UnitTraits {
  std::vector<Expr*> exprs;  ///< producers first; the last one is the operation
  std::vector<int> reads;    ///< tensors from outside, each once
  std::vector<int> writes;   ///< tensors
  int space = 0;
  int signature = -1;   ///< of a reduction; −1 for anything else
  int kept = -1;        ///< space of a reduction's result
  int parts = 0;        ///< that it joins; 0: it is no concatenation
  int weight = 0;       ///< what a compiler takes for it, in additions
  int transforms = 0;   ///< splits and merges of a reshape, which all tensors of its kernel replay
  bool alone = false;   ///< has no kernel (a scatter)
  bool copies = false;  ///< cheap and without effects: may be computed in several kernels
  int64_t elements = 1;
  double work = 0;  ///< floating-point operations, all elements together
};

class FusionTraits {
 public:
  FusionTraits(const Fusion& fusion, const SegmentCall& call);

  const std::vector<UnitTraits>& units() const { return units_; }
  const std::vector<TensorTraits>& tensors() const { return tensors_; }
  const UnitTraits& unit(int i) const { return units_[static_cast<size_t>(i)]; }
  const TensorTraits& tensor(int i) const { return tensors_[static_cast<size_t>(i)]; }
  int tensorOf(const TensorView* tv) const { return number_of_.at(tv); }
  int numUnits() const { return static_cast<int>(units_.size()); }

  /// Bytes of tensor `t` that a unit which reads it looks at: of a select or a slice, its result's.
  int64_t bytesReadBy(int unit, int t) const;

  /// Elements along an axis, remembered.
  int64_t extent(const IterDomain* id) const;
  /// Number of the class of an axis in the exact graph.
  int classOf(const IterDomain* id) const;

 private:
  int addTensor(TensorView* tv);
  /// The unit of an operation and what it is computed with.
  void addUnit(Expr* expr, Spaces& spaces);
  /// What it reads and writes, and tensors' readers.
  void connect(int unit);
  /// What it costs, and who may compute it.
  void measure(UnitTraits& unit) const;
  /// Whether a select or a slice reads a bit of each line of memory, so that all lines are read.
  bool cutsLines(const Expr* expr) const;

  const SegmentCall& call_;
  std::vector<UnitTraits> units_;
  std::vector<TensorTraits> tensors_;
  std::unordered_map<const TensorView*, int> number_of_;
  std::unordered_map<const IterDomain*, int> class_of_;
  mutable std::unordered_map<const Val*, int64_t> extents_;
};

}  // namespace nvfuser
