"""Cells whose steps are stacked; lerp, and extremes that pass over NaN, in vectors."""

import nvfuser.dynamo  # noqa: F401
import pytest
import torch

SPECIAL = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 0.5, 0.49999997, 3e38, 1e-40]


def compiled(function, *inputs):
    torch._dynamo.reset()
    return torch.compile(function, backend="nvfuser", fullgraph=True)(*inputs)


def pairs(dtype):
    """Each of SPECIAL with each, several vectors of them and a rest."""
    one = [a for a in SPECIAL for _ in SPECIAL] * 5 + [2.0]
    two = [b for _ in SPECIAL for b in SPECIAL] * 5 + [3.0]
    return torch.tensor(one, dtype=dtype), torch.tensor(two, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("function", [torch.fmax, torch.fmin], ids=["fmax", "fmin"])
def test_numbers_go_before_nan(function, dtype):
    x, y = pairs(dtype)
    torch.testing.assert_close(compiled(function, x, y), function(x, y), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_lerp(dtype):
    torch.manual_seed(0)
    x, y, weight = torch.randn(3, 1003, dtype=dtype)
    weight[:4] = torch.tensor([0.0, 1.0, 0.5, -0.5])
    got = compiled(torch.lerp, x, y, weight)
    torch.testing.assert_close(got, torch.lerp(x, y, weight))
    assert got[0] == x[0] and got[1] == y[1]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_stacked_steps(dim):
    def cell(x, z):
        z, c = z.sigmoid(), x.tanh()
        h, steps = torch.zeros_like(c[:, 0]), []
        for t in range(x.shape[1]):
            h = torch.lerp(h, c[:, t], z[:, t])
            steps.append(h)
        return torch.stack(steps, dim)

    torch.manual_seed(0)
    for sizes in ((32, 12, 128), (3, 12, 5)):
        xs = [torch.randn(sizes, requires_grad=True) for _ in range(2)]
        got, wanted = compiled(cell, *xs), cell(*xs)
        torch.testing.assert_close(got, wanted)
        towards = torch.randn_like(wanted)
        mine, eager = (torch.autograd.grad(result, xs, towards) for result in (got, wanted))
        torch.testing.assert_close(mine, eager)
