#include "direct/params.h"

#include "direct/bindings.h"
#include "dtypes.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <scheduler/pointwise/pointwise.h>
#include <scheduler/reduction/params.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

Device& cuda(int64_t index, const char* what) {
  std::string why = "there is no such device";
  Device* device = index < 0 || index > 255 ? nullptr : cudaDevice(static_cast<int>(index), &why);
  if (device == nullptr) {
    userError(what, ": CUDA device ", index, " cannot be used: ", std::string_view(why));
  }
  return *device;
}

}  // namespace

Device* deviceFrom(nb::handle given, const char* what) {
  if (given.is_none()) {
    return nullptr;
  }
  if (PyLong_Check(given.ptr())) {
    return &cuda(nb::cast<int64_t>(given), what);
  }
  const std::string name = nb::cast<std::string>(nb::str(given));  // also of a torch.device
  if (name == "cpu") {
    return &cpuDevice();
  }
  if (name == "emulated") {
    return &emulatedDevice();
  }
  if (name == "cuda") {
    return &cuda(0, what);
  }
  if (name.starts_with("cuda:") && name.size() < 9 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos && name.size() > 5) {
    return &cuda(std::stoi(name.substr(5)), what);
  }
  userError(what, ": there is no device \"", name,
            "\"; devices are \"cpu\", \"emulated\", \"cuda\", \"cuda:1\" and so on");
}

nb::object wrapHeuristics(std::shared_ptr<nvfuser::HeuristicParams> params) {
  if (dynamic_cast<nvfuser::PointwiseParams*>(params.get()) != nullptr) {
    return nb::cast(PointwiseHeuristics{{std::move(params)}});
  }
  if (dynamic_cast<nvfuser::ReductionParams*>(params.get()) != nullptr) {
    return nb::cast(ReductionHeuristics{{std::move(params)}});
  }
  return nb::cast(Heuristics{std::move(params)});
}

