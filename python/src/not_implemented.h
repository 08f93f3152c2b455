/// What exists because programs name it, but cannot be done here.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

namespace nvfuser::python {

/// Throws Python's NotImplementedError.
[[noreturn]] inline void notImplemented(const std::string& why) {
  PyErr_SetString(PyExc_NotImplementedError, why.c_str());
  throw nanobind::python_error();
}

}  // namespace nvfuser::python
