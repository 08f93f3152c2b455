#include "direct/bindings.h"

namespace nvfuser::python {

void bindDirect(nb::module_& direct) {
  bindEnums(direct);
  bindIr(direct);
  bindTensorView(direct);
  bindParams(direct);
  bindFusionClass(direct);
  bindDefinition(direct);
  bindProfiler(direct);
  bindExecutors(direct);
  bindDefinitionCall(direct);
  bindLruCache(direct);
  bindCallOptions(direct);
  bindValidation(direct);
  bindSchedule(direct);
  bindIdModel(direct);
  bindMultidevice(direct);
}

}  // namespace nvfuser::python
