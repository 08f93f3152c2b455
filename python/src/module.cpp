// The extension module nvfuser._C: the frontend of the module nvfuser, and in `direct` what
// nvfuser_direct shows.

#include "direct/bindings.h"
#include "dlpack_capsules.h"
#include "dtypes.h"
#include "frontend.h"
#include "graph_plan/graph_plan.h"
#include "interruptible.h"
#include "machine.h"
#include "torch_table.h"
#include <capi/arguments.h>
#include <evaluator/operations.h>
#include <ir/index_error.h>
#include <nanobind/nanobind.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

void bindErrors(nb::module_& module) {
  nb::exception<InternalError>(module, "InternalError", PyExc_RuntimeError);
  nb::exception<CompileError>(module, "CompileError", PyExc_RuntimeError);
  const auto user_error = nb::exception<UserError>(module, "UserError", PyExc_RuntimeError);
  nb::exception<PartialUpdateError>(module, "PartialUpdateError", user_error);
  // Both a UserError and what Python and PyTorch raise for an index that an axis does not have.
  nb::exception<IndexRangeError>(module, "IndexRangeError",
                                 nb::make_tuple(user_error, nb::handle(PyExc_IndexError)));
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const capi::ArgumentError& wrong) {
      PyErr_SetString(PyExc_TypeError, wrong.what());
    }
  });
}

void bindArray(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Array>(module, "Array", "An output that only speaks DLPack.")
      .def(
          "__dlpack__",
          [](const Array& self, nb::handle stream, nb::handle max_version, nb::handle, nb::handle) {
            return self.dlpack(stream, !max_version.is_none() &&
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
  module.def(
      "number_of_threads",
      [](uint64_t seed, uint64_t offset, uint64_t element, uint64_t threads, uint64_t width) {
        const double parameters[] = {static_cast<double>(threads), static_cast<double>(width)};
        return nvfuser::reference::drawnNumber(nvfuser::RNGOpType::UniformOfThreads,
                                               nvfuser::DataType::Float, seed, offset, element,
                                               parameters);
      },
      nb::arg("seed"), nb::arg("offset"), nb::arg("element"), nb::arg("threads"), nb::arg("width"),
      "The number of one element of uniform_of_threads.");
  nb::set_leak_warnings(false);  // defined fusions stay until the process ends
  bindErrors(module);
  bindDataType(module);
  bindArray(module);
  bindMachine(module);
  nb::module_ direct = module.def_submodule("direct", "What the package nvfuser_direct shows.");
  bindDirect(direct);
  bindGraphPlan(module);
  bindFrontend(module);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&Interruptible::stopAll));
  importedTorch();  // where it was before us, it is a library from now on
}
