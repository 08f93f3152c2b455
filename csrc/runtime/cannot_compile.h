/// Nothing can be compiled here for the time being, whatever the text says.
#pragma once

#include <support/error.h>

namespace nvfuser {

/// There is no compiler, or no room for its files. Cutting a kernel into smaller ones does not
/// help, so what needed it is computed on the host.
class CannotCompile : public CompileError {
 public:
  using CompileError::CompileError;
};

}  // namespace nvfuser
