#include "arrays.h"

#include "cupy_arrays.h"
#include "dlpack_capsules.h"
#include "torch_arrays.h"
#include <capi/definition.h>
#include <ir/tensor_ref.h>
#include <nanobind/stl/string.h>
#include <runtime/executor.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

std::string typeName(nb::handle object) {
  return nb::cast<std::string>(object.type().attr("__name__"));
}

/// "torch" for torch.Tensor.
std::string packageOf(nb::handle object) {
  const std::string module = nb::cast<std::string>(object.type().attr("__module__"));
  return module.substr(0, module.find('.'));
}

/// The items as they are now; nobody can change them meanwhile.
nb::tuple tupleOf(nb::handle sequence) {
  PyObject* items = PySequence_Tuple(sequence.ptr());
  if (items == nullptr) {
    throw nb::python_error();
  }
  return nb::steal<nb::tuple>(items);
}

}  // namespace

Inputs::Inputs(nb::handle inputs) {
  const bool is_list = PyList_CheckExact(inputs.ptr()) || PyTuple_CheckExact(inputs.ptr());
  if (!is_list && (PySequence_Check(inputs.ptr()) == 0 || PyUnicode_Check(inputs.ptr()) ||
                   nb::hasattr(inputs, "__dlpack__"))) {
    const std::string message =
        text("execute: inputs must be a list of tensors and numbers, not a ", typeName(inputs));
    throw nb::type_error(message.c_str());
  }
  const nb::tuple items = tupleOf(inputs);
  holder_.reserve(items.size());
  lent_.reserve(items.size());
  for (nb::handle input : items) {
    if (PyList_Check(input.ptr()) || PyTuple_Check(input.ptr())) {
      for (nb::handle item : tupleOf(input)) {
        add(item);
      }
    } else {
      add(input);
    }
  }
}

void Inputs::add(nb::handle input) {
  const Torch* torch = importedTorch();
  if (torch != nullptr && isTorchTensor(*torch, input)) {
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
      userError("execute: input ", holder_.size(),
                " is an integer beyond 64 bits; pass one between -2^63 and 2^63 - 1, or a float");
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
    try {
      addTensor(input);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) {  // the user stops the program
        throw;
      }
      userError("execute: input ", holder_.size(), ", a ", typeName(input),
                ", cannot be read: ", textOf(error));
    } catch (const std::bad_cast&) {
      userError("execute: input ", holder_.size(), ", a ", typeName(input),
                ", cannot be read: its __dlpack_device__ gives no pair of a kind and a number");
    }
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
  if (framework == Framework::Torch && framework_ == framework) {
    return;
  }
  std::string name = framework == Framework::Torch ? "torch" : packageOf(input);
  if (framework_ == Framework::None) {
    framework_ = framework;
    framework_name_ = std::move(name);
  } else if (name != framework_name_) {
    userError("execute: input ", holder_.size(), " is a tensor of ", name,
              ", but those before it are of ", framework_name_,
              "; pass the tensors of one framework");
  }
}

void Inputs::protect(const Tensor& tensor, const char* why) {
  read_only_.emplace_back(holder_.size(), why);
  holder_.push(tensor);
}

void Inputs::addTorch(nb::handle input) {
  const Torch& torch = *importedTorch();
  settle(Framework::Torch, input);
  nb::object copy;
  Tensor tensor = readTorch(torch, input, holder_.size(), copy);
  if (copy.is_valid()) {
    lent_.emplace_back(holder_.size(), std::move(copy));
    protect(tensor,
            "it is a lazily conjugated or negated view; call resolve_conj() and resolve_neg()");
    return;
  }
  if (torch.inside && torch.allocator != nullptr) {
    tensor.setLender(torch.allocator.get(), torch.inside->handleOf(input.ptr()));
  }
  lent_.emplace_back(holder_.size(), nb::borrow(input));
  holder_.push(std::move(tensor));
}

