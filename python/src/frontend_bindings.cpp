// The frontend of the module nvfuser as Python classes. nvfuser/_definition.py makes the
// FusionDefinition of FusionDefinitionBase and of what nvfuser_direct has, too.

#include "arguments.h"
#include "dtypes.h"
#include "frontend.h"
#include "value_operators.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using FusionPtr = std::shared_ptr<FrontendFusion>;

/// `fd.ops`: calls operations by name.
struct Operators {
  FusionPtr fusion;
};

struct FusionDefinitionBase {
  FusionPtr fusion;

  capi::Definition& defining() const { return *fusion->defining(); }
};

nb::object valueWithId(const FusionDefinitionBase& self, int64_t id) {
  return wrapFrontend(self.fusion->defining(), self.defining().valueOf(id));
}

template <typename ValueClass>
nb::class_<ValueClass> bindValue(nb::module_& module, const char* name, const char* doc) {
  nb::class_<ValueClass> value(module, name, doc);
  value
      .def_prop_ro(
          "ndim",
          [](const ValueClass& self) {
            const Val* val = self.val();
            return val->template isA<TensorView>()
                       ? capi::Axes{}.of(val->template as<TensorView>()).size()
                       : 0;
          },
          "Number of axes.")
      .def_prop_ro(
          "dtype", [](const ValueClass& self) { return fromDtype(self.val()->dtype()); },
          "Its DataType.")
      .def_prop_ro(
          "node", [](const ValueClass& self) { return wrap(self.owner, self.val()); },
          "The same value as nvfuser_direct shows it, with its axes.")
      .def("__repr__", [prefix = std::string(name, 1)](const ValueClass& self) {
        // Scheduling makes tensors, too, which no statement of the definition names.
        const int64_t id = self.owner->idOf(self.val());
        return id >= 0 ? prefix + std::to_string(id) : self.val()->toString();
      });
  bindValueOperators(value);
  return value;
}

void bindOperators(nb::class_<FusionDefinitionBase>& scope) {
  nb::class_<Operators> operators(
      scope, "Operators",
      "The operations: output = fd.ops.NAME(arguments). Operands are tensors and scalars of the "
      "fusion, or numbers. `axes`, `dims` and `dim` name the same parameter, as do `keepdim` and "
      "`keep_dim`, `shape` and `output_shape`. A wrong argument is a TypeError, one that makes no "
      "sense a UserError.");
  operators.def(
      "__init__", [](Operators* self, const FusionPtr& fusion) { new (self) Operators{fusion}; },
      nb::arg("fusion"));
  for (const capi::Operation& operation : capi::operations()) {
    nb::cpp_function_def(
        [&operation](const Operators& self, const nb::args& arguments, const nb::kwargs& named) {
          return callOperation(self.fusion->defining(), operation, arguments, named, &wrapFrontend);
        },
        nb::scope(operators), nb::name(operation.name.c_str()), nb::is_method(),
        nb::sig(pythonSignature(operation, false).c_str()), pythonDoc(operation).c_str());
  }
}

nb::object defineTensorBySizes(const FusionDefinitionBase& self, const std::vector<int64_t>& sizes,
                               const std::vector<bool>& contiguous, nvf_dtype dtype) {
  if (sizes.size() != contiguous.size()) {
    userError("define_tensor: symbolic_sizes has ", sizes.size(), " entries, but contiguous has ",
              contiguous.size());
  }
  requireDtype(dtype);
  return valueWithId(self, self.defining().defineTensor(sizes, contiguous, dtype));
}

nb::object defineTensorByRank(const FusionDefinitionBase& self, int64_t ndims, nvf_dtype dtype) {
  capi::Definition& definition = self.defining();
  requireDtype(dtype);
  capi::requireRank(ndims);
  const auto rank = static_cast<size_t>(ndims);
  return valueWithId(self, definition.defineTensor(std::vector<int64_t>(rank, -1),
                                                   std::vector<bool>(rank, false), dtype));
}

