#include "arrays.h"

#include "torch_table.h"
#include <capi/definition.h>
#include <nanobind/stl/string.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

/// The tensor as a capsule, which frees it if nobody takes it: a consumer renames the capsule.
template <typename Managed>
nb::object capsuleOf(Managed* tensor, const char* name, PyCapsule_Destructor destructor) {
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

nb::object capsule(const Tensor& tensor) {
  return capsuleOf(tensor.toDLPack(), kName,
                   [](PyObject* self) { freeCapsule<DLManagedTensor>(self, kName); });
}

nb::object versionedCapsule(const Tensor& tensor) {
  return capsuleOf(tensor.toDLPackVersioned(), kVersionedName, [](PyObject* self) {
    freeCapsule<DLManagedTensorVersioned>(self, kVersionedName);
  });
}

/// Takes the tensor out of a producer's capsule.
template <typename Managed>
Managed* take(const nb::object& capsule, const char* name, const char* used_name) {
  auto* tensor = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (tensor == nullptr || PyCapsule_SetName(capsule.ptr(), used_name) != 0 ||
      PyCapsule_SetDestructor(capsule.ptr(), nullptr) != 0) {
    throw nb::python_error();
  }
  return tensor;
}

std::string typeName(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

/// "torch" for torch.Tensor.
std::string packageOf(nb::handle object) {
  const std::string module = nb::cast<std::string>(object.type().attr("__module__"));
  return module.substr(0, module.find('.'));
}

/// The pending Python error as text; clears it.
std::string takePythonError() {
  nb::python_error error;
  std::string message = nb::cast<std::string>(nb::str(error.value()));
  return message;
}

/// A name that Python keeps once, for calls of methods.
PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

bool asks(nb::handle object, PyObject* method) {
  PyObject* self[] = {object.ptr()};
  const auto answer = nb::steal(PyObject_VectorcallMethod(method, self, 1, nullptr));
  if (!answer.is_valid()) {
    throw nb::python_error();
  }
  return answer.ptr() == Py_True;
}

bool contains(const Tensor& outer, const Tensor& inner) {
  if (outer.data() == nullptr || inner.data() == nullptr || outer.numel() == 0) {
    return false;
  }
  const int64_t bytes = dataTypeSizeByte(outer.dtype());
  const auto* begin = static_cast<const std::byte*>(outer.data());
  const std::byte* end = begin + bytes;
  for (int64_t axis = 0; axis < outer.dim(); ++axis) {
    end += (outer.size(axis) - 1) * outer.stride(axis) * bytes;
  }
  const auto* at = static_cast<const std::byte*>(inner.data());
  return at >= begin && at < end;
}

}  // namespace

nb::object Array::dlpack(bool versioned) const {
  return versioned ? versionedCapsule(tensor_) : capsule(tensor_);
}

nb::tuple Array::device() const {
  const bool cuda = tensor_.device().kind() == DeviceKind::Cuda;
  return cuda ? nb::make_tuple(kDLCUDA, tensor_.device().index()) : nb::make_tuple(kDLCPU, 0);
}

Inputs::Inputs(nb::handle inputs) {
  if (PySequence_Check(inputs.ptr()) == 0 || PyUnicode_Check(inputs.ptr()) ||
      nb::hasattr(inputs, "__dlpack__")) {
    const std::string message =
        text("execute: inputs must be a list of tensors and numbers, not a ", typeName(inputs));
    throw nb::type_error(message.c_str());
  }
  for (nb::handle input : nb::borrow<nb::sequence>(inputs)) {
    if (PyList_Check(input.ptr()) || PyTuple_Check(input.ptr())) {
      for (nb::handle item : nb::borrow<nb::sequence>(input)) {
        add(item);
      }
    } else {
      add(input);
    }
  }
}

void Inputs::add(nb::handle input) {
  const Torch* torch = importedTorch();
  if (torch != nullptr && (Py_TYPE(input.ptr()) == torch->tensor ||
                           PyObject_TypeCheck(input.ptr(), torch->tensor) != 0)) {
    addTorch(input);
  } else if (!addNumber(input)) {
    addForeign(input);
  }
}

bool Inputs::addNumber(nb::handle input) {
  PyObject* object = input.ptr();
  if (PyBool_Check(object)) {
    holder_.push(PolymorphicValue(object == Py_True));
  } else if (PyFloat_Check(object)) {
    holder_.push(PolymorphicValue(PyFloat_AsDouble(object)));
  } else if (PyLong_Check(object)) {
    const long long integer = PyLong_AsLongLong(object);
    if (integer == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      userError("execute: input ", holder_.size(), " is an integer beyond 64 bits");
    }
    holder_.push(PolymorphicValue(static_cast<int64_t>(integer)));
  } else if (PyComplex_Check(object)) {
    holder_.push(PolymorphicValue(
        std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object))));
  } else {
    return false;
  }
  return true;
}

