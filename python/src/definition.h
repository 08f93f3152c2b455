/// The definition of a fusion: its inputs, operations and outputs.
#pragma once

#include <string>
#include <vector>

#include "fusion.h"
#include <nanobind/nanobind.h>

namespace nvfuser::python {

/// A tensor or a scalar of a fusion.
struct Value {
  FusionPtr fusion;
  int64_t id = -1;

  int64_t ndims() const;
  nvf_dtype dtype() const;
};
struct Tensor : Value {};
struct Scalar : Value {};

/// `fd.ops`: calls operations by name.
struct Operators {
  FusionPtr fusion;
  /// The index is the operation's in the library's table. One result, a tuple or a list of them.
  nb::object call(int64_t index, const nb::args& arguments, const nb::kwargs& named) const;
};

/// Binds FusionDefinition, its Operators, Tensor and Scalar.
void bindDefinition(nb::module_& module);

}  // namespace nvfuser::python
