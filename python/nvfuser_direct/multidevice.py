"""One fusion over several devices: one process (or thread) each, with its own parts of the tensors.

>>> mesh = multidevice.DeviceMesh([0, 1])
>>> with FusionDefinition() as fd:
...     x = fd.define_tensor([-1, -1], contiguity=True)
...     y = fd.ops.sum(x, [0])
...     fd.add_output(y)
...     for tensor in (x, y):
...         tensor.set_device_mesh(mesh)
...     x.outer_split(0, mesh.size)
...     x.axis(0).parallelize(ParallelType.mesh_x)
>>> (total,) = fd.execute([own_rows])  # in each process; torch.distributed is initialised
"""

import os
import threading

from nvfuser._C import UserError, direct
from nvfuser._C.direct import DeviceMesh as _DeviceMesh
from nvfuser._C.direct import ParallelType, Stages, thread_communicators

from ._handover import hand_over
from ._process_group import ProcessGroup

_AXES = (ParallelType.mesh_x, ParallelType.mesh_y, ParallelType.mesh_z)


class DeviceMesh(_DeviceMesh):
    """Ranks that share tensors: a list, or a tensor (or nested list) of up to three axes.

    The last axis is `ParallelType.mesh_x`, the one before it `mesh_y`, then `mesh_z`.
    """

    def __init__(self, devices, shape=()):
        if hasattr(devices, "tolist"):
            shape = shape or tuple(devices.shape)
            devices = devices.reshape(-1).tolist()
        super().__init__(list(devices), list(shape))

    def shard_tensor(self, tensor, axis, rank=None):
        """The part of `tensor` along `axis` that this process has, of a mesh of one axis."""
        return _part(tensor, axis, self, ParallelType.mesh_x, _rank() if rank is None else rank, "the tensor")


class Sharding:
    """How a tensor of a fusion is shared."""

    def __init__(self, tensor):
        self.mesh = direct.mesh_of(tensor)
        self._cut = {axis: direct.axis_sharded_on(tensor, axis) for axis in _AXES}

    def axis_sharded_on(self, parallel_type):
        """The tensor's axis that an axis of the mesh cuts; -1 for none."""
        return self._cut[parallel_type]


def _part(tensor, axis, mesh, mesh_axis, rank, name):
    count, place = mesh.size_along(mesh_axis), mesh.coordinate(rank, mesh_axis)
    if place is None:
        raise ValueError(f"shard_tensor: device {rank} is not in {mesh}")
    if tensor.shape[axis] % count != 0:
        raise ValueError(
            f"shard_tensor: axis {axis} of {name} has {tensor.shape[axis]} elements, which {count} devices cannot "
            "share equally; pad it, or cut another axis"
        )
    size = tensor.shape[axis] // count
    return tensor.narrow(axis, place * size, size).contiguous()


def shard_tensor(tensor, tv, rank=None):
    """This process's part of a whole tensor that stands for `tv`."""
    sharding = Sharding(tv)
    rank = _rank() if rank is None else rank
    for mesh_axis in _AXES:
        axis = sharding.axis_sharded_on(mesh_axis)
        if axis >= 0:
            tensor = _part(tensor, axis, sharding.mesh, mesh_axis, rank, tv)
    return tensor


# Transport ----------------------------------------------------------------------------------------


def _distributed():
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError(
            "Communicator: torch.distributed is not initialised; call torch.distributed.init_process_group() first "
            "(torchrun sets what it needs), or pass a communicator"
        )
    return dist


def _rank():
    return Communicator.instance().rank()


class Communicator:
    """This process among all: `Communicator.instance()`, over torch.distributed."""

    _lock = threading.Lock()
    _instance = None

    def __init__(self):
        dist = _distributed()
        self._rank, self._size = dist.get_rank(), dist.get_world_size()
        on_gpus = _has_nccl(dist)
        self.handle = direct.group_communicator(ProcessGroup(dist, on_gpus), self._rank, self._size, on_gpus=on_gpus)

    @classmethod
    def instance(cls):
        with cls._lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    @classmethod
    def set_instance(cls, communicator):
        """What `instance()` gives from now on; None: a new one, over torch.distributed."""
        with cls._lock:
            cls._instance = communicator

    def rank(self):
        return self._rank

    def size(self):
        return self._size

    def local_rank(self):
        return int(os.environ.get("LOCAL_RANK", self._rank))

    def local_size(self):
        return int(os.environ.get("LOCAL_WORLD_SIZE", self._size))

    def barrier(self):
        self.handle.barrier()


