/// Element types as Python names them.
#pragma once

#include <string>

#include <capi/nvfuser_c.h>
#include <ir/type.h>
#include <nanobind/nanobind.h>

namespace nvfuser::python {

/// Binds the enumeration DataType.
void bindDataType(nanobind::module_& module);

/// Throws Python's NotImplementedError for the types of block-scaled formats, which programs may
/// name but no operation here has.
void requireDtype(nvf_dtype dtype);
/// The core's dtype, and back. Null stays Null.
DataType toDtype(nvf_dtype dtype);
nvf_dtype fromDtype(DataType dtype);

}  // namespace nvfuser::python