nb::object defineTensorByStrides(const FusionDefinitionBase& self,
                                 const std::vector<int64_t>& sizes,
                                 const std::vector<int64_t>& strides, nvf_dtype dtype) {
  if (sizes.size() != strides.size()) {
    userError("define_tensor: sizes has ", sizes.size(), " entries, but strides has ",
              strides.size());
  }
  requireDtype(dtype);
  return valueWithId(self, self.defining().defineTensorLike(sizes, strides, dtype));
}

void addOutput(const FusionDefinitionBase& self, nb::handle output) {
  const DefinitionPtr definition = self.fusion->defining();
  const nvf_argument given = Arguments(definition, "add_output").convert(output);
  if (given.kind != NVF_ARG_VALUE) {
    throw nb::type_error("add_output: an output is a tensor or a scalar of the fusion");
  }
  definition->addOutput(given.integer);
}

nb::object valueOfNode(const FrontendFusion& self, const ValNode& node) {
  if (node.owner != self.irFusion().definition) {
    userError("value_of: ", *node.statement, " belongs to another fusion");
  }
  return wrapFrontend(node.owner, node.val());
}

/// The sizes as statements of the definition.
nb::object sizeOfAxis(const FrontendTensor& self, int64_t dim) {
  return callOnOpen(self, "size", {nb::find(self), nb::int_(dim)});
}

nb::object shapeOf(const FrontendTensor& self) {
  const nb::object sizes = callOnOpen(self, "shape", {nb::find(self)});
  return nb::module_::import_("nvfuser._vector").attr("Vector")(sizes);
}

void bindFusion(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<FrontendFusion>(module, "Fusion",
                             "A fusion: defined once, executed with any inputs that fit.")
      .def(nb::new_([] { return std::make_shared<FrontendFusion>(); }),
           "A new one, to be defined with FusionDefinition.")
      .def(nb::new_([](int64_t id) { return std::make_shared<FrontendFusion>(id); }), "id"_a,
           "The one that has this id in this process; a UserError names the known ids.")
      .def("defined", &FrontendFusion::defined, "Whether it is defined and can be executed.")
      .def("execute", &FrontendFusion::execute, "inputs"_a,
           "Executes it on tensors (PyTorch's, NumPy's, or any with __dlpack__) and numbers, in "
           "the order in which its inputs were defined. Gives the list of its outputs, tensors of "
           "the inputs' framework. Inputs that do not fit are a UserError.")
      .def("id", &FrontendFusion::id,
           "Its id: Fusion(id) finds it again. Definitions count from 0; the same definition "
           "entered again has the same id.")
      .def(
          "print", [](const FrontendFusion& self) { nb::print(self.ir().c_str()); },
          "Prints its intermediate representation.")
      .def("definition", &FrontendFusion::definition, "The definition as a Python function.")
      .def("kernels", &FrontendFusion::kernels, "Text of the kernels that ran last.")
      .def("explain", &FrontendFusion::explain, "html"_a.none() = nb::none(),
           "inputs"_a.none() = nb::none(),
           "Text about the last call: the definition, how it was cut into kernels, each one's "
           "scheduler with its parameters, why no scheduler took more, and the kernels. `html`: a "
           "path, to which a page is written as well, with the fusion as a picture, each kernel "
           "beside the loops that it came from, and bytes, milliseconds and fraction of a copy's "
           "speed, measured with `inputs` or, without them, with others of the last call's sizes. "
           "A UserError if nothing was executed yet.")
      .def("begin_definition", &FrontendFusion::beginDefinition,
           "What a FusionDefinition's `with` does first; a UserError if it is (being) defined.")
      .def("close_definition", &FrontendFusion::closeDefinition,
           "Nothing is added from here on, but it is not entered: it is to be scheduled by hand.")
      .def("end_definition", &FrontendFusion::endDefinition, "keep"_a,
           "And last: from here on the fusion has an id, if it is to be kept.")
      .def("graph", &FrontendFusion::irFusion,
           "What is being defined, else what is defined, as nvfuser_direct's Fusion.")
      .def(
          "owns",
          [](const FrontendFusion& self, nb::handle value) {
            const ValNode* node = valueOf(value);
            return node != nullptr && node->owner == self.irFusion().definition;
          },
          "value"_a, "Whether a Tensor or Scalar is one of graph()'s.")
      .def("value_of", &valueOfNode, "node"_a,
           "The Tensor or Scalar that a value of graph() is, also one that scheduling has made.")
      .def("executor", &FrontendFusion::executor,
           "nvfuser_direct's FusionExecutorCache, one for all that have this id.");
}

