// Fusions over a mesh of devices: meshes, communicators, and what one device runs.

#include "direct/bindings.h"
#include "direct/executors.h"
#include "direct/group_communicator.h"
#include "dtypes.h"
#include "interpreter_lock.h"
#include <external/thread_communicator.h>
#include <multidevice/multi_device_executor.h>
#include <multidevice/sharding.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <runtime/cuda/nccl_communicator.h>

namespace nvfuser::python {

namespace {

using external::Communicator;

/// Holds a communicator of any kind.
struct AnyCommunicator {
  std::shared_ptr<Communicator> communicator;
};

/// A stage of a fusion: what its devices run, and what they get before.
struct Local {
  IrFusion fusion;
  DeviceMesh mesh;
  std::vector<ParallelType> axes;
  std::vector<std::string> exchanges;
  std::vector<multidevice::Handover> handovers;
  std::vector<size_t> inputs, outputs;
};

struct Staged {
  Staged() = default;
  Staged(Staged&&) = default;
  Staged(const Staged&) = delete;

  multidevice::Stages stages;
  std::vector<Local> locals;
  size_t hash = 0;
};

Staged makeStagesOf(const IrFusion& fusion) {
  Staged result;
  result.stages = multidevice::makeStages(fusion.definition->graph);
  for (multidevice::Stage& stage : result.stages.stages) {
    Local& local = result.locals.emplace_back();
    local.fusion.definition = std::make_shared<capi::Definition>();
    local.fusion.definition->graph = *stage.local.fusion;
    result.hash = result.hash * 31 + stage.local.fusion->hash();
    local.mesh = stage.local.mesh;
    local.axes = stage.local.coordinates;
    local.exchanges = stage.local.exchanges;
    local.handovers = stage.handovers;
    local.inputs = stage.inputs;
    local.outputs = stage.outputs;
  }
  return result;
}

/// For each tensor the axes that mesh_x, mesh_y, mesh_z cut; -1 for none.
std::vector<std::vector<int64_t>> axesOf(const std::vector<multidevice::Stages::Place>& places) {
  std::vector<std::vector<int64_t>> all;
  for (const multidevice::Stages::Place& place : places) {
    std::vector<int64_t>& axes = all.emplace_back();
    for (const std::optional<size_t>& cut : place.sharding.cut) {
      axes.push_back(cut ? static_cast<int64_t>(*cut) : -1);
    }
  }
  return all;
}

/// None: on all devices.
std::vector<std::optional<DeviceMesh>> meshesOf(
    const std::vector<multidevice::Stages::Place>& places) {
  std::vector<std::optional<DeviceMesh>> all;
  for (const multidevice::Stages::Place& place : places) {
    all.push_back(place.mesh.empty() ? std::nullopt : std::optional(place.mesh));
  }
  return all;
}

using Range = std::tuple<int64_t, int64_t, int64_t>;

std::vector<Range> asRanges(const std::vector<multidevice::PartRange>& ranges) {
  std::vector<Range> all;
  for (const multidevice::PartRange& range : ranges) {
    all.emplace_back(range.begin, range.end, range.of);
  }
  return all;
}

std::optional<std::vector<Range>> rangesOf(const multidevice::Shared& shared, int64_t device,
                                           size_t axes) {
  return shared.mesh.has(device) ? std::optional(asRanges(shared.rangesOf(device, axes)))
                                 : std::nullopt;
}

std::vector<std::pair<std::vector<int64_t>, std::vector<Range>>> piecesOf(
    const multidevice::Handover& handover) {
  std::vector<std::pair<std::vector<int64_t>, std::vector<Range>>> all;
  for (const multidevice::Piece& piece : handover.pieces) {
    all.emplace_back(piece.team, asRanges(piece.ranges));
  }
  return all;
}

void bindMesh(nb::module_& direct) {
  using namespace nb::literals;
  nb::class_<DeviceMesh>(direct, "DeviceMesh",
                         "Devices that share tensors: a list of ranks, or a grid of up to three "
                         "axes, whose last one is mesh_x, the one before it mesh_y.")
      .def(nb::init<std::vector<int64_t>, std::vector<int64_t>>(), "devices"_a,
           "shape"_a = std::vector<int64_t>())
      .def_prop_ro("size", [](const DeviceMesh& self) { return self.size(); })
      .def_prop_ro("shape", &DeviceMesh::shape)
      .def_prop_ro("devices", &DeviceMesh::devices)
      .def("coordinate", &DeviceMesh::coordinate, "device"_a, "axis"_a,
           "The place of a device along an axis; None where it is not in the mesh.")
      .def(
          "size_along", [](const DeviceMesh& self, ParallelType axis) { return self.size(axis); },
          "axis"_a)
      .def("__eq__", [](const DeviceMesh& a, const DeviceMesh& b) { return a == b; })
      .def("__repr__", &DeviceMesh::toString);
  direct.def(
      "mesh_of",
      [](const TensorNode& tensor) -> std::optional<DeviceMesh> {
        return tensor.tv()->hasDeviceMesh() ? std::optional(tensor.tv()->getDeviceMesh())
                                            : std::nullopt;
      },
      "tensor"_a, "The mesh of a tensor; None where it has none.");
  direct.def(
      "axis_sharded_on",
      [](const TensorNode& tensor, ParallelType axis) {
        const std::optional<size_t> cut = multidevice::shardingOf(tensor.tv())[axis];
        return cut ? static_cast<int64_t>(*cut) : -1;
      },
      "tensor"_a, "axis"_a, "The axis of the tensor that an axis of the mesh cuts; -1 for none.");
}

}  // namespace

void bindMultidevice(nb::module_& direct) {
  using namespace nb::literals;
  bindMesh(direct);
  nb::class_<AnyCommunicator>(direct, "CommunicatorHandle", "How one device reaches the others.")
      .def_prop_ro("rank", [](const AnyCommunicator& self) { return self.communicator->rank(); })
      .def_prop_ro("size", [](const AnyCommunicator& self) { return self.communicator->size(); })
      .def("barrier",
           [](const AnyCommunicator& self) {
             const OthersRun others_run;
             self.communicator->barrier();
           })
      .def(
          "takes",
          [](const AnyCommunicator& self, bool on_gpu) {
            return self.communicator->takes(on_gpu ? DeviceKind::Cuda : DeviceKind::Cpu);
          },
          "on_gpu"_a, "Whether tensors may be on a GPU, or in memory of the host.")
      .def(
          "numbers_of_all",
          [](const AnyCommunicator& self, const std::vector<int64_t>& team, int64_t own,
             const std::string& what) {
            const OthersRun others_run;
            return self.communicator->numbersOfAll(team, own, what);
          },
          "team"_a, "own"_a, "what"_a, "One number of each device of a team, in its order.")
      .def(
          "broadcast",
          [](const AnyCommunicator& self, const std::vector<int64_t>& team, nvf_dtype dtype,
             int64_t elements, uintptr_t address, std::optional<int> gpu, uintptr_t stream,
             const std::string& what) {
            void* data = reinterpret_cast<void*>(address);
            const bool is_first = team.at(0) == self.communicator->rank();
            const external::ExchangedTensor tensor{
                toDtype(dtype), elements, is_first ? data : nullptr, is_first ? nullptr : data};
            const OthersRun others_run;
            self.communicator->exchange({std::nullopt,
                                         BinaryOpType::Add,
                                         team,
                                         {&tensor, 1},
                                         what,
                                         gpu ? DeviceKind::Cuda : DeviceKind::Cpu,
                                         reinterpret_cast<void*>(stream),
                                         0,
                                         gpu.value_or(0)});
          },
          "team"_a, "dtype"_a, "elements"_a, "address"_a, "gpu"_a.none(), "stream"_a, "what"_a,
          "What the first device of a team has at an address, to the others' addresses.");
  direct.def(
      "group_communicator",
      [](nb::object transport, int64_t rank, int64_t size, bool on_gpus) {
        return AnyCommunicator{groupCommunicator(std::move(transport), rank, size, on_gpus)};
      },
      "transport"_a, "rank"_a, "size"_a, "on_gpus"_a = false);
  direct.def(
      "nccl_communicator",
      [](int64_t rank, int64_t size, int gpu, const std::string& address, const nb::object& gather,
         double limit_s) {
        const external::GatherTexts gather_texts = [&](const std::string& own) {
          const LockHeld held;
          return nb::cast<std::vector<std::string>>(gather(own));
        };
        const OthersRun others_run;
        return AnyCommunicator{ncclCommunicator(
            std::make_unique<external::TeamChannel>(rank, size, external::addressTowards(address),
                                                    gather_texts, limit_s),
            {gpu, limit_s})};
      },
      "rank"_a, "size"_a, "gpu"_a, "address"_a, "gather"_a, "limit_s"_a,
      "GPUs of many processes by NCCL. `gather` takes a text and gives those of all processes; "
      "`address`: any that all processes are reached by.");
  direct.def(
      "nccl_communicator_of_launch",
      [](double limit_s) {
        const OthersRun others_run;
        return AnyCommunicator{
            ncclCommunicatorOfLaunch(external::Launched::fromEnvironment(), limit_s)};
      },
      "limit_s"_a,
      "The same for the processes that a launcher such as torchrun has started, by RANK, "
      "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT.");
  direct.def(
      "thread_communicators",
      [](int64_t size, double limit_s) {
        std::vector<AnyCommunicator> all;
        for (auto& one : external::threadCommunicators(size, limit_s)) {
          all.push_back({std::move(one)});
        }
        return all;
      },
      "size"_a, "limit_s"_a = 60.0,
      "Devices that are threads of this process, on memory of the host: one communicator for each. "
      "`limit_s`: seconds that a device waits for the others.");
  using multidevice::Handover;
  nb::class_<Handover>(direct, "Handover", "A tensor that devices of another mesh get.")
      .def_ro("source", &Handover::from, "Its slot where it is.")
      .def_ro("target", &Handover::to, "Its slot where it goes to.")
      .def_prop_ro("dtype", [](const Handover& self) { return fromDtype(self.dtype); })
      .def_ro("axes", &Handover::axes)
      .def(
          "given",
          [](const Handover& self, int64_t device) {
            return rangesOf(self.given, device, self.axes);
          },
          "device"_a,
          "What a device has of each axis, as parts (begin, end, of); None where it is not there.")
      .def(
          "wanted",
          [](const Handover& self, int64_t device) {
            return rangesOf(self.wanted, device, self.axes);
          },
          "device"_a, "The same of what it gets.")
      .def_prop_ro("team_of_sizes", &Handover::teamOfSizes,
                   "The first device tells the others the sizes.")
      .def_prop_ro(
          "pieces", &piecesOf,
          "What goes from the first device of a team to the others: (team, parts of each axis).")
      .def_prop_ro(
          "wanted_parts",
          [](const Handover& self) {
            std::vector<int64_t> parts;
            for (size_t axis = 0; axis < self.axes; ++axis) {
              parts.push_back(self.wanted.parts(axis));
            }
            return parts;
          },
          "Into how many parts the other mesh cuts each axis.")
      .def_ro("tensor", &Handover::tensor)
      .def_ro("what", &Handover::what);
  nb::class_<Local>(direct, "LocalFusion",
                    "What each device of a mesh runs: one stage of a fusion.")
      .def_ro("fusion", &Local::fusion)
      .def_ro("mesh", &Local::mesh)
      .def_ro("axes", &Local::axes)
      .def_ro("exchanges", &Local::exchanges)
      .def_ro("handovers", &Local::handovers)
      .def_ro("inputs", &Local::inputs, "Slots.")
      .def_ro("outputs", &Local::outputs, "Slots.");
  nb::class_<Staged>(direct, "Stages", "A fusion over one mesh or more, one stage after the other.")
      .def_prop_ro("stages", [](const Staged& self) { return self.locals; })
      .def_prop_ro("slots", [](const Staged& self) { return self.stages.slots; })
      .def_prop_ro(
          "outputs", [](const Staged& self) { return self.stages.outputs; }, "Slots.")
      .def_prop_ro("devices", [](const Staged& self) { return self.stages.devices(); })
      .def_prop_ro(
          "input_axes", [](const Staged& self) { return axesOf(self.stages.of_inputs); },
          "For each input the axes that mesh_x, mesh_y and mesh_z cut; -1 for none.")
      .def_prop_ro(
          "output_axes", [](const Staged& self) { return axesOf(self.stages.of_outputs); },
          "The same for each output, those of which nothing was declared too.")
      .def_prop_ro(
          "output_meshes", [](const Staged& self) { return meshesOf(self.stages.of_outputs); },
          "Where each output is; None: on all devices.")
      .def(
          "require_same",
          [](const Staged& self, const AnyCommunicator& communicator) {
            const OthersRun others_run;
            requireSameFusion(*communicator.communicator, self.stages.devices(), self.hash);
          },
          "communicator"_a, "A UserError on all devices where one is about to run another one.");
  direct.def("make_stages", &makeStagesOf, "fusion"_a,
             "The fusions that devices run on their own parts.");
  direct.def(
      "set_communicator",
      [](ExecutorCache& cache, const AnyCommunicator& communicator) {
        cache.executor->setCommunicator(communicator.communicator);
      },
      "cache"_a, "communicator"_a);
}

}  // namespace nvfuser::python