def _has_nccl(dist):
    """Whether the default group exchanges tensors of GPUs: its backend is "nccl", or "cpu:gloo,cuda:nccl"."""
    return "nccl" in dist.get_backend_config()


class NcclCommunicator(Communicator):
    """This process among all, by NCCL itself: one GPU each, collectives on the current stream.

    Processes that run unlike fusions or bring unlike sizes get one error each, as do those that wait for one that has
    gone. They meet by the store of torch.distributed where that is initialised, else by MASTER_ADDR and MASTER_PORT.
    `limit_s`: seconds that a process waits for the others, and that a collective may take.
    """

    _meetings = 0

    def __init__(self, limit_s=600.0, gpu=None):
        import torch
        import torch.distributed as dist

        if not (dist.is_available() and dist.is_initialized()):
            self.handle = direct.nccl_communicator_of_launch(limit_s)
        else:
            store = dist.distributed_c10d._get_default_store()
            NcclCommunicator._meetings += 1
            meeting = NcclCommunicator._meetings

            def gather(own):
                store.set(f"nvfuser/{meeting}/{dist.get_rank()}", own)
                return [store.get(f"nvfuser/{meeting}/{rank}").decode() for rank in range(dist.get_world_size())]

            self.handle = direct.nccl_communicator(
                dist.get_rank(),
                dist.get_world_size(),
                torch.cuda.current_device() if gpu is None else gpu,
                os.environ.get("MASTER_ADDR", "127.0.0.1"),
                gather,
                limit_s,
            )
        self._rank, self._size = self.handle.rank, self.handle.size


# Execution ----------------------------------------------------------------------------------------


class MultiDeviceExecutorParams:
    """Nothing is to be chosen yet."""


class MultiDeviceExecutor:
    """One device's share of a fusion. `communicator`: a handle; none: torch.distributed's."""

    def __init__(self, fusion, params=None, communicator=None):
        self._communicator = communicator or Communicator.instance().handle
        self.local: Stages = direct.make_stages(fusion)
        self._rank = self._communicator.rank
        if self._rank not in self.local.devices:
            meshes = " and ".join(str(stage.mesh) for stage in self.local.stages)
            raise UserError(f"MultiDeviceExecutor: device {self._rank} is not in {meshes}, on which the fusion runs")
        self._stages = [self._made(stage) for stage in self.local.stages]
        self._agreed = False

    def _made(self, stage):
        """(stage, what runs it here, this device's places in its mesh); (stage, None, []) elsewhere."""
        if self._rank not in stage.mesh.devices:
            return stage, None, []
        cache = direct.FusionExecutorCache(stage.fusion)
        direct.set_communicator(cache, self._communicator)
        return stage, cache, [stage.mesh.coordinate(self._rank, axis) for axis in stage.axes]

    @property
    def exchanges(self):
        """A line for each exchange of data between devices: what, of which tensor, and for which operation."""
        return [
            line
            for stage in self.local.stages
            for line in (*(handover.what for handover in stage.handovers), *stage.exchanges)
        ]

    def report(self):
        """Kernels and exchanges of the last run: bytes received, time on the host."""
        return "".join(cache.report() for _, cache, _ in self._stages if cache is not None)

    def run(self, inputs, enable=(), disable=()):
        """The device's own parts of the outputs; `inputs`: its own parts of the inputs, numbers as they are.

        Inputs on meshes that the device is not in may be anything; outputs on such meshes are None.
        """
        if not self._agreed:
            self.local.require_same(self._communicator)
            self._agreed = True
        if len(self._stages) == 1 and not self._stages[0][0].handovers:
            _, cache, places = self._stages[0]
            return _execute(cache, [*inputs, *places], enable, disable)
        wanted = len(self.local.input_axes)
        if len(inputs) != wanted:
            raise UserError(f"MultiDeviceExecutor: the fusion has {wanted} inputs, but {len(inputs)} were given")
        slots = [*inputs, *[None] * (self.local.slots - wanted)]
        for stage, cache, places in self._stages:
            for handover in stage.handovers:
                part = hand_over(self._communicator, handover, slots[handover.source], _device_of(inputs))
                if part is not None:
                    slots[handover.target] = part
            if cache is not None:
                outputs = _execute(cache, [*(slots[slot] for slot in stage.inputs), *places], enable, disable)
                for slot, output in zip(stage.outputs, outputs, strict=True):
                    slots[slot] = output
        return [
            slots[slot] if mesh is None or self._rank in mesh.devices else None
            for slot, mesh in zip(self.local.outputs, self.local.output_meshes, strict=True)
        ]


def _device_of(inputs):
    """Where the tensors of this device are; None if it was given none."""
    import torch

    return next((value.device for value in inputs if isinstance(value, torch.Tensor)), None)


