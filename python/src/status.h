/// Failures of the C interface as C++ exceptions, which nanobind turns into Python's.
#pragma once

#include <stdexcept>

#include <capi/nvfuser_c.h>

namespace nvfuser::python {

/// A wrong program, input or environment. A wrong argument is a TypeError instead.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// The compiler at run time refused a kernel.
class CompileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// A mistake of the library.
class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws unless the status is NVF_OK.
void check(int status);

}  // namespace nvfuser::python
