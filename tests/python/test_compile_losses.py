"""torch.compile of cross-entropy with its gradient: equal to eager, and nothing of it left to PyTorch."""

import pytest
import torch
from nvfuser import dynamo
from tested_device import tensors_there
from torch.nn import functional as F

SHAPES = {"a row": (5,), "rows": (6, 5), "images": (2, 5, 3, 4)}


@pytest.fixture(autouse=True)
def on_the_tested_device():
    with tensors_there():
        yield


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("reduction", "weighted", "ignored"), [("mean", True, 2), ("sum", False, 2), ("none", True, -100)]
)
def test_cross_entropy_equals_eager(shape, reduction, weighted, ignored):
    torch.manual_seed(0)
    torch._dynamo.reset()
    sizes = SHAPES[shape]
    x = torch.randn(sizes, requires_grad=True)
    target = torch.randint(0, 5, sizes[:1] * (len(sizes) > 1) + sizes[2:])
    weight = torch.rand(5) if weighted else None

    def loss(x, target):
        return F.cross_entropy(x, target, weight=weight, reduction=reduction, ignore_index=ignored)

    mine, eager = torch.compile(loss, backend="nvfuser")(x, target), loss(x, target)
    seed = torch.randn_like(eager)
    torch.testing.assert_close(mine, eager, equal_nan=True)
    gradients = (torch.autograd.grad(out, x, seed)[0] for out in (mine, eager))
    torch.testing.assert_close(*gradients, equal_nan=True)


def test_the_gradient_scatters_nothing():
    x, target = torch.randn(64, 50, requires_grad=True), torch.randint(0, 50, (64,))
    text = dynamo.explain(F.cross_entropy, x, target)
    assert text.count("left to PyTorch: 0 operations") == 2 and "scatter" not in text, text
    backward = text.partition("(backward)")[2]
    assert "in 1 region" in backward and "runs in 1 kernel" in backward, text