def _execute(cache, inputs, enable, disable):
    if not enable and not disable:
        return cache.execute(inputs)
    return cache.execute(inputs, _enable_options=list(enable), _disable_options=list(disable))


def is_shared(fusion):
    """Whether any input or output of the fusion is on a mesh."""
    tensors = [value for value in [*fusion.inputs(), *fusion.outputs()] if isinstance(value, direct.TensorView)]
    return any(direct.mesh_of(tensor) is not None for tensor in tensors)


def _axes_of(placements):
    """The axes of a tensor that mesh_x, mesh_y and mesh_z cut; -1 for none. The last dimension of a mesh is mesh_x."""
    cut = [placement.dim if placement.is_shard() else -1 for placement in reversed(placements)]
    return cut + [-1] * (len(_AXES) - len(cut))


def _placements_of(axes, device_mesh):
    from torch.distributed.tensor import Replicate, Shard

    return [Replicate() if axis < 0 else Shard(axis) for axis in reversed(axes[: device_mesh.ndim])]


def _share_as(tensor, mesh, axes):
    """Puts an input on the mesh, cut along these axes."""
    tensor.set_device_mesh(mesh)
    for mesh_axis, axis in sorted(zip(_AXES, axes, strict=True), key=lambda one: -one[1]):
        if axis >= 0:  # the last one first: a split moves those behind it
            tensor.outer_split(axis, mesh.size_along(mesh_axis))
            tensor.axis(axis).parallelize(mesh_axis)


def _require_equal_parts(place, value):
    for mesh_axis, placement in enumerate(value.placements):
        if not (placement.is_shard() or placement.is_replicate()):
            raise ValueError(
                f"execute_with_dtensors: argument {place} is placed {placement}; redistribute it to Shard or Replicate"
            )
        count = value.device_mesh.size(mesh_axis)
        if placement.is_shard() and value.shape[placement.dim] % count != 0:
            raise ValueError(
                f"execute_with_dtensors: axis {placement.dim} of argument {place} has {value.shape[placement.dim]} "
                f"elements, which {count} devices cannot share equally; pad it, or shard another axis"
            )


def execute_with_dtensors(fd, in_dtensors):
    """Runs fd with DTensors of torch.distributed and gives DTensors: their local tensors are the parts, without a copy.

    A fusion none of whose inputs and outputs is on a mesh takes its shardings from the first call's DTensors. Raises
    ValueError for another number of arguments, DTensors of several meshes, one that is placed in another way than the
    fusion has its input, placements that are no Shard or Replicate, and parts of unequal sizes.
    """
    from torch.distributed.tensor import DTensor

    meshes = {value.device_mesh for value in in_dtensors if isinstance(value, DTensor)}
    if len(meshes) != 1:
        raise ValueError(f"execute_with_dtensors: DTensors of one device mesh are needed, not of {len(meshes)}")
    (device_mesh,) = meshes
    inputs = fd.fusion.inputs()
    if len(inputs) != len(in_dtensors):
        raise ValueError(
            f"execute_with_dtensors: the fusion has {len(inputs)} inputs, but {len(in_dtensors)} were given"
        )
    for place, value in enumerate(in_dtensors):
        if isinstance(value, DTensor):
            _require_equal_parts(place, value)
    if not hasattr(fd, "mde") and not is_shared(fd.fusion):
        mesh = DeviceMesh(device_mesh.mesh)
        for tensor, value in zip(inputs, in_dtensors, strict=True):
            if isinstance(value, DTensor):
                _share_as(tensor, mesh, _axes_of(value.placements))
    executor = fd._shared_executor()
    for place, (value, axes) in enumerate(zip(in_dtensors, executor.local.input_axes, strict=False)):
        if isinstance(value, DTensor) and _axes_of(value.placements) != axes:
            wanted = tuple(_placements_of(axes, device_mesh))
            raise ValueError(
                f"execute_with_dtensors: argument {place} is placed {value.placements}, but the fusion has it as "
                f"{wanted}; redistribute it"
            )
    outputs = fd.execute([value.to_local() if isinstance(value, DTensor) else value for value in in_dtensors])
    return [
        DTensor.from_local(value, device_mesh, _placements_of(axes, device_mesh), run_check=False)
        for value, axes in zip(outputs, executor.local.output_axes, strict=True)
    ]


__all__ = [
    "Communicator",
    "DeviceMesh",
    "MultiDeviceExecutor",
    "MultiDeviceExecutorParams",
    "NcclCommunicator",
    "Sharding",
    "execute_with_dtensors",
    "shard_tensor",
    "thread_communicators",
]
