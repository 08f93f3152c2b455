"""What a program is: one function of tensors, its inputs at three sizes, and whether it is trained."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

SIZES = ("small", "middle", "large")


@dataclass
class Program:
    """`inputs(*sizes[size])` makes the arguments on the CPU; floating ones want gradients where it is `trained`.

    `tolerance`: relative error (norm of the difference over the norm) that values may have whatever eager's error is.
    """

    name: str
    function: Callable
    inputs: Callable
    sizes: dict
    trained: bool = False
    tolerance: float = 1e-5


@dataclass
class Table:
    """The programs of one kind, and their tolerance where they have none of their own."""

    kind: str
    programs: list = field(default_factory=list)
    tolerance: float = 1e-5

    def add(self, name, function, inputs, small, middle, large=None, **facts):
        """Where no large sizes are given, they are the middle ones."""
        large = large or middle
        sizes = dict(zip(SIZES, (small, middle, large), strict=True))
        self.programs.append(Program(name, function, inputs, sizes, **{"tolerance": self.tolerance, **facts}))

    def both(self, name, *program, **facts):
        """Forward, and trained."""
        self.add(name, *program, **facts)
        self.add(name + ", trained", *program, trained=True, **facts)


def normal(*sizes):
    return torch.randn(sizes)


def uniform(*sizes, low=0.0, high=1.0):
    return torch.rand(sizes) * (high - low) + low


def integers(high, *sizes, dtype=torch.int64):
    return torch.randint(high, sizes, dtype=dtype)


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last)


def boxes(count):
    """Corners x0, y0, x1, y1 in a unit square."""
    low = torch.rand(count, 2) * 0.8
    return torch.cat([low, low + torch.rand(count, 2) * 0.2 + 0.01], 1)
