/// The pointwise operations as rows of the table: which dtypes each one refuses, and how exact each
/// one is.
#pragma once

#include <span>
#include <string_view>

#include "operation_table.h"
#include <ops/table/pointwise.h>

namespace nvfuser::table {

/// Dtypes that a function refuses: letters of classes (b Bool, i integers, r floats, c complex),
/// and what the error says.
struct Refusal {
  std::string_view function;
  std::string_view classes;
  std::string_view wording;
};

/// The wording with which `function` refuses operands of `dtype`; empty if it takes them.
std::string_view refusalOf(std::string_view function, DataType dtype);
/// The same from another list.
std::string_view refusalOf(std::string_view function, DataType dtype,
                           std::span<const Refusal> refusals);

/// What is asked for on the host, and what NVIDIA documents where it is less.
Accuracy accuracyOf(std::string_view function, DataType dtype, const Device& device);
/// Values that a function is defined for, of operand number `operand`.
Values valuesOf(std::string_view function, DataType dtype, size_t operand);

/// All functions of `arity` in the table, but for `print`, which writes to the standard output.
std::vector<const PointwiseFunction*> functionsOf(int arity);

}  // namespace nvfuser::table
