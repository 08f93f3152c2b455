"""Writes at an index, and constants, that PyTorch decomposes into what its own kernels are slow at or do not know."""

import pytest
import torch
from compile_support import assert_as_eager, fresh  # noqa: F401


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
