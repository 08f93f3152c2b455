/// Inputs of the operation table's programs: their elements, in every layout.
#pragma once

#include "operation_table.h"

namespace nvfuser::table {

/// A tensor on the host with the layout asked for; `shift` moves the elements along the list of
/// values.
Tensor makeInput(DataType dtype, const Sizes& sizes, Values values, Layout layout, bool is_expanded,
                 size_t operand, int64_t shift);

/// The same sizes and strides, at the same distance from an aligned address, on `device`.
Tensor onDevice(const Tensor& host, Device& device);

/// The greatest number of a floating-point dtype.
double largestOf(DataType dtype);

}  // namespace nvfuser::table
