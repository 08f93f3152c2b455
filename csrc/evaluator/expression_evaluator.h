/// `ExpressionEvaluator`: what scalars are worth, given the values of some of them.
///
/// Values are C++'s: integers are int64 (UInt64 by its bits), floats double, rounded to Float where
/// the dtype is Float or narrower. Nothing is worth anything unless it is a constant, was bound, or
/// is computed from such.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <ir/interface_nodes.h>
#include <ir/polymorphic_value.h>

namespace nvfuser {

class ExpressionEvaluator {
 public:
  /// `val` is worth `value` from now on; what was computed from its former value is forgotten. A
  /// constant has to be bound to its own value. `validate`: where `val` is known already, by an
  /// earlier binding or by its definition, the values have to agree. Throws `UserError` where they
  /// do not.
  void bind(const Val* val, PolymorphicValue value, bool validate = false);
  /// The launch's extent of a parallel type: that of the scalar `blockDim.x` (TIDx), `gridDim.y`
  /// (BIDy), …
  void bind(ParallelType type, int64_t extent);
  /// A named scalar, or any symbol of this name as it is printed ("i3").
  void bind(std::string_view name, PolymorphicValue value);

  /// Binds the extents of a tensor's logical axes to the sizes of an actual tensor: expanded axes
  /// by their expanded extent, other broadcast axes have to be 1. With `strides` (of the logical
  /// axes, in elements) the layout is checked as well: expanded axes have stride 0, and the
  /// allocation domain is contiguous where the tensor says so. Strides of axes of extent 1 and of
  /// empty tensors do not matter.
  void bindTensor(const TensorView* tv, const std::vector<int64_t>& sizes);
  void bindTensor(const TensorView* tv, const std::vector<int64_t>& sizes,
                  const std::vector<int64_t>& strides);

  /// The value of a scalar; empty if it is not known.
  PolymorphicValue evaluate(const Val* val);
  PolymorphicValue evaluate(const Val* val) const;
  /// The extent bound to a parallel type; empty if there is none.
  PolymorphicValue evaluate(ParallelType type) const;
  /// An integer that has to be known. `what` completes the message "… of <val> is not known".
  int64_t evaluateInt(const Val* val, std::string_view what);
  bool isKnown(const Val* val) { return evaluate(val).hasValue(); }

  /// Forgets the value bound to `val`.
  void invalidate(const Val* val);

  /// Every binding, one a line, in order of name.
  std::string toString() const;

 private:
  PolymorphicValue known(const Val* val) const;
  PolymorphicValue compute(const Val* val);

  std::unordered_map<const Val*, PolymorphicValue> bound_;
  std::map<std::string, PolymorphicValue, std::less<>> bound_names_;
  std::unordered_map<const Val*, PolymorphicValue> computed_;
};

/// Size and stride of each allocation axis of `tv`, its contiguity entry aside.
struct AllocationLayout {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// The layout in order of the allocation domain, of a tensor whose logical axes have these sizes
/// and strides: the transforms from logical to allocation domain, replayed. Throws `UserError`
/// where memory cannot have that form (a merge of axes with a gap between them, a split that does
/// not divide).
AllocationLayout allocationLayout(const TensorView* tv, const std::vector<int64_t>& sizes,
                                  const std::vector<int64_t>& strides,
                                  ExpressionEvaluator& evaluator);

/// Why memory of these sizes and strides is not what `tv` promises (the check of
/// `ExpressionEvaluator::bindTensor`); empty where it is.
std::string refusesLayout(const TensorView* tv, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, ExpressionEvaluator& evaluator);

}  // namespace nvfuser
