// FusionDefinition.execute: a method of a class that is written in Python.

#include "direct/bindings.h"
#include "direct/executors.h"

namespace nvfuser::python {

namespace {

/// With options, wrongly, and as long as there is no executor: by the class itself.
nb::object executeAny(nb::handle self, const nb::args& arguments, const nb::kwargs& named) {
  return self.attr("_execute")(*arguments, **named);
}

nb::object execute(nb::handle self, nb::handle inputs) {
  static PyObject* const name = PyUnicode_InternFromString("fec");
  const auto executor = nb::steal(PyObject_GetAttr(self.ptr(), name));
  if (!executor.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
      throw nb::python_error();
    }
    PyErr_Clear();
    return self.attr("_execute")(inputs);
  }
  ExecutorCache* cache = nullptr;
  const bool is_ours = nb::try_cast(executor, cache) && cache != nullptr;
  return is_ours ? cache->execute(inputs) : self.attr("_execute")(inputs);
}

}  // namespace

void bindDefinitionCall(nb::module_& direct) {
  using namespace nb::literals;
  direct.def(
      "execute", &execute, nb::is_method(), "inputs"_a,
      nb::sig("def execute(self, inputs) -> list"),
      "Runs it on tensors and numbers, compiling what is missing. Gives the list of outputs.");
  direct.def("execute", &executeAny, nb::is_method(),
             nb::sig("def execute(self, inputs, *, device=None, save_repro_inputs=False, "
                     "_enable_options=(), _disable_options=()) -> list"),
             "`device` says where to run a fusion without tensor inputs. With save_repro_inputs, "
             "last_repro_script() tells what was run.");
}

}  // namespace nvfuser::python
