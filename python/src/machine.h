/// What this machine has: devices, compilers, the cache of compiled kernels.
#pragma once

#include <nanobind/nanobind.h>

namespace nvfuser::python {

/// Binds the functions `machine` and `cache_*`, which `python -m nvfuser` shows.
void bindMachine(nanobind::module_& module);

}  // namespace nvfuser::python
