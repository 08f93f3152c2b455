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
  IdGraph::Mode mode;
  IdGraph graph;
  std::vector<std::pair<IterDomain*, IterDomain*>> mapped = {};  ///< by map_vals
};
/// The classes of a graph, to be asked.
struct DisjointValSets {
  std::shared_ptr<ValGraph> graph;
};

IterDomain* axisOf(nb::handle entry, const char* what) {
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
    const IdGraph::Mode kind =
        mode == MappingMode::Exact ? IdGraph::Mode::Exact : IdGraph::Mode::Permissive;
    return std::make_shared<ValGraph>(ValGraph{definition, kind, IdGraph(definition->graph, kind)});
  }
};

void requireKnown(const ValGraph& self, const IterDomain* axis, std::string_view what) {
  if (self.graph.classOf(axis) < 0) {
    userError(what, ": ", *axis, " is no axis of the fusion's computation");
  }
}

/// The graph as it would be if the fusion itself said that these axes, too, are the same: what was
/// made of them by the same transforms is the same, then.
void mapVals(ValGraph& self, nb::handle val0, nb::handle val1) {
  IterDomain* const a = axisOf(val0, "map_vals");
  IterDomain* const b = axisOf(val1, "map_vals");
  requireKnown(self, a, "map_vals");
  requireKnown(self, b, "map_vals");
  Fusion& fusion = self.definition->graph;
  const auto own = fusion.registeredExactMappings();
  self.mapped.emplace_back(a, b);
  for (const auto& [first, second] : self.mapped) {
    fusion.registerExactMapping(first, second);
  }
  self.graph = IdGraph(fusion, self.mode);
  fusion.resetExactMappings();
  for (const auto& [first, second] : own) {
    fusion.registerExactMapping(first, second);
  }
  if (!self.graph.mapped(a, b)) {
    self.mapped.pop_back();
    userError("map_vals: ", *a, " and ", *b,
              " cannot be one class: both are of one tensor's domain, or one is a broadcast");
  }
}

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
      .def("map_vals", &mapVals, "val0"_a, "val1"_a,
           "Makes one class of those of two axes, and of what equal transforms made of them.")
      .def("__str__", [](const ValGraph& self) { return self.graph.toString(); });
  nb::class_<DisjointValSets>(idm, "DisjointValSets", "The classes of a graph.")
      .def(
          "strict_are_mapped",
          [](const DisjointValSets& self, nb::handle entry0, nb::handle entry1) {
            const IterDomain* a = axisOf(entry0, "strict_are_mapped");
            const IterDomain* b = axisOf(entry1, "strict_are_mapped");
            requireKnown(*self.graph, a, "strict_are_mapped");
            requireKnown(*self.graph, b, "strict_are_mapped");
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
