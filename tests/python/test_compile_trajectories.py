"""Steps of a recurrence that are stacked, sums beside each other: each is stored where the result has it."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo.backend import observing


def steps(x, h, count):
    states = []
    for _ in range(count):
        h = 0.9 * h + 0.1 * torch.sin(h * x)
        states.append(h)
    return states


STACKED = {
    "in front": lambda x, h: torch.stack(steps(x, h, 6)),
    "in between": lambda x, h: torch.stack(steps(x, h, 6), 1),
    "behind each other": lambda x, h: torch.cat(steps(x, h, 6), -1),
    "last": lambda x, h: torch.stack(steps(x, h, 4), -1),
    "with the first one": lambda x, h: torch.stack([h, *steps(x, h, 5)]),
    "with the last one": lambda x, h: (lambda all: (torch.stack(all, 1), all[-1]))(steps(x, h, 5)),
    "many": lambda x, h: torch.stack(steps(x, h, 40), 1),
    "sums": lambda x, h: torch.stack([each.sum(-1) for each in steps(x, h, 5)]),
    "two": lambda x, h: (lambda all: (torch.stack(all[::2]), torch.stack(all[1::2], 1)))(steps(x, h, 6)),
}


@pytest.mark.parametrize("name", STACKED)
@pytest.mark.parametrize("shape", [(24, 64), (5, 33), (3, 1), (0, 8)])
def test_values_and_gradients_are_eagers(name, shape):
    given = [torch.randn(shape, requires_grad=True) for _ in range(2)]
    assert not failures(assert_as_eager(STACKED[name], *given))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.complex64])
def test_dtypes(dtype):
    given = [torch.randn(24, 64, dtype=dtype) * 0.5 for _ in range(2)]
    ours, theirs = compiled(STACKED["in between"])(*given), STACKED["in between"](*given)
    tolerance = {"rtol": 0.05, "atol": 0.05} if dtype is torch.bfloat16 else {}
    torch.testing.assert_close(ours, theirs, check_stride=True, **tolerance)


@pytest.mark.parametrize("name", ["in front", "in between", "behind each other"])
def test_one_kernel_and_memory_of_its_own_for_each_call(name):
    x, h = torch.randn(24, 64), torch.randn(24, 64)
    with observing() as seen:
        function = compiled(STACKED[name])
        first, second, third = (function(x, h) for _ in range(3))
    region = seen.graphs[0].regions[0]
    assert region.kernels() == 1
    expected = STACKED[name](x, h)
    for result in (first, second, third):
        torch.testing.assert_close(result, expected)
        result.zero_()  # is no other's


def test_sizes_that_change():
    function = compiled(STACKED["in between"], dynamic=True)
    for rows, columns in ((24, 64), (7, 40), (1, 16), (9, 33), (24, 64)):
        x, h = torch.randn(rows, columns), torch.randn(rows, columns)
        torch.testing.assert_close(function(x, h), STACKED["in between"](x, h), check_stride=True)


def test_a_state_that_is_updated_beside_them():
    def run(x, state):
        states = steps(x, state, 5)
        state.copy_(states[-1])
        return torch.stack(states, 1)

    x = torch.randn(24, 64)
    ours, theirs = torch.ones(24, 64), torch.ones(24, 64)
    function = compiled(run)
    for _ in range(3):
        torch.testing.assert_close(function(x, ours), run(x, theirs))
        torch.testing.assert_close(ours, theirs)