void bindFusionCache(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<FusionCache>(module, "FusionCache",
                          "All fusions that were defined in this process, by id: the same "
                          "definition entered again is the same fusion, compiled once.")
      .def_static(
          "get",
          [](std::optional<int64_t> most) {
            if (most) {
              FusionCache::limit(*most);
            }
            return FusionCache();
          },
          "max_fusions"_a = nb::none(),
          "The one of this process. `max_fusions`: how many there may be from now on.")
      .def_static("reset", &FusionCache::reset,
                  "Empties it: ids begin at 0 again. Fusions that are still held stay usable.")
      .def("num_fusions", [](const FusionCache&) { return FusionCache::size(); })
      .def(
          "stats", [](const FusionCache&) { return FusionCache::stats(); },
          "How often each fusion was defined again.")
      .def(
          "print_stats", [](const FusionCache&) { nb::print(FusionCache::stats().c_str()); },
          "Prints stats().");
}

}  // namespace

void bindFrontend(nb::module_& module) {
  using namespace nb::literals;
  bindValue<FrontendTensor>(module, "Tensor", "A tensor of a fusion.")
      .def("size", &sizeOfAxis, "dim"_a, "The size of an axis, a Scalar.")
      .def("shape", &shapeOf, "The sizes of all axes, a Vector of Scalars.");
  bindValue<FrontendScalar>(module, "Scalar", "A scalar of a fusion.");
  bindFusion(module);
  bindFusionCache(module);
  nb::class_<FusionDefinitionBase> definition(module, "FusionDefinitionBase",
                                              "What defines a Fusion, in a `with` block.");
  bindOperators(definition);
  definition
      .def(
          "__init__",
          [](FusionDefinitionBase* self, const FusionPtr& fusion) {
            new (self) FusionDefinitionBase{fusion};
          },
          "fusion"_a)
      .def_rw("handle", &FusionDefinitionBase::fusion, "The Fusion that is defined.")
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<FusionDefinitionBase&>(self).fusion->beginDefinition();
             return nb::borrow(self);
           })
      .def(
          "__exit__",
          [](const FusionDefinitionBase& self, nb::handle kind, nb::handle, nb::handle) {
            self.fusion->endDefinition(kind.is_none());
          },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none())
      .def("define_tensor", &defineTensorByRank, "ndims"_a, "dtype"_a = NVF_FLOAT,
           "An input tensor by its number of axes: symbolic sizes, no contiguity.")
      .def("define_tensor", &defineTensorBySizes, "symbolic_sizes"_a, "contiguous"_a,
           "dtype"_a = NVF_FLOAT,
           "An input tensor by symbolic sizes (-1, or 1 for a broadcast axis) and whether each "
           "axis is contiguous with the one to its right.")
      .def("define_tensor", &defineTensorByStrides, "sizes"_a, "strides"_a, "dtype"_a = NVF_FLOAT,
           "An input tensor like one of these sizes and strides: sizes become symbolic, 1 stays.")
      .def(
          "define_scalar",
          [](const FusionDefinitionBase& self, nvf_dtype dtype) {
            requireDtype(dtype);
            return valueWithId(self, self.defining().defineScalar(dtype));
          },
          "dtype"_a = NVF_DOUBLE, "An input scalar.")
      .def(
          "define_constant",
          [](const FusionDefinitionBase& self, nb::handle value) {
            const PolymorphicValue number = numberOf(value, "define_constant");
            return valueWithId(self, self.defining().defineConstant(number));
          },
          "value"_a, "A constant of type Bool, Int, Double or ComplexDouble, as the value is.")
      .def("add_output", &addOutput, "output"_a,
           "Makes a tensor or a scalar an output; a scalar comes out as a tensor without axes.");
}

}  // namespace nvfuser::python
