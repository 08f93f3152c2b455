#include "direct/fusion.h"

#include <algorithm>
#include <iostream>
#include <numeric>

#include "direct/bindings.h"
#include "direct/params.h"
#include <capi/definition_text.h>
#include <nanobind/stl/string.h>
#include <ops/arith.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

std::vector<DefinitionPtr>& activeOnes() {
  thread_local std::vector<DefinitionPtr> stack;
  return stack;
}

const ValNode& ownValue(const IrFusion& self, nb::handle value, const char* what) {
  if (!nb::isinstance<ValNode>(value)) {
    throw nb::type_error(text(std::string_view(what), ": a TensorView or a Val is needed, not a ",
                              nb::cast<std::string>(value.type().attr("__name__")))
                             .c_str());
  }
  const ValNode& node = nb::cast<const ValNode&>(value);
  if (node.owner != self.definition) {
    userError(what, ": ", *node.statement,
              " belongs to another fusion; use the values that this one's definition made");
  }
  return node;
}

void addInput(const IrFusion& self, nb::handle input) {
  Val* in = ownValue(self, input, "add_input").val();
  if (in->definition() != nullptr) {
    userError("add_input: ", *in, " is computed by ", in->definition()->getOpString(),
              "; an input is made with define_tensor or define_scalar");
  }
  self.definition->graph.addInput(in);
}

void addOutput(const IrFusion& self, nb::handle output, nb::handle alias) {
  capi::Definition& definition = *self.definition;
  Val* out = ownValue(self, output, "add_output").val();
  if (!out->isA<TensorView>()) {
    userError("Non-TensorView outputs are not supported at this point, but ", *out,
              out->isScalar() ? " is a scalar; make a tensor of it with ops.full([], value, dtype)"
                              : " is an axis; add the tensor itself");
  }
  FusionGuard guard(&definition.graph);
  Val* in = alias.is_none() ? nullptr : ownValue(self, alias, "add_output").val();
  if (in != nullptr) {
    definition.graph.aliasOutputToInput(out, in, AllocationType::ReuseBuffer);
  } else {
    // No framework has a dtype Index: it comes out as Int, as in the module nvfuser.
    definition.graph.addOutput(out->dtype() == DataType::Index ? castOp(DataType::Int, out) : out);
  }
  definition.extended();
  if (definition.keepsStatements()) {
    auto name = [&](const Val* val) { return capi::valueText(definition, definition.idOf(val)); };
    definition.statements.push_back(in != nullptr
                                        ? text("fd.add_output(", name(out), ", ", name(in), ")")
                                        : text("fd.add_output(", name(out), ")"));
  }
}

nb::list valuesOf(const IrFusion& self) {
  nb::list result;
  for (const auto& val : self.definition->graph.vals()) {
    result.append(wrap(self.definition, val.get()));
  }
  return result;
}

std::string mathOf(const IrFusion& self, bool from_outputs_only) {
  const Fusion& graph = self.definition->graph;
  if (from_outputs_only) {
    return graph.mathString();
  }
  std::string all;
  for (const auto& expr : graph.allExprs()) {
    append(all, text(expr->toString(), "\n"));
  }
  return all;
}

}  // namespace

const DefinitionPtr& activeDefinition(const char* what) {
  if (activeOnes().empty()) {
    userError(
        what,
        ": no fusion is being defined; use `with FusionDefinition() as fd:` or a FusionGuard");
  }
  return activeOnes().back();
}

Guard::Guard(const IrFusion& fusion) : definition_(fusion.definition) {
  activeOnes().push_back(definition_);
}

Guard::~Guard() { leave(); }

/// Guards may end in any order: Python decides when it frees them.
void Guard::leave() {
  auto& active = activeOnes();
  const auto last = std::find(active.rbegin(), active.rend(), definition_);
  if (definition_ != nullptr && last != active.rend()) {
    active.erase(std::next(last).base());
  }
  definition_.reset();
}

