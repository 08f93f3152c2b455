// TensorView: its shape, its domains, and the scheduling primitives.

#include "direct/bindings.h"
#include "direct/enums.h"
#include "direct/fusion.h"
#include "dtypes.h"
#include "nodes.h"
#include "not_implemented.h"
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <ops/all_ops.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using Self = const TensorNode&;

/// Scheduling creates nodes in the tensor's fusion.
template <typename Work>
auto inFusion(Self self, const Work& work) {
  FusionGuard guard(&self.owner->graph);
  return work(self.tv());
}

/// The same for what changes operations, too, not loops alone.
template <typename Work>
auto changing(Self self, const Work& work) {
  self.owner->beforeScheduling();
  return inFusion(self, work);
}

int64_t rankOf(Self self) { return ops::rankOf(self.tv()); }

nb::object sizeOf(Self self, int64_t dim) {
  nvf_argument arguments[2] = {};
  arguments[0].kind = NVF_ARG_VALUE;
  arguments[0].integer = self.owner->idOf(self.tv());
  arguments[1].kind = NVF_ARG_INT;
  arguments[1].integer = dim;
  if (arguments[0].integer < 0) {  // made by scheduling: there is no text for it
    FusionGuard guard(&self.owner->graph);
    return wrap(self.owner, size(self.tv(), dim));
  }
  return wrap(self.owner, self.owner->valueOf(self.owner->call("size", arguments).front()));
}

nb::list shapeOf(Self self) {
  nb::list result;
  for (int64_t dim = 0; dim < rankOf(self); ++dim) {
    result.append(sizeOf(self, dim));
  }
  return result;
}

/// Axes of the tensor, which stand for all of its elements: those of its loop or logical domain, or
/// others that splits and merges made of them.
std::vector<IterDomain*> axesOf(Self self, const nb::sequence& axes) {
  std::vector<IterDomain*> result;
  const std::vector<IterDomain*> known = self.tv()->domain()->allIDs();
  for (nb::handle axis : axes) {
    if (!nb::isinstance<IterDomainNode>(axis)) {
      throw nb::type_error("set_allocation_domain: a list of IterDomains is needed");
    }
    IterDomain* id = nb::cast<IterDomainNode&>(axis).id();
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      userError("set_allocation_domain: ", *id, " is no axis of ", *self.tv(),
                "; take them from its get_loop_domain or get_logical_domain");
    }
    result.push_back(id);
  }
  const auto is_reduced = [](const IterDomain* id) { return id->isReduction(); };
  for (const IterDomain* id : self.tv()->getLogicalDomain()) {
    if (std::find(result.begin(), result.end(), id) == result.end() &&
        id->definition() == nullptr && id->uses().empty() && !is_reduced(id) &&
        !id->isBroadcast()) {
      userError("set_allocation_domain: ", *id, " of ", *self.tv(),
                " is missing; the list names each of its axes once");
    }
  }
  return result;
}

nb::object cacheAfter(Self self, LoadStoreName type, CacheOp cache_op, bool propagate,
                      const nb::sequence& cached_uses) {
  std::vector<Expr*> uses;
  for (nb::handle use : cached_uses) {
    if (!nb::isinstance<ExprNode>(use)) {
      throw nb::type_error("cache_after: cached_uses is a list of Exprs, of the tensor's uses()");
    }
    uses.push_back(nb::cast<ExprNode&>(use).expr());
  }
  return wrap(self.owner, changing(self, [&](TensorView* tv) {
                return tv->cacheAfter(toLoadStore(type), cache_op, propagate, uses);
              }));
}

void bindDomains(nb::class_<TensorNode, ValNode>& view) {
  using namespace nb::literals;
  view.def_prop_ro("ndim", &rankOf, "Number of axes that are not reduced.")
      .def("size", &sizeOf, "dim"_a, "The extent of an axis, a Val.")
      .def("shape", &shapeOf, "The extents of all axes.")
      .def(
          "dtype", [](Self self) { return fromDtype(self.tv()->dtype()); }, "Its DataType.")
      .def("has_root", [](Self self) { return self.tv()->hasRoot(); })
      .def("domain", [](Self self) { return wrap(self.owner, self.tv()->domain()); })
      .def("get_root_domain",
           [](Self self) { return wrapAll(self.owner, self.tv()->getRootDomain()); })
      .def("get_logical_domain",
           [](Self self) { return wrapAll(self.owner, self.tv()->getLogicalDomain()); })
      .def("get_loop_domain",
           [](Self self) { return wrapAll(self.owner, self.tv()->getLoopDomain()); })
      .def("get_allocation_domain",
           [](Self self) { return wrapAll(self.owner, self.tv()->getMaybeAllocationDomain()); })
      .def(
          "axis", [](Self self, int64_t index) { return wrap(self.owner, self.tv()->axis(index)); },
          "index"_a, "An axis of the loop domain; negative counts from the end.");
}

