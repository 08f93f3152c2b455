"""Writes at an index, and constants, that PyTorch decomposes into what its own kernels are slow at or do not know."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from tested_device import ON_GPU
from torch.nn import functional as F


@pytest.mark.parametrize("shape", [(50,), (5, 10), ()])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_rows_read_at_an_index(shape, dim):
    index = torch.randint(-6, 6, shape)

    def function(x):
        return (x * 2)[index].sin() if dim == 0 else (x * 2)[:, index].sin()

    assert_as_eager(function, torch.randn(6, 6, 3, requires_grad=True))


def test_rows_are_added_by_one_operation_of_pytorch():
    def function(x, index, weight):
        return x + torch.zeros_like(x).index_add(0, index, x[index] * weight)

    x, index, weight = torch.randn(8, 4, requires_grad=True), torch.randint(8, (20,)), torch.randn(20, 1)
    graphs = assert_as_eager(function, x, index, weight)
    left = [str(node.target) for graph in graphs for node in graph.cut.reasons if node.op == "call_function"]
    assert set(left) == {"aten.index_add.default"}


def test_ones_on_a_diagonal_of_any_length():
    for n in (3, 300, 70000):
        assert_as_eager(
            lambda x, n=n: x[:, :3] + torch.eye(n, 3, device=x.device).sum(0), torch.randn(2, 5), exact=True
        )


# Reads at indices that are made of numbers alone.
KNOWN = {
    "bilinear": lambda x: F.interpolate(x * 2, scale_factor=2, mode="bilinear") + 1,
    "bilinear, of a size": lambda x: F.interpolate(x * 2, (7, 11), mode="bilinear", align_corners=True).sin(),
    "bicubic": lambda x: F.interpolate(x, (5, 13), mode="bicubic") * 2,
    "nearest, of a size": lambda x: F.interpolate(x.exp(), (5, 13), mode="nearest-exact"),
    "backwards": lambda x: (x * 2)[:, :, torch.arange(5, -1, -2, device=x.device)],
    "from the end": lambda x: x[..., torch.arange(-3, 4, device=x.device)] + 1,
    "apart": lambda x: x[torch.arange(2, device=x.device), :, torch.arange(2, device=x.device)] * 2,
    "one": lambda x: x[:, torch.full((), 2, device=x.device)] - 1,
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_indices(name):
    graphs = assert_as_eager(KNOWN[name], torch.randn(2, 3, 6, 8, requires_grad=True))
    assert not failures(graphs)


def test_a_known_index_that_there_is_not():
    if ON_GPU:
        pytest.skip("there PyTorch asserts in a kernel, and the process has no device any more")
    with pytest.raises(IndexError, match=r"out of (bounds|range)"):
        compiled(lambda x: x[torch.arange(3, 9)] * 2)(torch.randn(8, 2))
