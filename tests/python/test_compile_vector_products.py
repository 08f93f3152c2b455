"""Products of matrices with vectors, which kernels of the CPU compute (dynamo/vector_products.py)."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, fresh  # noqa: F401
from nvfuser.dynamo.backend import observing

_PRODUCTS = {
    "rows, one column": ((6, 40), (40, 1)),
    "one column, one row": ((6, 1), (1, 9)),
    "one number": ((1, 40), (40, 1)),
    "batches of rows": ((3, 6, 40), (3, 40, 1)),
    "batches of columns": ((3, 1, 40), (3, 40, 6)),
    "batches of pairs": ((3, 6, 1), (3, 1, 9)),
}


def _left_to_pytorch(function, *operands):
    with observing() as seen:
        compiled(function)(*operands)
    return [str(node.target) for graph in seen.graphs for node in graph.cut.reasons]


@pytest.mark.parametrize("name", _PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_and_gradients(name, dtype):
    a, b = ((torch.randn(shape, dtype=dtype) / 6).requires_grad_() for shape in _PRODUCTS[name])
    assert_as_eager(lambda a, b: torch.sin((a * 2) @ b), a, b)


@pytest.mark.parametrize("name", _PRODUCTS)
def test_half_precision_is_summed_in_float32(name):
    a, b = (torch.randn(shape).bfloat16() for shape in _PRODUCTS[name])
    found = compiled(lambda a, b: a @ b)(a, b)
    torch.testing.assert_close(found, (a.float() @ b.float()).bfloat16(), rtol=0.01, atol=0.01)


def test_operands_that_lie_turned():
    a, b = torch.randn(3, 40, 6).transpose(1, 2), torch.randn(3, 1, 40).transpose(1, 2)
    assert_as_eager(lambda a, b: torch.sin(a @ b), a, b)
    assert_as_eager(lambda a, b: torch.sin(b.transpose(1, 2) @ a.transpose(1, 2)), a, b)


def test_biases():
    bias, a, b = torch.randn(1), torch.randn(6, 40), torch.randn(40, 1)
    assert_as_eager(lambda bias, a, b: torch.addmm(bias, a, b).sin(), bias, a, b)
    assert_as_eager(lambda bias, a, b: torch.addmm(bias, a, b, beta=2, alpha=3).sin(), bias, a, b)


def test_which_are_fused():
    for name in _PRODUCTS:
        a, b = (torch.randn(shape) for shape in _PRODUCTS[name])
        assert _left_to_pytorch(lambda a, b: (a + 1) @ b, a, b) == [], name


def test_matrices_and_single_rows_are_a_librarys():
    whole = torch.randn(40, 9)
    for rows in (1, 6):
        assert _left_to_pytorch(lambda a, b: (a + 1) @ b, torch.randn(rows, 40), whole) == ["aten.mm.default"]
