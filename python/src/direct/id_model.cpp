// The namespace `idm`: which axes of a fusion mean the same.

#include <algorithm>
#include <memory>

#include "direct/bindings.h"
#include "direct/fusion.h"
#include "not_implemented.h"
#include <id_model/id_graph.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

enum class MappingMode : uint8_t { Exact, AlmostExact, Broadcast, Permissive, Loop };

struct ValGraph {
  DefinitionPtr definition;
  IdGraph graph;
};
/// The classes of a graph, to be asked.
struct DisjointValSets {
  std::shared_ptr<ValGraph> graph;
};

const IterDomain* axisOf(nb::handle entry, const char* what) {
  if (!nb::isinstance<ValNode>(entry) || !nb::cast<ValNode&>(entry).val()->isA<IterDomain>()) {
    throw nb::type_error(text(std::string_view(what), ": two IterDomains are needed").c_str());
  }
  return nb::cast<ValNode&>(entry).val()->as<IterDomain>();
}

struct IdModel {
  DefinitionPtr definition;

  std::shared_ptr<ValGraph> graphOf(MappingMode mode) const {
    if (mode != MappingMode::Exact && mode != MappingMode::Permissive) {
      notImplemented("IdModel: the graphs are exact and permissive; the others are not kept here");
    }
    return std::make_shared<ValGraph>(ValGraph{
        definition,
        IdGraph(definition->graph,
                mode == MappingMode::Exact ? IdGraph::Mode::Exact : IdGraph::Mode::Permissive)});
  }
};

}  // namespace

void bindIdModel(nb::module_& direct) {
  using namespace nb::literals;
  nb::enum_<MappingMode>(direct, "IdMappingMode", "Which axes count as the same.")
      .value("exact", MappingMode::Exact)
      .value("almost_exact", MappingMode::AlmostExact)
      .value("broadcast", MappingMode::Broadcast)
      .value("permissive", MappingMode::Permissive)
      .value("loop", MappingMode::Loop);
  nb::module_ idm = direct.def_submodule("idm", "Which axes of a fusion mean the same.");
  nb::class_<ValGraph>(idm, "ValGraph", "Classes of axes.")
      .def("disjoint_val_sets",
           [](const std::shared_ptr<ValGraph>& self) { return DisjointValSets{self}; })
      .def(
          "map_vals",
          [](const ValGraph&, nb::handle, nb::handle) {
            notImplemented(
                "ValGraph.map_vals: classes follow from the fusion and cannot be edited");
          },
          "val0"_a, "val1"_a)
      .def("__str__", [](const ValGraph& self) { return self.graph.toString(); });
  nb::class_<DisjointValSets>(idm, "DisjointValSets", "The classes of a graph.")
      .def(
          "strict_are_mapped",
          [](const DisjointValSets& self, nb::handle entry0, nb::handle entry1) {
            const IterDomain* a = axisOf(entry0, "strict_are_mapped");
            const IterDomain* b = axisOf(entry1, "strict_are_mapped");
            for (const IterDomain* axis : {a, b}) {
              if (self.graph->graph.classOf(axis) < 0) {
                userError("strict_are_mapped: ", *axis, " is no axis of the fusion's computation");
              }
            }
            return self.graph->graph.mapped(a, b);
          },
          "entry0"_a, "entry1"_a, "Whether two axes of the fusion are in one class.")
      .def("__str__", [](const DisjointValSets& self) { return self.graph->graph.toString(); });
  nb::class_<IdModel>(idm, "IdModel", "The graphs of a fusion's axes.")
      .def(
          "__init__",
          [](IdModel* self, const IrFusion& fusion, bool, bool, bool) {
            new (self) IdModel{fusion.definition};
          },
          "fusion"_a, "build_graphs"_a = false, "allow_self_mapping"_a = true, "validate"_a = false)
      .def("maybe_build_graph", &IdModel::graphOf, "mode"_a)
      .def("__str__",
           [](const IdModel& self) { return self.graphOf(MappingMode::Exact)->graph.toString(); });
}

}  // namespace nvfuser::python
