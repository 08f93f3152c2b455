/// What the docstring of an operation says beyond its first sentence: shapes, dtypes, errors.
///
/// Of pointwise functions it follows from their table (ops/table); of others it is written down in
/// operation_notes.cpp, several operations to a line where they are alike.
#pragma once

#include <string>
#include <string_view>

namespace nvfuser::capi {

struct OperationNotes {
  std::string shapes;
  std::string dtypes;
  std::string errors;  ///< of kind UserError; those of wrong arguments are the same everywhere
};

/// Throws `InternalError` for an operation that nobody wrote notes about.
OperationNotes notesOf(std::string_view operation);

}  // namespace nvfuser::capi
