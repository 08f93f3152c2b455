/// The operations that can be called by name: all pointwise functions, from their table, and the
/// others, one line each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <capi/arguments.h>

namespace nvfuser::capi {

struct Operation {
  std::string name;
  std::vector<Parameter> parameters;
  std::string result;  ///< "Tensor", or "(output, mask)" for several
  std::string doc;
  /// Defines it in the active Fusion. Null stands for a result that was not asked for.
  std::vector<Val*> (*define)(const Call& call) = nullptr;

  /// "sum(arg: Tensor, axes: list[int] | int | None = None, …) -> Tensor"
  std::string signature() const;
};

/// Sorted by name; names are unique.
const std::vector<Operation>& operations();
/// Throws `ArgumentError`, with names that are alike, if there is none.
const Operation& findOperation(std::string_view name);

/// The lines of operation_table.cpp.
std::vector<Operation> operationTable();

/// The result of a pointwise function.
inline constexpr std::string_view kSameAsOperands = "Tensor | Scalar";

}  // namespace nvfuser::capi
