/// Index expressions as C++ text.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include <kernel_ir/scalar_print.h>

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

/// Prints for C++, and remembers what the text relies on. All symbols have the type Index, so that
/// the arithmetic has it too.
class ScalarText : public kir::ScalarPrinter {
 public:
  std::string operator()(kir::Scalar scalar) const { return print(scalar); }
  /// As an operand of a comparison or of an addition.
  std::string operand(kir::Scalar scalar) const { return print(scalar, kir::Precedence::Add); }
  /// The C++ name of a symbol.
  std::string name(kir::Scalar symbol) const;

  /// Of one of kLaunchIndices, by its symbol: our name, which counts as printed; "" for others.
  std::string launchIndex(std::string_view symbol) const;
  /// Names of kLaunchIndices that have been printed.
  bool uses(const LaunchIndex& index) const { return launch_indices_.count(index.name) != 0; }
  bool usesMin() const { return uses_min_; }
  bool usesMax() const { return uses_max_; }

  /// Whether an expression is a truth value.
  static bool isBoolean(kir::Scalar scalar);

 protected:
  std::string symbol(kir::Scalar scalar) const override { return name(scalar); }
  std::string constant(int64_t value) const override;
  std::string_view minimum() const override {
    uses_min_ = true;
    return "indexMin";
  }
  std::string_view maximum() const override {
    uses_max_ = true;
    return "indexMax";
  }

 private:
  mutable std::set<std::string_view> launch_indices_;
  mutable bool uses_min_ = false;
  mutable bool uses_max_ = false;
};

}  // namespace nvfuser::codegen
