#include "torch_capsules.h"

#include <algorithm>
#include <iterator>

namespace nvfuser::python {

namespace {

/// PyTorch that has no table knows no float8 in capsules, either: they cross as the bytes they are.
struct Float8 {
  PrimDataType dtype;
  const char* name;  ///< PyTorch's
};
constexpr Float8 kFloat8[] = {{PrimDataType::Float8_e4m3fn, "float8_e4m3fn"},
                              {PrimDataType::Float8_e5m2, "float8_e5m2"}};

nb::object torchDtype(const char* name) { return nb::module_::import_("torch").attr(name); }

/// Null for a tensor of another dtype.
const Float8* float8Of(nb::handle tensor) {
  const nb::object dtype = tensor.attr("dtype");
  const auto* found =
      std::find_if(std::begin(kFloat8), std::end(kFloat8),
                   [&](const Float8& float8) { return dtype.is(torchDtype(float8.name)); });
  return found == std::end(kFloat8) ? nullptr : found;
}

const Float8* float8Of(DataType dtype) {
  const auto* found =
      std::find_if(std::begin(kFloat8), std::end(kFloat8),
                   [&](const Float8& float8) { return DataType(float8.dtype) == dtype; });
  return found == std::end(kFloat8) ? nullptr : found;
}

/// A function of torch.utils.dlpack, which stays as long as the process.
nb::handle function(const char* name) {
  return nb::object(nb::module_::import_("torch.utils.dlpack").attr(name)).release();
}

}  // namespace

Taken takeFromTorch(nb::handle tensor) {
  static const nb::handle to_dlpack = function("to_dlpack");
  try {
    return takeCapsule(to_dlpack(tensor));
  } catch (const nb::python_error&) {
    const Float8* float8 = float8Of(tensor);
    if (float8 == nullptr) {
      throw;
    }
    const nb::object bytes = tensor.attr("detach")().attr("view")(torchDtype("uint8"));
    const nb::object capsule = to_dlpack(bytes);
    retypeCapsule(capsule, float8->dtype);
    return takeCapsule(capsule);
  }
}

nb::object giveToTorch(const Tensor& tensor) {
  static const nb::handle from_dlpack = function("from_dlpack");
  const nb::object capsule = capsuleOf(tensor, false);
  const Float8* float8 = float8Of(tensor.dtype());
  if (float8 == nullptr) {
    return from_dlpack(capsule);
  }
  retypeCapsule(capsule, PrimDataType::Byte);
  return from_dlpack(capsule).attr("view")(torchDtype(float8->name));
}

}  // namespace nvfuser::python
