#include "arrays.h"

#include "status.h"
#include <nanobind/stl/string.h>

namespace nvfuser::python {

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";

/// Frees what nobody took: a consumer renames the capsule.
template <typename T>
void freeCapsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) {
    return;
  }
  auto* tensor = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter != nullptr) {
    tensor->deleter(tensor);
  }
}

nb::object capsuleOf(Managed tensor) {
  auto capsule = nb::steal(PyCapsule_New(
      tensor.get(), kName, [](PyObject* self) { freeCapsule<DLManagedTensor>(self, kName); }));
  if (!capsule.is_valid()) {
    throw nb::python_error();
  }
  (void)tensor.release();
  return capsule;
}

nb::object versionedCapsuleOf(Managed tensor) {
  auto versioned = std::make_unique<DLManagedTensorVersioned>();
  versioned->version = {1, 0};
  versioned->flags = 0;
  versioned->dl_tensor = tensor->dl_tensor;
  versioned->manager_ctx = tensor.get();
  versioned->deleter = [](DLManagedTensorVersioned* self) {
    FreeManaged()(static_cast<DLManagedTensor*>(self->manager_ctx));
    delete self;
  };
  auto capsule = nb::steal(PyCapsule_New(versioned.get(), kVersionedName, [](PyObject* self) {
    freeCapsule<DLManagedTensorVersioned>(self, kVersionedName);
  }));
  if (!capsule.is_valid()) {
    throw nb::python_error();
  }
  (void)versioned.release();
  (void)tensor.release();
  return capsule;
}

/// "torch" for torch.Tensor.
std::string packageOf(nb::handle object) {
  const std::string module = nb::cast<std::string>(object.type().attr("__module__"));
  return module.substr(0, module.find('.'));
}

}  // namespace

nb::object Array::dlpack(bool versioned) {
  if (tensor_ == nullptr) {
    throw nb::buffer_error("the tensor was handed over by an earlier call of __dlpack__");
  }
  return versioned ? versionedCapsuleOf(std::move(tensor_)) : capsuleOf(std::move(tensor_));
}

nb::tuple Array::device() const {
  if (tensor_ == nullptr) {
    throw nb::buffer_error("the tensor was handed over by an earlier call of __dlpack__");
  }
  const DLDevice device = tensor_->dl_tensor.device;
  return nb::make_tuple(device.device_type, device.device_id);
}

Inputs::Inputs(const nb::sequence& inputs) {
  for (nb::handle input : inputs) {
    add(input);
  }
}

void Inputs::add(nb::handle input) {
  nvf_argument argument{};
  PyObject* object = input.ptr();
  if (PyBool_Check(object)) {
    argument.kind = NVF_ARG_BOOL;
    argument.integer = object == Py_True ? 1 : 0;
  } else if (PyFloat_Check(object)) {
    argument.kind = NVF_ARG_DOUBLE;
    argument.real = PyFloat_AsDouble(object);
  } else if (PyComplex_Check(object)) {
    argument.kind = NVF_ARG_COMPLEX;
    argument.real = PyComplex_RealAsDouble(object);
    argument.imag = PyComplex_ImagAsDouble(object);
  } else if (nb::hasattr(input, "__dlpack__")) {
    nb::object tensor = nb::borrow(input);
    const std::string package = packageOf(input);
    if (package == "torch" && nb::cast<bool>(input.attr("requires_grad"))) {
      tensor = input.attr("detach")();
    }
    const auto device = nb::cast<nb::tuple>(tensor.attr("__dlpack_device__")());
    // On a GPU the producer orders its work before ours, which is on the default stream (1).
    const bool on_gpu = nb::cast<int>(device[0]) == kDLCUDA;
    nb::object capsule =
        on_gpu ? tensor.attr("__dlpack__")(nb::arg("stream") = 1) : tensor.attr("__dlpack__")();
    argument.kind = NVF_ARG_MANAGED;
    argument.tensor = PyCapsule_GetPointer(capsule.ptr(), kName);
    if (argument.tensor == nullptr) {
      throw nb::python_error();
    }
    capsules_.push_back(std::move(capsule));
    if (framework_.empty()) {
      framework_ = package;
    }
  } else if (PyIndex_Check(object)) {
    argument.kind = NVF_ARG_INT;
    auto integer = nb::steal(PyNumber_Index(object));
    argument.integer = integer.is_valid() ? PyLong_AsLongLong(integer.ptr()) : -1;
    if (argument.integer == -1 && PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
  } else if (nb::hasattr(input, "__float__")) {
    argument.kind = NVF_ARG_DOUBLE;
    argument.real = PyFloat_AsDouble(object);
    if (PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
  } else {
    const std::string message = "execute: input " + std::to_string(arguments_.size()) +
                                " is neither a tensor with __dlpack__ nor a number, but a " +
                                nb::cast<std::string>(input.type().attr("__name__"));
    throw nb::type_error(message.c_str());
  }
  arguments_.push_back(argument);
}

std::vector<Managed> Inputs::run(nvf_fusion* fusion, int64_t output_count) {
  for (const nb::object& capsule : capsules_) {
    // The library takes the tensors over, whatever happens.
    if (PyCapsule_SetName(capsule.ptr(), kUsedName) != 0 ||
        PyCapsule_SetDestructor(capsule.ptr(), nullptr) != 0) {
      throw nb::python_error();
    }
  }
  std::vector<::DLManagedTensor*> outputs(static_cast<size_t>(output_count), nullptr);
  int64_t count = 0;
  int status = NVF_OK;
  {
    nb::gil_scoped_release others_run;
    status = nvf_execute(fusion, arguments_.data(), static_cast<int64_t>(arguments_.size()),
                         outputs.data(), output_count, &count);
  }
  check(status);
  std::vector<Managed> results;
  for (::DLManagedTensor* output : outputs) {
    results.emplace_back(reinterpret_cast<DLManagedTensor*>(output));
  }
  return results;
}

nb::object Inputs::toFramework(Managed output) const {
  std::string framework = framework_;
  if (framework.empty()) {
    const nb::dict modules = nb::module_::import_("sys").attr("modules");
    framework = modules.contains("torch") ? "torch" : "numpy";
  }
  if (framework == "torch") {
    return nb::module_::import_("torch.utils.dlpack")
        .attr("from_dlpack")(capsuleOf(std::move(output)));
  }
  nb::object array = nb::cast(Array(std::move(output)));
  if (framework == "numpy") {
    return nb::module_::import_("numpy").attr("from_dlpack")(array);
  }
  return array;
}

}  // namespace nvfuser::python
