// The IR's classes, to read: statements, values, axes, expressions.

#include "direct/bindings.h"
#include "direct/enums.h"
#include "nodes.h"
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

nb::object operand(const ExprNode& self, const std::vector<Val*>& operands, int64_t index,
                   const char* what) {
  if (index < 0 || index >= static_cast<int64_t>(operands.size())) {
    throw nb::index_error(text(std::string_view(what), ": there is no ", index,
                               "; the expression has ", operands.size())
                              .c_str());
  }
  return wrap(self.owner, operands[static_cast<size_t>(index)]);
}

}  // namespace

void bindIr(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<Node>(direct, "Statement", "A node of a fusion.")
      .def("__str__", [](const Node& self) { return self.statement->toString(); })
      .def("__repr__", [](const Node& self) { return self.statement->toString(); })
      .def("__eq__",
           [](const Node& self, nb::handle other) {
             return nb::isinstance<Node>(other) && self == nb::cast<const Node&>(other);
           })
      .def("__hash__", [](const Node& self) { return std::hash<const void*>()(self.statement); });
  nb::class_<ValNode, Node>(direct, "Val", "A value: as itself a scalar.")
      .def(
          "is_symbolic", [](const ValNode& self) { return self.val()->isSymbolic(); },
          "Whether it is known only when the fusion runs.")
      .def(
          "is_tensor", [](const ValNode& self) { return self.val()->isA<TensorView>(); },
          "Whether it is a TensorView.")
      .def(
          "definition",
          [](const ValNode& self) { return wrap(self.owner, self.val()->definition()); },
          "The expression that computes it; None for an input.")
      .def(
          "uses", [](const ValNode& self) { return wrapAll(self.owner, self.val()->uses()); },
          "The expressions that read it.");
  nb::class_<IterDomainNode, ValNode>(direct, "IterDomain", "An axis.")
      .def(
          "is_reduction", [](const IterDomainNode& self) { return self.id()->isReduction(); },
          "Whether it is summed over (or multiplied, …).")
      .def(
          "extent",
          [](const IterDomainNode& self) { return wrap(self.owner, self.id()->extent()); },
          "Its size, a Val.")
      .def(
          "parallelize",
          [](const IterDomainNode& self, ParallelType type) {
            FusionGuard guard(&self.owner->graph);
            self.id()->parallelize(requireParallel(type));
          },
          "parallel_type"_a, "Binds the axis. A UserError where its kind forbids it.");
  nb::class_<TensorDomainNode, ValNode>(direct, "TensorDomain", "The axes of a tensor.");
  nb::class_<ExprNode, Node>(direct, "Expr", "An operation, or a transform of axes.")
      .def("__str__", [](const ExprNode& self) { return self.expr()->toString(); })
      .def("__repr__", [](const ExprNode& self) { return self.expr()->toString(); })
      .def(
          "input",
          [](const ExprNode& self, int64_t index) {
            return operand(self, self.expr()->inputs(), index, "input");
          },
          "index"_a, "The operand at this position; an IndexError if there is none.")
      .def(
          "output",
          [](const ExprNode& self, int64_t index) {
            return operand(self, self.expr()->outputs(), index, "output");
          },
          "index"_a, "The result at this position; an IndexError if there is none.");
  nb::class_<SplitNode, ExprNode>(direct, "Split", "Cuts an axis in two.")
      .def("outer", [](const SplitNode& self) { return wrap(self.owner, self.expr()->output(0)); })
      .def("inner", [](const SplitNode& self) { return wrap(self.owner, self.expr()->output(1)); });
  nb::class_<MergeNode, ExprNode>(direct, "Merge", "Makes one axis of two.")
      .def("outer", [](const MergeNode& self) { return wrap(self.owner, self.expr()->input(0)); })
      .def("inner", [](const MergeNode& self) { return wrap(self.owner, self.expr()->input(1)); });
  nb::class_<BroadcastNode, ExprNode>(direct, "BroadcastOp", "Adds axes of extent 1.");
  nb::class_<ReshapeNode, ExprNode>(direct, "ReshapeOp", "Another shape of the same elements.");
  nb::class_<SqueezeNode, ExprNode>(direct, "SqueezeOp", "Drops axes of extent 1.");
}

}  // namespace nvfuser::python
