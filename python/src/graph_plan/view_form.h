/// Views as arithmetic: sizes, strides and the place of the first element of a view of a tensor.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace nvfuser::python {

/// Tensors of more axes are PyTorch's matter.
constexpr size_t kMostAxes = 8;

struct ViewForm {
  size_t rank = 0;
  std::array<int64_t, kMostAxes> sizes;
  std::array<int64_t, kMostAxes> strides;
  int64_t offset = 0;  ///< of the first element, in elements

  std::span<const int64_t> sizeSpan() const { return {sizes.data(), rank}; }
  std::span<const int64_t> strideSpan() const { return {strides.data(), rank}; }
  int64_t numel() const;
};

/// With its operands, all integers. Axes may be counted from the end.
enum class ViewKind : uint8_t {
  Same,       ///< none
  Reshape,    ///< the sizes, of which one may be −1
  Expand,     ///< the sizes; −1 keeps one
  Permute,    ///< the axes
  Transpose,  ///< two axes; a tensor without axes stays as it is
  Flipped,    ///< none: `t`, of two axes at most
  Slice,      ///< axis, first, end, step
  Select,     ///< axis, index
  Unsqueeze,  ///< axis
  Squeeze,    ///< the axes
  SqueezeAll  ///< none
};

std::string_view toString(ViewKind kind);
/// False for a name that is none.
bool viewKindOf(std::string_view name, ViewKind& kind);

/// Whether so many operands are right.
bool takesOperands(ViewKind kind, size_t count);

/// The view's form, from the form of what it is a view of. False where that is no view (a reshape
/// that needs a copy), where an operand is wrong, and of tensors without elements: PyTorch then
/// does it, or says what is wrong.
bool viewForm(ViewKind kind, const ViewForm& source, std::span<const int64_t> operands,
              ViewForm& view);

}  // namespace nvfuser::python
