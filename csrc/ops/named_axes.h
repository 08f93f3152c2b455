/// Sizes of operands whose axes have names: which of them are the same is said by a letter.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <ir/interface_nodes.h>

namespace nvfuser::ops {

/// The axes that operands of one operation have met so far: `batches` leading ones, counted, then
/// those that letters name. Constant sizes are compared; symbols are when the operation runs.
class NamedAxes {
 public:
  NamedAxes(std::string_view op, size_t batches) : op_(op), batches_(batches) {}

  /// Throws `UserError` where number or sizes of the axes of `tv`, the operation's `what`, do not
  /// go with those before. `stretches`: constant sizes of 1, and leading axes that are missing, go
  /// with any size.
  void meet(std::string_view what, const TensorView* tv, std::string_view names, bool stretches);
  /// A new tensor with all batches and these axes.
  TensorView* result(std::string_view names, DataType dtype) const;

 private:
  struct Meeting {
    const IterDomain* axis;
    std::string_view of;
  };
  std::string_view op_;
  size_t batches_;
  std::map<std::string, Meeting> axes_;
};

}  // namespace nvfuser::ops
