#include <algorithm>

#include "graph_plan/graph_plan.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <support/error.h>
#include <support/text.h>

namespace nvfuser::python {

namespace {

PlanInteger integerOf(nb::handle given) {
  if (nb::isinstance<PlanSlot>(given)) {
    return {nb::cast<PlanSlot>(given).index, 0};
  }
  return {std::nullopt, nb::cast<int64_t>(given)};
}

std::vector<PlanInteger> integersOf(const nb::sequence& given) {
  std::vector<PlanInteger> integers;
  for (nb::handle item : given) {
    integers.push_back(integerOf(item));
  }
  return integers;
}

std::vector<DispatchedOperand> operandsOf(const nb::sequence& given) {
  std::vector<DispatchedOperand> operands;
  for (nb::handle item : given) {
    const auto described = nb::cast<nb::tuple>(item);  // (kind, whether it is optional, value)
    const auto kind = nb::cast<std::string_view>(described[0]);
    const nb::object value = nb::borrow(described[2]);
    DispatchedOperand operand;
    operand.is_optional = nb::cast<bool>(described[1]);
    using enum DispatchedOperand::Kind;
    if (kind == "none") {
      operand.kind = None;
    } else if (kind == "tensor") {
      operand.kind = Tensor;
      operand.slot = nb::cast<PlanSlot>(value).index;
    } else if (kind == "integers") {
      operand.kind = Integers;
      operand.integers = integersOf(nb::cast<nb::sequence>(value));
    } else if (kind == "integer") {
      operand.kind = Integer;
      operand.integers.push_back(integerOf(value));
    } else if (kind == "real") {
      operand.kind = Real;
      operand.real = nb::cast<double>(value);
    } else if (kind == "code") {
      operand.kind = Code;
      operand.function = nb::cast<std::string>(value);
    } else {
      userError("GraphPlan: there is no operand of the kind \"", kind, "\"");
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

using Ones = std::vector<std::tuple<uint32_t, uint32_t, int64_t>>;

void makeRegion(GraphPlan& self, const nb::object& compiled, const nb::object& cache,
                std::vector<SlotIndex> inputs, const Ones& ones, std::vector<SlotIndex> updated,
                const nb::object& note_updates) {
  RegionStep region{compiled,          cache, nb::cast<ExecutorCache*>(cache),
                    std::move(inputs), {},    std::move(updated),
                    note_updates};
  for (const auto& [output, axis, stride] : ones) {
    region.ones.push_back({output, axis, stride});
  }
  self.makeRegion(std::move(region));
}

}  // namespace

std::string GraphPlan::toString() const {
  const auto listed = [](std::string_view before, const std::vector<SlotIndex>& slots) {
    std::string out;
    for (SlotIndex slot : slots) {
      append(out, text(out.empty() ? before : ", ", "v", slot));
    }
    return out;
  };
  const char* const ways[] = {"Python", "a view", "arithmetic", "a fusion", "a library"};
  std::vector<std::string> lines;
  size_t width = 0;
  for (const Step& step : steps_) {
    const std::string made = listed("", step.results);
    lines.push_back(text("  ", made, made.empty() ? "" : " = ", step.call.toString()));
    width = std::max(width, lines.back().size());
  }
  constexpr size_t kMostColumns = 90;
  width = std::min(width, kMostColumns);
  std::string out = text("plan: ", num_arguments_, " arguments, ", steps_.size(), " steps",
                         listed(", drops ", unread_), "\n");
  for (size_t i = 0; i < steps_.size(); ++i) {
    lines[i].resize(std::max(width, lines[i].size()), ' ');
    append(out, text(lines[i], "  ", ways[steps_[i].shorter.index()],
                     listed(", drops ", steps_[i].dropped), "\n"));
  }
  append(out, text("  return ", results_ ? results_->toString() : "nothing yet", "\n"));
  return out;
}

void bindGraphPlan(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<PlanSlot>(module, "PlanSlot", "Stands for a value of a plan among arguments.")
      .def(nb::init<SlotIndex>(), "index"_a)
      .def_ro("index", &PlanSlot::index);
  nb::class_<GraphPlan>(module, "GraphPlan",
                        "A compiled graph: called with the list of its arguments, which it "
                        "empties.",
                        nb::dynamic_attr())
      .def(nb::init<SlotIndex>(), "num_arguments"_a)
      .def(
          "add",
          [](GraphPlan& self, std::string name, nb::callable function, const nb::sequence& args,
             const nb::dict& kwargs, std::vector<SlotIndex> results, bool has_parts) {
            self.add(PythonCall(std::move(name), std::move(function), args, kwargs),
                     std::move(results), has_parts);
          },
          "name"_a, "function"_a, "args"_a, "kwargs"_a, "results"_a, "has_parts"_a = false,
          "A step: a call of a Python function, with a PlanSlot for each value.")
      .def(
          "make_view",
          [](GraphPlan& self, std::string_view kind, SlotIndex source, const nb::sequence& given) {
            self.makeView(kind, source, integersOf(given));
          },
          "kind"_a, "source"_a, "operands"_a, "The step that was added last is a view.")
      .def(
          "make_size",
          [](GraphPlan& self, std::string_view kind, std::optional<SlotIndex> tensor,
             const nb::sequence& given) { self.makeSize(kind, tensor, integersOf(given)); },
          "kind"_a, "tensor"_a.none(), "operands"_a,
          "The step that was added last is arithmetic of sizes.")
      .def("make_region", &makeRegion, "compiled"_a, "cache"_a, "inputs"_a, "ones"_a, "updated"_a,
           "note_updates"_a, "The step that was added last is a call of a fusion.")
      .def(
          "make_library",
          [](GraphPlan& self, std::string_view operation,
             std::vector<std::optional<SlotIndex>> tensors,
             std::vector<std::optional<double>> numbers, std::vector<std::vector<int64_t>> lists) {
            self.makeLibrary(operation, {std::move(tensors), std::move(numbers), std::move(lists)});
          },
          "operation"_a, "tensors"_a, "numbers"_a, "lists"_a,
          "The step that was added last is an operation that may have a C function.")
      .def(
          "make_dispatched",
          [](GraphPlan& self, std::string_view name, std::string_view overload,
             const nb::sequence& given) { self.makeDispatched(name, overload, operandsOf(given)); },
          "name"_a, "overload"_a, "operands"_a,
          "The step that was added last is an operation of PyTorch with tensors as results. "
          "`operands`: of its schema, (kind, whether it is optional, value).")
      .def("finish", &GraphPlan::finish, "results"_a, "What a call returns.")
      .def("__call__", &GraphPlan::run, "arguments"_a)
      .def_prop_ro("calls_of_python", &GraphPlan::callsOfPython,
                   "What the call that ended last had done by Python.")
      .def("__str__", &GraphPlan::toString);
}

}  // namespace nvfuser::python