void Inputs::addForeign(nb::handle input) {
  if (nb::hasattr(input, "__dlpack__")) {
    addTensor(input);
    return;
  }
  if (packageOf(input) == "numpy" && nb::hasattr(input, "item")) {  // a scalar of NumPy
    const nb::object number = input.attr("item")();
    if (addNumber(number)) {
      return;
    }
  }
  if (PyIndex_Check(input.ptr())) {
    const auto integer = nb::steal(PyNumber_Index(input.ptr()));
    if (integer.is_valid() && addNumber(integer)) {
      return;
    }
    PyErr_Clear();
  }
  const std::string message =
      text("execute: input ", holder_.size(),
           " is neither a tensor with __dlpack__ nor a number, but a ", typeName(input));
  throw nb::type_error(message.c_str());
}

void Inputs::settle(Framework framework, nb::handle input) {
  if (framework_ == Framework::None) {
    framework_ = framework;
    framework_name_ = framework == Framework::Torch ? "torch" : packageOf(input);
    return;
  }
  if (framework_ == framework && framework == Framework::Torch) {
    return;
  }
  const std::string name = framework == Framework::Torch ? "torch" : packageOf(input);
  if (name != framework_name_) {
    userError("execute: input ", holder_.size(), " is a tensor of ", name,
              ", but those before it are of ", framework_name_,
              "; pass the tensors of one framework");
  }
}

void Inputs::protect(const Tensor& tensor, const char* why) {
  read_only_.emplace_back(holder_.size(), why);
  holder_.push(tensor);
}

namespace {

bool needsResolving(nb::handle input, DLDataType dtype) {
  static PyObject* const is_neg = interned("is_neg");
  static PyObject* const is_conj = interned("is_conj");
  const bool complex = dtype.code == kDLComplex;
  return ((complex || dtype.code == kDLFloat || dtype.code == kDLBfloat) && asks(input, is_neg)) ||
         (complex && asks(input, is_conj));
}

/// Throws unless all that is to know of the tensor is its memory.
void requirePlain(nb::handle input, const Torch& torch, size_t position) {
  if (Py_TYPE(input.ptr()) == torch.tensor || Py_TYPE(input.ptr()) == torch.parameter) {
    return;
  }
  const nb::handle plain = reinterpret_cast<PyObject*>(torch.tensor);
  const nb::object own = input.type().attr("__torch_dispatch__");
  if (!own.is(plain.attr("__torch_dispatch__"))) {
    userError("execute: input ", position, " is a ", typeName(input),
              ", a torch.Tensor whose operations are its own and which has no memory to read; pass "
              "a plain torch.Tensor");
  }
}

DLManagedTensorVersioned* fromTable(const ExchangeTable& table, nb::handle input, size_t position) {
  DLManagedTensorVersioned* managed = nullptr;
  if (table.from_object(input.ptr(), &managed) != 0) {
    userError("execute: input ", position, " cannot be read: ", takePythonError());
  }
  return managed;
}

Tensor fromTorch(const Torch& torch, nb::handle input, size_t position, DLDataType* dtype) {
  if (torch.table != nullptr) {
    DLManagedTensorVersioned* managed = fromTable(*torch.table, input, position);
    *dtype = managed->dl_tensor.dtype;
    return Tensor::fromDLPack(managed);
  }
  nb::object capsule;
  try {
    capsule = nb::module_::import_("torch.utils.dlpack").attr("to_dlpack")(input);
  } catch (const nb::python_error& error) {
    userError("execute: input ", position,
              " cannot be read: ", nb::cast<std::string>(nb::str(error.value())));
  }
  auto* managed = take<DLManagedTensor>(capsule, kName, kUsedName);
  *dtype = managed->dl_tensor.dtype;
  return Tensor::fromDLPack(managed);
}

/// Of PyTorch on a device; null for the default one.
void* currentStream(const Torch& torch, int index) {
  void* stream = nullptr;
  if (torch.table != nullptr) {
    if (torch.table->current_stream(kDLCUDA, index, &stream) != 0) {
      throw nb::python_error();
    }
  } else {
    const nb::object current =
        nb::module_::import_("torch").attr("cuda").attr("current_stream")(index);
    stream = reinterpret_cast<void*>(nb::cast<uintptr_t>(current.attr("cuda_stream")));
  }
  return stream == reinterpret_cast<void*>(1) ? nullptr : stream;  // 1: the default one, by name
}

}  // namespace