namespace {

PyObject* callDlpack(nb::handle input, PyObject* names, PyObject* first, PyObject* second) {
  static PyObject* const method = PyUnicode_InternFromString("__dlpack__");
  PyObject* arguments[] = {input.ptr(), first, second};
  return PyObject_VectorcallMethod(method, arguments, 1, names);
}

/// What `input.__dlpack__` gives; `stream`, if valid, is DLPack's number of the stream that reads.
nb::object capsuleFrom(nb::handle input, const nb::object& stream) {
  static PyObject* const version = Py_BuildValue("(ii)", 1, 0);
  static PyObject* const names = Py_BuildValue("(s)", "max_version");
  static PyObject* const names_and_stream = Py_BuildValue("(ss)", "max_version", "stream");
  static PyObject* const stream_alone = Py_BuildValue("(s)", "stream");
  PyObject* made = stream.is_valid() ? callDlpack(input, names_and_stream, version, stream.ptr())
                                     : callDlpack(input, names, version, nullptr);
  if (made == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {  // from before version 1
    PyErr_Clear();
    made = stream.is_valid() ? callDlpack(input, stream_alone, stream.ptr(), nullptr)
                             : callDlpack(input, nullptr, nullptr, nullptr);
  }
  if (made == nullptr) {
    throw nb::python_error();
  }
  return nb::steal(made);
}

/// A function of a module, looked up once.
nb::handle function(PyObject*& kept, const char* module, const char* name) {
  if (kept == nullptr) {
    kept = nb::object(nb::module_::import_(module).attr(name)).release().ptr();
  }
  return kept;
}

}  // namespace

namespace {

/// Whether it is of NumPy's class of this name or of one derived from it, where NumPy is loaded.
bool isOfNumpy(nb::handle input, const char* module, const char* name) {
  const nb::object loaded = nb::steal(PyImport_GetModule(nb::str(module).ptr()));
  if (!loaded.is_valid()) {
    PyErr_Clear();
    return false;
  }
  return nb::isinstance(input, loaded.attr(name));
}

}  // namespace

void Inputs::addTensor(nb::handle input) {
  static PyTypeObject* ndarray = nullptr;  // of NumPy, once one was seen
  const bool is_ndarray = Py_TYPE(input.ptr()) == ndarray;
  if (!is_ndarray || framework_ != Framework::Numpy) {
    std::string package = packageOf(input);
    if (isOfNumpy(input, "numpy.ma", "MaskedArray")) {
      userError(
          "execute: input ", holder_.size(),
          " is a masked array of NumPy, and a fusion knows no masks; pass x.filled(value), or "
          "x.data and the mask as a tensor of its own");
    }
    if (isOfNumpy(input, "numpy", "ndarray")) {
      package = "numpy";
    }
    settle(package == "numpy"                        ? Framework::Numpy
           : package == "cupy"                       ? Framework::Cupy
           : package == "jax" || package == "jaxlib" ? Framework::Jax
                                                     : Framework::Other,
           input);
    if (package == "numpy" && typeName(input) == "ndarray") {
      ndarray = Py_TYPE(input.ptr());
    }
  }
  nb::object stream;
  if (!is_ndarray &&
      nb::cast<int>(nb::cast<nb::tuple>(input.attr("__dlpack_device__")())[0]) == kDLCUDA) {
    // The producer orders its work before ours.
    stream = nb::cast(
        streamNumber(framework_ == Framework::Cupy ? cupyContext().stream : Stream(nullptr)));
  }
  const nb::object capsule = capsuleFrom(input, stream);
  Taken taken = takeCapsule(capsule);
  if (framework_ == Framework::Jax) {
    protect(taken.tensor, "arrays of JAX are never written; take the result as an output");
  } else if (taken.read_only) {
    protect(taken.tensor, "it is read-only");
  } else {
    holder_.push(std::move(taken.tensor));
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

Inputs::Framework Inputs::outputFramework() const {
  if (framework_ != Framework::None) {
    return framework_;
  }
  return importedTorch() != nullptr ? Framework::Torch : Framework::Numpy;
}

/// Null where it is not CUDA.
const Device* Inputs::cudaDeviceOf(const Device* without_tensors) const {
  const Device* device = nullptr;
  for (const KernelArgument& argument : holder_) {
    if (!argument.isTensor()) {
      continue;
    }
    const Device& place = argument.tensor().device();
    if (place.kind() == DeviceKind::Cuda) {
      return &place;
    }
    if (argument.tensor().dim() > 0) {  // a CPU scalar does not say where kernels run
      device = &place;
    }
  }
  if (device == nullptr) {
    device = without_tensors != nullptr ? without_tensors : &defaultDevice();
  }
  return device->kind() == DeviceKind::Cuda ? device : nullptr;
}

RunContext Inputs::context(const Device* device) const {
  switch (outputFramework()) {
    case Framework::Torch: {
      const Torch& torch = *importedTorch();
      const Device* cuda = cudaDeviceOf(device);
      return {cuda != nullptr ? currentStream(torch, cuda->index()) : nullptr, torch.allocator};
    }
    case Framework::Cupy:
      return cupyContext();
    default:
      return {};
  }
}

void Inputs::waitFor(const RunContext& context) const {
  for (const KernelArgument& argument : holder_) {
    if (argument.isTensor()) {
      argument.tensor().device().synchronize(context.stream);
    }
  }
}

nb::object Inputs::toFramework(Tensor output, const RunContext& context) const {
  for (const auto& [position, why] : read_only_) {
    if (holder_[position].tensor().sharesStorage(output)) {
      Tensor copy = Tensor::emptyStrided(output.sizes(), rowMajorStrides(output.sizes()),
                                         output.dtype(), output.device(), context);
      copy.copyFrom(output, context.stream);
      output = std::move(copy);
    }
  }
  for (const auto& [position, object] : lent_) {
    if (holder_[position].tensor().sharesStorage(output)) {
      output = keepTorch(*importedTorch(), object, output);
    }
  }
  switch (outputFramework()) {
    case Framework::Torch:
      return makeTorch(*importedTorch(), std::move(output));
    case Framework::Numpy: {
      if (output.dtype() == DataType::BFloat16 || output.dtype() == DataType::Float8_e4m3fn ||
          output.dtype() == DataType::Float8_e5m2) {
        userError("execute: an output has dtype ", dataTypeName(output.dtype()),
                  ", which NumPy does not have; cast it in the fusion (fd.ops.cast)");
      }
      static PyObject* from_dlpack = nullptr;
      return function(from_dlpack, "numpy",
                      "from_dlpack")(nb::cast(Array(std::move(output), context.stream)));
    }
    case Framework::Jax:
      return nb::module_::import_("jax.dlpack")
          .attr("from_dlpack")(nb::cast(Array(std::move(output), context.stream)));
    case Framework::Cupy:
      if (nb::object array = makeCupy(output); array.is_valid()) {
        return array;
      }
      return nb::module_::import_("cupy").attr("from_dlpack")(
          nb::cast(Array(std::move(output), context.stream)));
    default:
      return nb::cast(Array(std::move(output), context.stream));
  }
}

}  // namespace nvfuser::python
