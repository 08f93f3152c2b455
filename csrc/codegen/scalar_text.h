/// Index expressions as C++ text.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <kernel_ir/scalar.h>

namespace nvfuser::codegen {

/// What the hardware (on the host: the loop over blocks) supplies, under our names and its own.
struct LaunchIndex {
  std::string_view symbol;  ///< "blockIdx.x"
  std::string_view name;    ///< "bid_x"
};
inline constexpr LaunchIndex kLaunchIndices[] = {
    {"threadIdx.x", "tid_x"}, {"threadIdx.y", "tid_y"}, {"threadIdx.z", "tid_z"},
    {"blockIdx.x", "bid_x"},  {"blockIdx.y", "bid_y"},  {"blockIdx.z", "bid_z"},
    {"blockDim.x", "bdim_x"}, {"blockDim.y", "bdim_y"}, {"blockDim.z", "bdim_z"},
    {"gridDim.x", "gdim_x"},  {"gridDim.y", "gdim_y"},  {"gridDim.z", "gdim_z"},
};

/// Prints with only the parentheses that are needed, and remembers what the text relies on. All
/// symbols have the type Index, so that the arithmetic has it too.
class ScalarText {
 public:
  std::string operator()(kir::Scalar scalar) const { return show(scalar, 0); }
  /// As an operand of a comparison or of an addition.
  std::string operand(kir::Scalar scalar) const;
  /// The C++ name of a symbol.
  std::string name(kir::Scalar symbol) const;

  /// Names of kLaunchIndices that have been printed.
  bool uses(const LaunchIndex& index) const { return launch_indices_.count(index.name) != 0; }
  bool usesMin() const { return uses_min_; }
  bool usesMax() const { return uses_max_; }

  /// Whether an expression is a truth value.
  static bool isBoolean(kir::Scalar scalar);

 private:
  std::string show(kir::Scalar scalar, int around) const;
  std::string sum(kir::Scalar scalar) const;

  mutable std::set<std::string_view> launch_indices_;
  mutable bool uses_min_ = false;
  mutable bool uses_max_ = false;
};

}  // namespace nvfuser::codegen
