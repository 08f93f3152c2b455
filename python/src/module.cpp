// The extension module nvfuser._C, on the C interface of the library alone.

#include "arrays.h"
#include "definition.h"
#include "fusion.h"
#include "status.h"
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace nvfuser::python {

void check(int status) {
  switch (status) {
    case NVF_OK:
      return;
    case NVF_ARGUMENT_ERROR:
      throw nb::type_error(nvf_last_error());
    case NVF_USER_ERROR:
      throw UserError(nvf_last_error());
    case NVF_COMPILE_ERROR:
      throw CompileError(nvf_last_error());
    default:
      throw InternalError(nvf_last_error());
  }
}

namespace {

void bindDataType(nb::module_& module) {
  nb::enum_<nvf_dtype> dtypes(module, "DataType", "Types of elements and scalars.");
  for (int32_t code = 0; code < NVF_DTYPE_COUNT; ++code) {
    dtypes.value(nvf_dtype_name(code), static_cast<nvf_dtype>(code));
  }
}

void bindFusion(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Fusion>(module, "Fusion", "A fusion: defined once, executed with any inputs that fit.")
      .def(nb::new_([] { return Fusion::create(); }), "A new one, with the next id.")
      .def(nb::new_([](int64_t id) { return Fusion::find(id); }), "id"_a,
           "The one that has this id in this process.")
      .def("defined", &Fusion::defined, "Whether it is defined and can be executed.")
      .def("execute", &Fusion::execute, "inputs"_a,
           "Executes it on tensors (PyTorch's, NumPy's, or any with __dlpack__) and numbers, in "
           "the order in which its inputs were defined. Gives the list of its outputs.")
      .def("id", &Fusion::id, "Its id: Fusion(id) finds it again.")
      .def(
          "print", [](const Fusion& self) { nb::print(self.ir().c_str()); },
          "Prints its intermediate representation.")
      .def("definition", &Fusion::definition, "The definition as a Python function.");
}

void bindArray(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Array>(module, "Array", "An output that only speaks DLPack.")
      .def(
          "__dlpack__",
          [](Array& self, nb::handle, nb::handle max_version, nb::handle, nb::handle) {
            return self.dlpack(!max_version.is_none() &&
                               nb::cast<int>(nb::cast<nb::tuple>(max_version)[0]) >= 1);
          },
          nb::kw_only(), "stream"_a.none() = nb::none(), "max_version"_a.none() = nb::none(),
          "dl_device"_a.none() = nb::none(), "copy"_a.none() = nb::none())
      .def("__dlpack_device__", &Array::device);
}

}  // namespace

}  // namespace nvfuser::python

NB_MODULE(_C, module) {
  using namespace nvfuser::python;
  module.doc() = "nvFuser's Python frontend: Fusion, FusionDefinition, DataType.";
  module.attr("__version__") = nvf_version();
  nb::exception<UserError>(module, "UserError", PyExc_RuntimeError);
  nb::exception<CompileError>(module, "CompileError", PyExc_RuntimeError);
  nb::exception<InternalError>(module, "InternalError", PyExc_RuntimeError);
  nb::set_leak_warnings(false);  // the registry keeps fusions, not Python objects, until the end
  bindDataType(module);
  bindFusion(module);
  bindDefinition(module);
  bindArray(module);
}