TensorDescriptor describeTensor(const std::vector<int64_t>& sizes,
                                const std::vector<int64_t>& strides, std::string_view what) {
  const size_t rank = sizes.size();
  if (strides.size() != rank) {
    userError(what, ": sizes has ", rank, " entries, but strides has ", strides.size());
  }
  std::vector<size_t> moving;  // expanded axes stay where they are
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] < 0 || strides[i] < 0) {
      userError(what, ": axis ", i, " has size ", sizes[i], " and stride ", strides[i],
                "; neither may be negative");
    }
    if (strides[i] != 0) {
      moving.push_back(i);
    }
  }
  std::stable_sort(moving.begin(), moving.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  std::vector<size_t> in_memory(rank);
  auto next = moving.begin();
  for (size_t i = 0; i < rank; ++i) {
    in_memory[i] = strides[i] == 0 ? i : *next++;
  }
  TensorDescriptor result;
  result.contiguity.resize(rank);
  result.stride_order.resize(rank);
  int64_t expected = 1;
  for (size_t at = rank; at-- > 0;) {
    const size_t axis = in_memory[at];
    result.stride_order[axis] = static_cast<int64_t>(rank - 1 - at);
    if (sizes[axis] != 1 && strides[axis] != 0) {
      result.contiguity[at] = strides[axis] == expected;
      expected = strides[axis] * sizes[axis];
    }
  }
  return result;
}

void bindFusionClass(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<IrFusion>(direct, "Fusion", "A graph of tensor operations.")
      .def("__init__",
           [](IrFusion* self) {
             new (self) IrFusion{std::make_shared<capi::Definition>(capi::TextOf::Graph)};
           })
      .def(
          "__eq__",
          [](const IrFusion& self, nb::handle other) {
            return nb::isinstance<IrFusion>(other) &&
                   self.definition->graph.sameDefinition(
                       nb::cast<const IrFusion&>(other).definition->graph);
          },
          "Whether both are the same definition.")
      .def("__hash__", [](const IrFusion& self) { return self.definition->graph.hash(); })
      .def("inputs",
           [](const IrFusion& self) {
             return wrapAll(self.definition, self.definition->graph.inputs());
           })
      .def("outputs",
           [](const IrFusion& self) {
             return wrapAll(self.definition, self.definition->graph.outputs());
           })
      .def("vals", &valuesOf)
      .def("add_input", &addInput, "input"_a.none(), "Makes a tensor or a scalar an input.")
      .def("add_output", &addOutput, "output"_a.none(), "alias_input"_a.none() = nb::none(),
           "Makes a tensor an output; with alias_input it is written to that input's memory, and "
           "returned only if it is also added without.")
      .def("print_math", &mathOf, "from_outputs_only"_a = true, "The operations, one a line.")
      .def(
          "print_kernel",
          [](const IrFusion& self, const CompileParamsView& params) {
            return self.definition->graph.kernelString(params);
          },
          "compile_params"_a = CompileParamsView(),
          "The text of the kernel: CUDA C++, or C++ if the parameters' device is the CPU.")
      .def(
          "updates_inputs",
          [](const IrFusion& self) {
            const auto& aliases = self.definition->graph.getOutputAliases();
            return std::any_of(aliases.begin(), aliases.end(), [](const auto& entry) {
              return entry.second.type == AllocationType::ReuseBuffer;
            });
          },
          "Whether an output is written to an input's memory.")
      .def("__str__", [](const IrFusion& self) { return self.definition->graph.toString(); })
      .def("__repr__", [](const IrFusion& self) { return self.definition->graph.toString(); });
  nb::class_<Guard>(direct, "FusionGuard",
                    "The fusion is the one that functions define, until the guard is deleted.")
      .def(nb::init<const IrFusion&>(), "fusion"_a)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__", [](Guard& self, nb::handle, nb::handle, nb::handle) { self.leave(); },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none());
  direct.def(
      "translate_fusion",
      [](const IrFusion& fusion) { return fusion.definition->pythonText("nvfuser_fusion"); },
      "fusion"_a, "The definition as a Python function of an `fd`.");
}

}  // namespace nvfuser::python
