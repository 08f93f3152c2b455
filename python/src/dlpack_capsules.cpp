#include "dlpack_capsules.h"

#include "interpreter_lock.h"
#include <support/error.h>

namespace nvfuser::python {

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

/// The tensor as a capsule, which frees it if nobody takes it: a consumer renames the capsule.
template <typename Managed>
nb::object inCapsule(Managed* tensor, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(tensor, name, destructor);
  if (capsule == nullptr) {
    tensor->deleter(tensor);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

template <typename Managed>
void freeCapsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) {
    return;
  }
  auto* tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter != nullptr) {
    tensor->deleter(tensor);
  }
}

template <typename Managed>
Managed* take(const nb::object& capsule, const char* name, const char* used_name) {
  auto* tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (tensor == nullptr || PyCapsule_SetName(capsule.ptr(), used_name) != 0 ||
      PyCapsule_SetDestructor(capsule.ptr(), nullptr) != 0) {
    throw nb::python_error();
  }
  return tensor;
}

}  // namespace

nb::object capsuleOf(const Tensor& tensor, bool versioned) {
  if (!versioned) {
    return inCapsule(tensor.toDLPack(), kName,
                     [](PyObject* self) { freeCapsule<DLManagedTensor>(self, kName); });
  }
  return inCapsule(tensor.toDLPackVersioned(), kVersionedName, [](PyObject* self) {
    freeCapsule<DLManagedTensorVersioned>(self, kVersionedName);
  });
}

Taken takeCapsule(const nb::object& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedName) == 0) {
    auto* managed = take<DLManagedTensor>(capsule, kName, kUsedName);
    const DLDataType dtype = managed->dl_tensor.dtype;
    return {Tensor::fromDLPack(managed), dtype, false};
  }
  auto* managed = take<DLManagedTensorVersioned>(capsule, kVersionedName, kUsedVersionedName);
  const DLDataType dtype = managed->dl_tensor.dtype;
  const bool read_only = (managed->flags & kDLFlagReadOnly) != 0;
  return {Tensor::fromDLPack(managed), dtype, read_only};
}

void retypeCapsule(const nb::object& capsule, DataType dtype) {
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  if (managed == nullptr) {
    throw nb::python_error();
  }
  managed->dl_tensor.dtype = toDLDataType(dtype);
}

intptr_t streamNumber(Stream stream) {
  return stream == nullptr ? 1 : reinterpret_cast<intptr_t>(stream);
}

nb::object Array::dlpack(nb::handle consumer, bool versioned) const {
  if (tensor_.device().kind() == DeviceKind::Cuda) {
    const intptr_t number = consumer.is_none() ? 1 : nb::cast<intptr_t>(consumer);
    if (number != -1 && number != streamNumber(stream_)) {
      const OthersRun others_run;
      tensor_.device().synchronize(stream_);
    }
  }
  return capsuleOf(tensor_, versioned);
}

nb::tuple Array::device() const {
  const DLDevice device = toDLDevice(tensor_.device());
  return nb::make_tuple(device.device_type, device.device_id);
}

}  // namespace nvfuser::python
