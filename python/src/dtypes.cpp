#include "dtypes.h"

#include "not_implemented.h"
#include <capi/arguments.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

struct NamedOnly {
  int32_t code;
  const char* name;
};

/// Formats of Blackwell GPUs.
constexpr NamedOnly kNamedOnly[] = {
    {101, "Float8_e8m0fnu"}, {102, "Float4_e2m1fn"}, {103, "Float4_e2m1fn_x2"}};

}  // namespace

void bindDataType(nanobind::module_& module) {
  nanobind::enum_<nvf_dtype> dtypes(module, "DataType", "Types of elements and scalars.");
  for (int32_t code = 0; code < NVF_DTYPE_COUNT; ++code) {
    dtypes.value(nvf_dtype_name(code), static_cast<nvf_dtype>(code));
  }
  for (const NamedOnly& named : kNamedOnly) {
    dtypes.value(named.name, static_cast<nvf_dtype>(named.code));
  }
}

void requireDtype(nvf_dtype dtype) {
  for (const NamedOnly& named : kNamedOnly) {
    if (dtype == static_cast<nvf_dtype>(named.code)) {
      notImplemented(text("DataType.", std::string_view(named.name),
                          ": block-scaled formats need a Blackwell GPU and are not supported"));
    }
  }
}

DataType toDtype(nvf_dtype dtype) {
  requireDtype(dtype);
  return capi::dtypeOf(dtype);
}

nvf_dtype fromDtype(DataType dtype) { return static_cast<nvf_dtype>(capi::codeOf(dtype)); }

}  // namespace nvfuser::python
