"""Extremes with their positions are reductions of kernels, with the places of eager: of equal ones the first."""

import math

import pytest
import torch
from nvfuser.dynamo.backend import observing

PROGRAMS = {
    "values and places of rows": lambda x: x.max(-1),
    "of columns": lambda x: x.min(0),
    "of a computed tensor": lambda x: (x * 2).max(1, keepdim=True),
    "of all elements": lambda x: x.argmax(),
    "of all elements, with axes": lambda x: x.argmin(keepdim=True),
    "places of rows alone": lambda x: x.argmax(-1),
    "places of columns, with axes": lambda x: x.argmin(0, keepdim=True),
    "places that are read": lambda x: x.max(1).indices + x.min(1).indices,
}
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8)


def equal(got, wanted):
    got, wanted = ([x] if isinstance(x, torch.Tensor) else list(x) for x in (got, wanted))
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
        assert a.stride() == b.stride()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_places_are_those_of_eager(name, dtype):
    program = PROGRAMS[name]
    x = (torch.randn(9, 33, generator=torch.Generator().manual_seed(0)) * 3).to(dtype)  # with equal ones, in integers
    with observing() as seen:
        compiled = torch.compile(program, backend="nvfuser")
        equal(compiled(x), program(x))
    assert not seen.graphs[0].cut.reasons
    if dtype.is_floating_point:
        x[3, 7] = x[3, 20] = math.nan
        x[4], x[5] = -math.inf, math.inf
        equal(compiled(x), program(x))


def test_of_one_element_of_none_and_of_changing_sizes():
    program = torch.compile(lambda x: x.max(0), backend="nvfuser", dynamic=True)
    for size in (7, 1, 64, 0):
        x = torch.randn(size, 3)
        if size:
            equal(program(x), x.max(0))
        else:
            with pytest.raises((IndexError, RuntimeError)):
                program(x)
    alone = torch.tensor(2.5)
    equal(torch.compile(lambda x: x.max(0), backend="nvfuser")(alone), alone.max(0))


def test_gradients_go_to_the_places():
    def loss(x):
        values, _ = x.sigmoid().max(-1)
        return values.sum()

    x = torch.randn(6, 50, requires_grad=True)
    wanted = torch.autograd.grad(loss(x), x)[0]
    got = torch.autograd.grad(torch.compile(loss, backend="nvfuser")(x), x)[0]
    torch.testing.assert_close(got, wanted)