void Inputs::addTorch(nb::handle input) {
  const Torch& torch = *importedTorch();
  settle(Framework::Torch, input);
  requirePlain(input, torch, holder_.size());
  DLDataType dtype{};
  Tensor tensor = fromTorch(torch, input, holder_.size(), &dtype);
  if (needsResolving(input, dtype)) {  // the memory does not tell that it is to be conjugated
    const nb::object resolved = input.attr("resolve_conj")().attr("resolve_neg")();
    protect(fromTorch(torch, resolved, holder_.size(), &dtype),
            "it is a lazily conjugated or negated view; call resolve_conj() and resolve_neg()");
    return;
  }
  if (tensor.device().kind() == DeviceKind::Cuda && other_stream_ == nullptr &&
      currentStream(torch, tensor.device().index()) != nullptr) {
    other_stream_ = &tensor.device();
  }
  holder_.push(std::move(tensor));
}

void Inputs::addTensor(nb::handle input) {
  const std::string package = packageOf(input);
  settle(package == "numpy"                        ? Framework::Numpy
         : package == "cupy"                       ? Framework::Cupy
         : package == "jax" || package == "jaxlib" ? Framework::Jax
                                                   : Framework::Other,
         input);
  const auto device = nb::cast<nb::tuple>(input.attr("__dlpack_device__")());
  const nb::object produce = input.attr("__dlpack__");
  nb::dict options;
  if (nb::cast<int>(device[0]) == kDLCUDA) {
    options["stream"] = 1;  // the producer orders its work before ours, on the default stream
  }
  nb::object capsule;
  try {
    auto with_version = nb::steal<nb::dict>(PyDict_Copy(options.ptr()));
    with_version["max_version"] = nb::make_tuple(1, 0);
    capsule = produce(**with_version);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) {
      throw;
    }
    capsule = produce(**options);  // from before version 1
  }
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedName) == 0) {
    holder_.push(Tensor::fromDLPack(take<DLManagedTensor>(capsule, kName, kUsedName)));
    return;
  }
  auto* managed = take<DLManagedTensorVersioned>(capsule, kVersionedName, kUsedVersionedName);
  const bool read_only = (managed->flags & kDLFlagReadOnly) != 0;
  const Tensor tensor = Tensor::fromDLPack(managed);
  if (read_only) {
    protect(tensor, "it is read-only");
  } else {
    holder_.push(tensor);
  }
}

void Inputs::requireWritable(const Fusion& fusion) const {
  for (const auto& [position, why] : read_only_) {
    for (const auto& [output, alias] : fusion.getOutputAliases()) {
      if (alias.type == AllocationType::ReuseBuffer && position < fusion.inputs().size() &&
          fusion.inputs()[position] == alias.aliased_io) {
        userError("execute: the fusion writes to input ", position, ", but ",
                  std::string_view(why));
      }
    }
  }
}

void Inputs::waitForProducers() const {
  if (other_stream_ != nullptr) {
    nb::module_::import_("torch")
        .attr("cuda")
        .attr("current_stream")(other_stream_->index())
        .attr("synchronize")();
  }
}

void Inputs::finish() const {
  if (other_stream_ != nullptr) {
    other_stream_->synchronize(nullptr);
  }
}

nb::object Inputs::toFramework(const Tensor& given) const {
  Tensor output = given;
  for (const auto& [position, why] : read_only_) {
    if (contains(holder_[position].tensor(), output)) {
      output = output.clone();
    }
  }
  Framework framework = framework_;
  if (framework == Framework::None) {
    framework = importedTorch() != nullptr ? Framework::Torch : Framework::Numpy;
  }
  switch (framework) {
    case Framework::Torch: {
      const ExchangeTable* table = importedTorch()->table;
      if (table == nullptr) {
        return nb::module_::import_("torch.utils.dlpack").attr("from_dlpack")(capsule(output));
      }
      void* object = nullptr;
      if (table->to_object(output.toDLPackVersioned(), &object) != 0) {
        throw nb::python_error();
      }
      return nb::steal(static_cast<PyObject*>(object));
    }
    case Framework::Numpy:
      if (output.dtype() == DataType::BFloat16 || output.dtype() == DataType::Float8_e4m3fn ||
          output.dtype() == DataType::Float8_e5m2) {
        userError("execute: an output has dtype ", dataTypeName(output.dtype()),
                  ", which NumPy does not have; cast it in the fusion (fd.ops.cast)");
      }
      return nb::module_::import_("numpy").attr("from_dlpack")(nb::cast(Array(output)));
    case Framework::Jax:
      return nb::module_::import_("jax.dlpack").attr("from_dlpack")(nb::cast(Array(output)));
    case Framework::Cupy:
      return nb::module_::import_("cupy").attr("from_dlpack")(nb::cast(Array(output)));
    default:
      return nb::cast(Array(output));
  }
}

}  // namespace nvfuser::python
