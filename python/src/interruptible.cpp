#include "interruptible.h"

#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

bool Interruptible::handlerRaises(void* self) {
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() == 0) {  // also on any other thread than the main one
    return false;
  }
  static_cast<Interruptible*>(self)->raised_ = std::make_exception_ptr(nb::python_error());
  return true;
}

}  // namespace nvfuser::python
