"""Branches, loops, numbers, lists and optional tensors as arguments, whole modules, around fused groups."""

import pytest
import torch
from torch import Tensor
from torchscript_programs import Block, ConvNet, Scale, attention, branch, loop, mlp, scalar_float
from torchscript_support import DEVICE, equals_eager, name_of, rand


def scalar_int(x, n: int):
    return (x + n) * 2.0


def scalar_bool(x, flip: bool):
    return (x * 1.5 + 1.0).relu() if flip else (x - 1.0).tanh() * 3.0


def dims(x, dim: int):
    return (x * 2.0).sum(dim).relu()


def dim_list(x, dim: list[int], keep: bool):
    return (x * 2.0).sum(dim, keep).relu()


def optional(x, b: Tensor | None):
    y = x * 2.0
    if b is not None:
        y = y + b
    return y.relu() * 0.5


def while_loop(x):
    y = x.abs() + 1.0
    while bool(y.sum() < 1000.0):
        y = y * 2.0 + 1.0
    return y.relu()


def nested(x, n: int):
    total = torch.zeros_like(x)
    for i in range(n):
        if i % 2 == 0:  # noqa: SIM108
            total = total + (x * i).relu()
        else:
            total = total - (x + i).sigmoid()
    return total


def tuples(x: Tensor, pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    a, b = pair
    return (x * a + 1.0).relu(), (x - b).tanh() * 2.0


def lists(xs: list[Tensor]):
    out = xs[0] * 1.0
    for x in xs:
        out = out + (x * 2.0).relu()
    return out


def sizes(x, y):
    z = x * y + 1.0
    return z.relu(), z.size(0), z.shape


def strings(x, mode: str):
    if mode == "relu":
        return (x * 2.0).relu()
    return (x * 2.0).sigmoid()


def empties(x):
    return (x * 2.0 + 1.0).relu(), (x + 1.0).sum()


def float_out(x):
    return float((x * 2.0 + 1.0).sum())


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.Linear(24, 32)

    def forward(self, xs, h, c):
        for i in range(xs.size(0)):
            f, g, o, n = self.gates(torch.cat([xs[i], h], 1)).chunk(4, 1)
            c = c * f.sigmoid() + g.sigmoid() * n.tanh()
            h = o.sigmoid() * c.tanh()
        return h, c


CASES = [
    (scalar_float, [[rand(8, 16), 2.0], [rand(8, 16), -0.5], [rand(8, 16), float("inf")]]),
    (scalar_int, [[rand(8, 16), 2], [rand(8, 16), 7]]),
    (scalar_bool, [[rand(8, 16), True], [rand(8, 16), True], [rand(8, 16), False]]),
    (dims, [[rand(8, 16), 0], [rand(8, 16), 1], [rand(8, 16), -1], [rand(8, 16), 0]]),
    (dim_list, [[rand(2, 8, 4), [0, 2], False], [rand(2, 8, 4), [1], True], [rand(2, 8, 4), [0], False]]),
    (optional, [[rand(8, 16), rand(16)], [rand(8, 16), None], [rand(8, 16), rand(16)]]),
    (branch, [[rand(8, 16).abs(), rand(8, 16)], [-rand(8, 16).abs(), rand(8, 16)]]),
    (loop, [[rand(8, 16), 3], [rand(8, 16), 5], [rand(8, 16), 0]]),
    (while_loop, [[rand(8, 16)]]),
    (nested, [[rand(8, 16), 4], [rand(8, 16), 3]]),
    (tuples, [[rand(8, 16), (rand(8, 16), rand(16))]]),
    (lists, [[[rand(8, 16), rand(8, 16)]]]),
    (mlp, [[rand(8, 16), rand(16, 32), rand(32), rand(32, 8)]]),
    (attention, [[rand(2, 6, 8), rand(2, 6, 8), rand(2, 6, 8), torch.ones(6, 6, device=DEVICE).triu(1) > 0]]),
    (sizes, [[rand(8, 16), rand(16)], [rand(3, 5), rand(5)]]),
    (strings, [[rand(8, 16), "relu"], [rand(8, 16), "other"]]),
    (empties, [[rand(0, 16)], [rand(8, 16)]]),
    (float_out, [[rand(8, 16)]]),
    (Scale().to(DEVICE), [[rand(8, 16)]]),
    (Block().eval().to(DEVICE), [[rand(4, 16)], [rand(2, 3, 16)]]),
    (ConvNet().eval().to(DEVICE), [[rand(2, 3, 8, 8)], [rand(2, 3, 8, 8).to(memory_format=torch.channels_last)]]),
    (Recurrent().eval().to(DEVICE), [[rand(3, 2, 16), rand(2, 8), rand(2, 8)]]),
]


@pytest.mark.parametrize("program, calls", CASES, ids=[name_of(case[0]) for case in CASES])
def test_forward(program, calls):
    equals_eager(program, calls)