void bindPrimitives(nb::class_<TensorNode, ValNode>& view) {
  using namespace nb::literals;
  view.def("cache_after", &cacheAfter, "op_type"_a = LoadStoreName::Set,
           "cache_op"_a = CacheOp::Unspecified, "propagate_allocation_domain"_a = true,
           "cached_uses"_a = nb::list(), "A copy of this tensor, which its readers then read.")
      .def(
          "cache_before",
          [](Self self, LoadStoreName type) {
            return wrap(self.owner, changing(self, [&](TensorView* tv) {
                          return tv->cacheBefore(toLoadStore(type));
                        }));
          },
          "op_type"_a = LoadStoreName::Set, "A tensor computed in this one's place, copied here.")
      .def(
          "set_memory_type",
          [](Self self, MemoryName type) { self.tv()->setMemoryType(toMemory(type)); },
          "memory_type"_a)
      .def(
          "split",
          [](Self self, int64_t axis, int64_t factor, bool inner_split) {
            inFusion(self, [&](TensorView* tv) { tv->split(axis, factor, inner_split); });
            return self;
          },
          "axis"_a, "factor"_a, "inner_split"_a = true,
          "Cuts an axis in two; `factor` is the extent of the inner one (or of the outer one).")
      .def(
          "inner_split",
          [](Self self, int64_t axis, int64_t factor) {
            inFusion(self, [&](TensorView* tv) { tv->inner_split(axis, factor); });
            return self;
          },
          "axis"_a, "factor"_a)
      .def(
          "outer_split",
          [](Self self, int64_t axis, int64_t factor) {
            inFusion(self, [&](TensorView* tv) { tv->outer_split(axis, factor); });
            return self;
          },
          "axis"_a, "factor"_a)
      .def(
          "merge",
          [](Self self, int64_t axis_o, int64_t axis_i) {
            inFusion(self, [&](TensorView* tv) { tv->merge(axis_o, axis_i); });
            return self;
          },
          "axis_o"_a, "axis_i"_a, "Makes one axis of two.")
      .def(
          "merge",
          [](Self self, int64_t axis) {
            inFusion(self, [&](TensorView* tv) { tv->merge(axis); });
            return self;
          },
          "axis"_a, "Makes one axis of this one and the next.")
      .def(
          "reorder",
          [](Self self, const std::map<int64_t, int64_t>& old2new) {
            inFusion(self, [&](TensorView* tv) {
              tv->reorder(std::unordered_map<int64_t, int64_t>(old2new.begin(), old2new.end()));
            });
            return self;
          },
          "old2new"_a, "Moves axes: {old position: new position}.")
      .def(
          "swizzle",
          [](Self self, int64_t x, int64_t y) {
            inFusion(self, [&](TensorView* tv) { tv->swizzle(SwizzleType::XOR, x, y); });
            return self;
          },
          "x"_a, "y"_a, "Exchanges positions of two axes by exclusive or.")
      .def(
          "swizzle1d",
          [](Self, int64_t, ParallelType) {
            notImplemented(
                "swizzle1d: it belongs to schedules over several devices, which are not "
                "supported");
          },
          "x"_a, "parallel_type"_a)
      .def(
          "rfactor",
          [](Self self, const std::vector<int64_t>& axes) {
            return wrap(self.owner,
                        changing(self, [&](TensorView* tv) { return tv->rFactor(axes); }));
          },
          "axes"_a, "Reduces these axes first, into a new tensor that this one then reads.")
      .def(
          "set_allocation_domain",
          [](Self self, const nb::sequence& axes, bool contiguous) {
            changing(self, [&](TensorView* tv) {
              tv->setAllocationDomain(axesOf(self, axes), contiguous);
            });
          },
          "new_allocation_domain"_a, "new_contiguity"_a, "Memory order, outermost axis first.")
      .def(
          "set_device_mesh",
          [](Self self, const DeviceMesh& mesh) { self.tv()->setDeviceMesh(mesh); }, "mesh"_a,
          "The devices that share it: each has all of it, or a part where a loop axis is bound to "
          "an axis of the mesh.");
}

}  // namespace

void bindTensorView(nb::module_& direct) {
  nb::class_<TensorNode, ValNode> view(direct, "TensorView", "A tensor of a fusion.");
  bindDomains(view);
  bindPrimitives(view);
}

}  // namespace nvfuser::python