namespace {

void bindLaunchParams(nb::module_& direct) {
  nb::class_<LaunchParams> bound(direct, "LaunchParams", "Extents of a launch.");
  bound.def(nb::init<>());
  const std::pair<const char*, ParallelType> dims[] = {
      {"bdimx", ParallelType::TIDx}, {"bdimy", ParallelType::TIDy}, {"bdimz", ParallelType::TIDz},
      {"gdimx", ParallelType::BIDx}, {"gdimy", ParallelType::BIDy}, {"gdimz", ParallelType::BIDz}};
  for (const auto& [name, type] : dims) {
    bound.def_prop_rw(
        name, [type = type](const LaunchParams& self) { return self.getRawVal(type); },
        [type = type](LaunchParams& self, int64_t extent) { self.bindUnsafe(extent, type); },
        "-1: the kernel's own.");
  }
  bound.def("__repr__", [](const LaunchParams& self) { return self.toString(); });
}

std::optional<PrimDataType> indexType(std::optional<nvf_dtype> dtype) {
  if (!dtype) {
    return std::nullopt;
  }
  const DataType type = toDtype(*dtype);
  if (type != DataType::Int && type != DataType::Int32) {
    userError("CompileParams: index_type must be DataType.Int or DataType.Int32, not ",
              dataTypeName(type));
  }
  return type.type;
}

void bindCompileParams(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<CompileParamsView>(direct, "CompileParams", "How a kernel is compiled.")
      .def(
          "__init__",
          [](CompileParamsView* self, std::optional<nvf_dtype> index_type, int maxrregcount,
             bool magic_zero, bool ptxas_verbose, nb::handle device,
             std::vector<std::string> include_paths) {
            new (self) CompileParamsView;
            self->index_type = indexType(index_type);
            self->maxrregcount = maxrregcount;
            self->enable_magic_zero = magic_zero;
            self->enable_ptxas_verbose = ptxas_verbose;
            self->device = deviceFrom(device, "CompileParams");
            self->include_paths = std::move(include_paths);
          },
          nb::kw_only(), "index_type"_a.none() = nb::none(), "maxrregcount"_a = 255,
          "enable_magic_zero"_a = true, "enable_ptxas_verbose"_a = false,
          "device"_a.none() = nb::none(), "include_paths"_a = std::vector<std::string>())
      .def_prop_rw(
          "index_type",
          [](const CompileParamsView& self) -> std::optional<nvf_dtype> {
            return self.index_type ? std::optional(fromDtype(*self.index_type)) : std::nullopt;
          },
          [](CompileParamsView& self, std::optional<nvf_dtype> dtype) {
            self.index_type = indexType(dtype);
          },
          nb::for_setter("value"_a.none()))
      .def_rw("maxrregcount", &CompileParamsView::maxrregcount)
      .def_rw("enable_magic_zero", &CompileParamsView::enable_magic_zero)
      .def_rw("enable_ptxas_verbose", &CompileParamsView::enable_ptxas_verbose)
      .def_prop_rw(
          "device",
          [](const CompileParamsView& self) -> std::optional<std::string> {
            if (self.device == nullptr) {
              return std::nullopt;
            }
            switch (self.device->kind()) {
              case DeviceKind::Cpu:
                return "cpu";
              case DeviceKind::Cuda:
                return text("cuda:", self.device->index());
              default:
                return "emulated";
            }
          },
          [](CompileParamsView& self, nb::handle device) {
            self.device = deviceFrom(device, "CompileParams");
          },
          nb::for_setter("value"_a.none()))
      .def_rw("include_paths", &CompileParamsView::include_paths);
}

template <typename Params, typename View, typename Field>
void bindField(nb::class_<View, Heuristics>& bound, const char* name, Field Params::* field) {
  bound.def_prop_rw(
      name, [field](const View& self) { return static_cast<Params&>(*self.params).*field; },
      [field](View& self, Field value) { static_cast<Params&>(*self.params).*field = value; });
}

void bindHeuristics(nb::module_& direct) {
  nb::class_<Heuristics>(direct, "HeuristicParams", "What an automatic scheduler decided.")
      .def_prop_ro("scheduler_type",
                   [](const Heuristics& self) { return self.params->scheduler_type; })
      .def_prop_ro("lparams", [](const Heuristics&) { return LaunchParams(); })
      .def_prop_ro("cparams",
                   [](const Heuristics& self) {
                     CompileParamsView params;
                     params.maxrregcount = self.params->max_registers;
                     return params;
                   })
      .def("__repr__", [](const Heuristics& self) { return self.params->toString(); })
      .def("__eq__",
           [](const Heuristics& self, nb::handle other) {
             return nb::isinstance<Heuristics>(other) &&
                    self.params->sameAs(nb::cast<const Heuristics&>(other).params.get());
           })
      .def("__hash__", [](const Heuristics& self) { return self.params->hash(); });

  using P = nvfuser::PointwiseParams;
  nb::class_<PointwiseHeuristics, Heuristics> pointwise(direct, "PointwiseParams");
  pointwise.def("__init__", [](PointwiseHeuristics* self) {
    new (self) PointwiseHeuristics{{std::make_shared<P>()}};
  });
  bindField<P>(pointwise, "break_point", &P::break_point);
  bindField<P>(pointwise, "vectorization_factor", &P::vectorization);
  bindField<P>(pointwise, "flip_grid_binding", &P::flip_grid);
  bindField<P>(pointwise, "threads_x", &P::threads_x);
  bindField<P>(pointwise, "threads_y", &P::threads_y);

  using R = nvfuser::ReductionParams;
  nb::class_<ReductionHeuristics, Heuristics> reduction(direct, "ReductionParams");
  reduction.def("__init__", [](ReductionHeuristics* self) {
    new (self) ReductionHeuristics{{std::make_shared<R>(SchedulerType::Reduction)}};
  });
  reduction.def_prop_ro("persistent_kernel", [](const ReductionHeuristics& self) {
    return static_cast<R&>(*self.params).persistence != Persistence::None;
  });
  bindField<R>(reduction, "fastest_dim", &R::fastest_dim);
  bindField<R>(reduction, "project_persistent_buffers", &R::project_persistent_buffers);
  bindField<R>(reduction, "schedule_3D", &R::schedule_3d);
  bindField<R>(reduction, "schedule_3d", &R::schedule_3d);
  bindField<R>(reduction, "unroll_factor_inner_reduction", &R::vectorization);
  bindField<R>(reduction, "unroll_factor_top_of_vectorization", &R::unroll);
  bindField<R>(reduction, "batches_per_block_inner_reduction", &R::batches);
  bindField<R>(reduction, "pad_inner_reduction_to_warp", &R::pad_to_warp);
}

}  // namespace

void bindParams(nb::module_& direct) {
  bindLaunchParams(direct);
  bindCompileParams(direct);
  bindHeuristics(direct);
}

}  // namespace nvfuser::python
