#include "torch_table.h"

#include "aten/library.h"
#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

namespace {

/// `sys.modules` entry; invalid if there is none.
nb::object importedModule(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();  // borrowed
  return nb::borrow(PyDict_GetItemString(modules, name));
}

Torch read(const nb::object& torch) {
  Torch result{};
  // The classes stay as long as the process: one reference each is never given back.
  result.tensor = reinterpret_cast<PyTypeObject*>(nb::object(torch.attr("Tensor")).release().ptr());
  result.parameter = reinterpret_cast<PyTypeObject*>(
      nb::object(torch.attr("nn").attr("Parameter")).release().ptr());
  const nb::object capsule =
      nb::getattr(torch.attr("Tensor"), "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") != 0) {
    auto* table = static_cast<const ExchangeTable*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (table != nullptr && table->version.major == 1 && table->from_object != nullptr &&
        table->to_object != nullptr && table->borrow != nullptr &&
        table->current_stream != nullptr) {
      result.table = table;
    }
  }
  if (std::unique_ptr<TorchShim> shim = TorchShim::find(torch)) {
    result.shim = shim.release();  // of the process, as the classes
    result.allocator = std::make_shared<TorchAllocator>(*result.shim);
    try {
      result.inside = TorchInside::find(torch, *result.shim);
    } catch (const nb::python_error&) {  // it does not tell of keys: methods are asked instead
    }
  }
  return result;
}

}  // namespace

const Torch* importedTorch() {
  static const Torch* found = nullptr;  // written with the interpreter's lock held
  if (found == nullptr) {
    const nb::object torch = importedModule("torch");
    // While PyTorch is being imported it is not usable yet.
    if (torch.is_valid() && nb::hasattr(torch, "Tensor") && nb::hasattr(torch, "nn") &&
        nb::hasattr(torch.attr("nn"), "Parameter")) {
      found = new Torch(read(torch));
      registerLibrary(*found);
    }
  }
  return found;
}

}  // namespace nvfuser::python
