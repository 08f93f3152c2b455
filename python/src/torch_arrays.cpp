#include "torch_arrays.h"

#include <string>

#include "interpreter_lock.h"
#include "torch_capsules.h"
#include <nanobind/stl/string.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

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

/// Throws unless all that is to know of the tensor is its memory.
void requirePlain(nb::handle input, const Torch& torch, size_t position) {
  if (Py_TYPE(input.ptr()) == torch.tensor || Py_TYPE(input.ptr()) == torch.parameter) {
    return;
  }
  const nb::handle plain = reinterpret_cast<PyObject*>(torch.tensor);
  const nb::object own = input.type().attr("__torch_dispatch__");
  if (!own.is(plain.attr("__torch_dispatch__"))) {
    const std::string name = nb::cast<std::string>(input.type().attr("__name__"));
    userError("execute: input ", position, " is a ", std::string_view(name),
              ", a torch.Tensor whose operations are its own and which has no memory to read; pass "
              "a plain torch.Tensor");
  }
}

/// PyTorch's refusal as a `UserError`. A layout without strides is named here: what PyTorch says
/// of it differs from version to version.
[[noreturn]] void throwUnreadable(nb::handle input, size_t position,
                                  const nb::python_error& error) {
  const nb::object layout = input.attr("layout");
  if (!layout.is(nb::module_::import_("torch").attr("strided"))) {
    userError("execute: input ", position, " cannot be read: its layout is ",
              std::string_view(nb::cast<std::string>(nb::str(layout))),
              ", which has no strides; use to_dense()");
  }
  userError("execute: input ", position, " cannot be read: ", textOf(error));
}

Tensor read(const Torch& torch, nb::handle input, size_t position, DLDataType* dtype) {
  if (torch.table != nullptr) {
    DLTensor lent{};
    if (torch.table->borrow(input.ptr(), &lent) != 0) {
      throwUnreadable(input, position, nb::python_error());
    }
    *dtype = lent.dtype;
    return Tensor::fromDLPack(lent);
  }
  try {
    Taken taken = takeFromTorch(input);
    *dtype = taken.dtype;
    return std::move(taken.tensor);
  } catch (const nb::python_error& error) {
    throwUnreadable(input, position, error);
  }
}

}  // namespace

bool needsResolving(const Torch& torch, nb::handle input, DLDataType dtype) {
  static PyObject* const is_neg = interned("is_neg");
  static PyObject* const is_conj = interned("is_conj");
  if (torch.inside) {
    return torch.inside->isLazy(input.ptr());
  }
  return asks(input, is_neg) || (dtype.code == kDLComplex && asks(input, is_conj));
}

std::string textOf(const nb::python_error& error) {
  const std::string message = nb::cast<std::string>(nb::str(error.value()));
  return message.substr(0, message.find('\n'));
}

bool isTorchTensor(const Torch& torch, nb::handle object) {
  return Py_TYPE(object.ptr()) == torch.tensor ||
         PyObject_TypeCheck(object.ptr(), torch.tensor) != 0;
}

Tensor readTorch(const Torch& torch, nb::handle input, size_t position, nb::object& copy) {
  requirePlain(input, torch, position);
  DLDataType dtype{};
  Tensor tensor = read(torch, input, position, &dtype);
  if (needsResolving(torch, input, dtype)) {
    copy = input.attr("resolve_conj")().attr("resolve_neg")();
    return read(torch, copy, position, &dtype);
  }
  return tensor;
}

Tensor keepTorch(const Torch& torch, nb::handle input, const Tensor& tensor) {
  if (torch.table == nullptr) {
    return tensor;  // a capsule's tensor keeps its memory
  }
  DLManagedTensorVersioned* managed = nullptr;
  if (torch.table->from_object(input.ptr(), &managed) != 0) {
    throw nb::python_error();
  }
  return Tensor::fromDLPack(managed).asStrided(tensor.sizes(), tensor.strides(),
                                               tensor.storageOffset());
}

nb::object makeTorch(const Torch& torch, Tensor output) {
  const Allocator* allocator = torch.allocator.get();
  if (const Allocator::Block* block = output.blockOf(allocator);
      block != nullptr && block->handle != nullptr) {
    const TorchShim::Handle tensor = block->handle;
    const bool is_all = output.storageOffset() == 0 &&
                        torch.shim->isOfForm(tensor, output.sizes(), output.strides());
    if (!is_all || !output.takeBlock(allocator)) {
      return torch.shim->toObject(
          torch.shim->view(tensor, {output.sizes(), output.strides()}, output.storageOffset()));
    }
    return torch.shim->toObject(tensor);
  }
  if (torch.table == nullptr) {
    return giveToTorch(output);
  }
  void* object = nullptr;
  if (torch.table->to_object(output.toDLPackVersioned(), &object) != 0) {
    throw nb::python_error();
  }
  return nb::steal(static_cast<PyObject*>(object));
}

Stream currentStream(const Torch& torch, int index) {
  void* stream = nullptr;
  if (torch.table != nullptr) {
    if (torch.table->current_stream(kDLCUDA, index, &stream) != 0) {
      const LockHeld held;
      throw nb::python_error();
    }
  } else {
    const LockHeld held;
    const nb::object current =
        nb::module_::import_("torch").attr("cuda").attr("current_stream")(index);
    stream = reinterpret_cast<void*>(nb::cast<uintptr_t>(current.attr("cuda_stream")));
  }
  return stream == reinterpret_cast<void*>(1) ? nullptr : stream;  // 1: the default one, by name
}

}  // namespace nvfuser::python
