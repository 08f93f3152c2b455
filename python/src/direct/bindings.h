/// The parts of `nvfuser._C.direct`, one function a file.
#pragma once

#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

/// All of them, in the order that their types need.
void bindDirect(nb::module_& direct);

void bindEnums(nb::module_& direct);
void bindIr(nb::module_& direct);
void bindTensorView(nb::module_& direct);
void bindParams(nb::module_& direct);
void bindFusionClass(nb::module_& direct);
void bindDefinition(nb::module_& direct);
void bindProfiler(nb::module_& direct);
void bindExecutors(nb::module_& direct);
void bindDefinitionCall(nb::module_& direct);
void bindLruCache(nb::module_& direct);
void bindCallOptions(nb::module_& direct);
void bindValidation(nb::module_& direct);
void bindSchedule(nb::module_& direct);
void bindIdModel(nb::module_& direct);
void bindMultidevice(nb::module_& direct);

}  // namespace nvfuser::python
