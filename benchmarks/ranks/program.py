"""What a program over several devices is: for us, for PyTorch on one device, and for torch.distributed."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from nvfuser_direct import DataType, ParallelType


@dataclass(frozen=True)
class Sizes:
    """Of whole tensors, whatever the number of devices."""

    tokens: int
    width: int
    hidden: int
    heads: int
    layers: int
    experts: int
    dtype: torch.dtype

    @property
    def bytes_each(self):
        return self.dtype.itemsize


LARGE = Sizes(4096, 4096, 16384, 32, 8, 8, torch.bfloat16)  # a layer of a model of 8 billion parameters
SMALL = Sizes(64, 64, 128, 8, 2, 8, torch.float32)


@dataclass(frozen=True)
class Input:
    sizes: tuple
    scale: float = 1.0


@dataclass(frozen=True)
class Work:
    """What all devices together compute. `bytes_whole`: what each of them does again."""

    flops: float
    bytes_cut: float = 0.0
    bytes_whole: float = 0.0


@dataclass(frozen=True)
class Program:
    name: str
    inputs: list  # of Input, whole
    define: Callable  # (fd, mesh, *tensors): defines outputs and shares tensors
    eager: Callable  # (*whole inputs) -> outputs
    peers: dict = field(default_factory=dict)  # name -> make(Place) -> call
    work: Work = field(default_factory=lambda: Work(0))
    pipelined: bool = False  # exchanges that the program is meant to hide


@dataclass(frozen=True)
class Place:
    """Where a process is."""

    rank: int
    size: int
    device: torch.device
    mesh: object  # of torch.distributed, one axis
    sizes: Sizes

    def of(self, total):
        """A device's part of so many."""
        return total // self.size

    def random(self, *sizes, scale=1.0):
        return scale * torch.randn(*sizes, device=self.device, dtype=self.sizes.dtype)


def share(tensor, mesh, axis=None):
    tensor.set_device_mesh(mesh)
    if axis is not None:
        axis = [i for i, loop in enumerate(tensor.get_loop_domain()) if not loop.is_reduction()][axis]
        tensor.outer_split(axis, mesh.size)
        tensor.axis(axis).parallelize(ParallelType.mesh_x)


def share_all(mesh, *pairs):
    for tensor, axis in pairs:
        share(tensor, mesh, axis)


def dtype_of(sizes):
    return {torch.bfloat16: DataType.BFloat16, torch.float32: DataType.Float}[sizes.dtype]


def transposed(fd, x):
    return fd.ops.permute(x, [1, 0])


def gradients(forward, inputs, grad):
    """The result and the gradients of all inputs, by autograd."""
    inputs = [value.detach().requires_grad_() for value in inputs]
    result = forward(*inputs)
    result.backward(grad)
    return [result.detach(), *(value.grad for value in inputs)]
