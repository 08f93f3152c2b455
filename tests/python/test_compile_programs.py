"""Ordinary programs through torch.compile: what a region takes in, in how many kernels, with eager's values.

Every program of benchmarks/programs runs at its small size; others hold single facts that these rest on.
"""

import re
import sys
from pathlib import Path

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo import explain
from nvfuser.dynamo.backend import observing
from tested_device import ON_GPU
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.programs.measure import OURS, checked
from benchmarks.programs.tables import ORDINARY

PROGRAMS = {f"{table.kind}: {program.name}": program for table in ORDINARY for program in table.programs}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    device = torch.empty(0).device.type
    with observing() as seen:
        _, wrong = checked(PROGRAMS[name], "small", device, [OURS])
    assert wrong == {}
    assert failures(seen.graphs) == []


def kernels(function, *inputs):
    """How many run in all, and how many operations are PyTorch's."""
    text = str(explain(function, *inputs))
    return sum(map(int, re.findall(r"runs in (\d+) kernel", text))), sum(
        map(int, re.findall(r"left to PyTorch: (\d+)", text))
    )


def stencil(u):
    for _ in range(3):
        u = u + 0.1 * (u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1) - 4 * u)
    return u


def test_each_step_of_a_stencil_is_one_kernel():
    u = torch.randn(64, 96)
    assert kernels(stencil, u) == (3, 0)
    assert_as_eager(stencil, u)


def moments_in_place(mean, square, grad):
    square.mul_(0.9).addcmul_(grad, grad, value=0.1)
    mean.addcdiv_(grad, square.sqrt() + 1, value=-0.5)


def test_products_are_added_in_place_by_one_kernel():
    given = torch.randn(40), torch.rand(40), torch.randn(40)
    assert kernels(moments_in_place, *given) == (1, 0)
    theirs, ours = ([x.clone() for x in given] for _ in range(2))
    moments_in_place(*theirs)
    compiled(moments_in_place)(*ours)
    torch.testing.assert_close(ours, theirs)


def upsampled(mode, factor):
    def function(fine, coarse):
        return torch.relu(fine + functional.interpolate(coarse * 2, scale_factor=factor, mode=mode))

    return function


@pytest.mark.parametrize(
    ("mode", "factor", "sizes"),
    [
        ("nearest", 2, (2, 3, 4, 5)),
        ("nearest-exact", (3, 1), (2, 3, 4, 5)),
        ("nearest", (2, 7), (1, 2, 13, 9)),
        ("nearest", 3, (2, 3, 11)),
    ],
)
def test_upsampling_by_whole_factors_reads_in_order(mode, factor, sizes):
    coarse = torch.randn(sizes, requires_grad=True)
    fine = functional.interpolate(torch.randn(sizes), scale_factor=factor, mode=mode).requires_grad_()
    assert kernels(upsampled(mode, factor), fine, coarse) == (2, 0)  # a forward, a backward
    assert_as_eager(upsampled(mode, factor), fine, coarse)
    last = [x.detach().movedim(1, -1).contiguous().movedim(-1, 1).requires_grad_() for x in (fine, coarse)]
    assert_as_eager(upsampled(mode, factor), *last)


def test_other_factors_read_at_indices():
    assert_as_eager(
        lambda x: functional.interpolate(x.sin(), size=(7, 12)), torch.randn(2, 3, 4, 6, requires_grad=True)
    )


def shared_area(a, b):
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    return (high - low).clamp(min=0).prod(-1)


def test_boxes_are_one_kernel():
    a, b = torch.rand(40, 4), torch.rand(30, 4)
    assert kernels(shared_area, a, b) == (1, 0)
    assert_as_eager(shared_area, a, b)


@pytest.mark.parametrize(
    "function",
    [
        lambda v, z: v + z[1, 1] + z[2, 1],
        lambda v, z: v + z[:, 1][1] * z[:, 1][2],
        lambda v, z: v + z[1:3][0][1] + z[3:5][1, 0] * z[0, 0],
        lambda v, z: torch.stack([z[k, 0] * v + z[k, 1] for k in range(4)]),
        lambda v, z: v + z.transpose(0, 1)[1][2] + z[3, 1, None][0],
    ],
)
def test_rows_of_rows_are_read_where_they_are(function):
    v, z = torch.randn(100), torch.randn(5, 2, 100)
    assert kernels(function, v, z) == (1, 0)
    assert_as_eager(function, v, z)


def steps_without_their_mean(x):
    state, states = x[0], [x[0]]
    for row in x[1:]:
        state = state * 0.9 + row
        states.append(state)
    stacked = torch.stack(states)
    return stacked - stacked.mean(), stacked[1:] + x[1:]


def test_stacked_steps_are_stored_before_they_are_read():
    x = torch.randn(12, 300, requires_grad=True)
    graphs = assert_as_eager(steps_without_their_mean, x)
    if not ON_GPU:
        (forward,) = [graph for graph in graphs if graph.direction == "forward"]
        first, _ = forward.regions
        assert "cat" in [node.target.__name__.partition(".")[0] for node in first.region.outputs]
    assert_as_eager(steps_without_their_mean, torch.randn(2, 300))


def to_bytes_and_back(x):
    scale = x.abs().amax() / 448
    return (x / scale).to(torch.float8_e4m3fn).to(x.dtype) * scale, (x * 3).to(torch.float8_e5m2)


def test_8_bit_floats_are_fused():
    special = torch.tensor([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-9, 447.9, 464.1])
    x = torch.cat([torch.randn(1000) * torch.logspace(-4, 2, 1000), special])
    assert kernels(to_bytes_and_back, x[:1000])[1] == 0
    theirs = to_bytes_and_back(x)
    ours = compiled(to_bytes_and_back)(x)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a.float(), b.float(), rtol=0, atol=0, equal_nan=True)


def shifted_in_place(u):
    u.copy_(u + u.roll(1, 0))
    u[1:] += u[:-1] * 0.5


def neighbours_in_place(u):
    u[:-1].add_(u[1:].clone())


@pytest.mark.parametrize("function", [shifted_in_place, neighbours_in_place])
def test_parts_of_what_is_written_in_place(function):
    given = torch.randn(33, 17)
    theirs, ours = given.clone(), given.clone()
    function(theirs)
    compiled(function)(ours)
    torch.testing.assert_close(ours, theirs)
