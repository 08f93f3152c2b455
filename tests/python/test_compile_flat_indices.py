"""Sums at several indices (dynamo/flat_indices.py), and gradients of steps (decompositions.py), as eager has them."""

import pytest
import torch
import torch.nn.functional as F
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from tested_device import ON_GPU

ROWS, COLUMNS = 7, 9


def _indices(*shape):
    return torch.randint(-ROWS, ROWS, shape), torch.randint(-COLUMNS, COLUMNS, shape)


def _targets(graphs):
    return {str(node.target) for graph in graphs for node in graph.cut.kinds}


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("before", "behind"), [((), ()), ((2,), ()), ((), (4,)), ((2, 3), (5,))], ids=["alone", "last", "first", "middle"]
)
def test_sums(before, behind, checked):
    dims = [None] * len(before)
    put = torch.ops.aten.index_put if checked else torch.ops.aten._unsafe_index_put

    def summed(x, values, rows, columns):
        return put(x * 2, [*dims, rows, columns], values.exp(), True) + 1

    rows, columns = _indices(40)
    if not checked:
        rows, columns = rows.abs() % ROWS, columns.abs() % COLUMNS
    x = torch.randn(*before, ROWS, COLUMNS, *behind, requires_grad=True)
    values = torch.randn(*before, 40, *behind, requires_grad=True)
    graphs = assert_as_eager(summed, x, values, rows, columns)
    assert not failures(graphs)
    assert not any("index_put" in target for target in _targets(graphs))


def test_indices_and_values_are_stretched():
    def summed(x, values, rows, columns):
        return x.index_put((rows[:, None], columns), values, accumulate=True)

    rows, columns = _indices(5)[0], _indices(6)[1]
    assert_as_eager(summed, torch.randn(ROWS, COLUMNS, 3), torch.randn(6, 1), rows, columns)


def test_axes_apart_and_masks_are_left():
    def apart(x, values, rows, columns):
        return torch.ops.aten.index_put(x, [rows, None, columns], values, True)

    def masked(x, mask):
        return x.index_put((mask,), torch.ones((), device=x.device), accumulate=True)

    rows, columns = _indices(5)
    assert_as_eager(apart, torch.randn(ROWS, 2, COLUMNS), torch.randn(5, 2), rows, columns)
    assert_as_eager(masked, torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS) > 0)


@pytest.mark.skipif(ON_GPU, reason="a GPU stops at an index out of range, and is of no use after")
@pytest.mark.parametrize("row, column", [(0, COLUMNS), (ROWS, 0), (-ROWS - 1, 0), (0, -COLUMNS - 1)])
def test_out_of_range(row, column):
    def summed(x, values, rows, columns):
        return x.index_put((rows, columns), values, accumulate=True)

    given = torch.zeros(ROWS, COLUMNS), torch.ones(1), torch.tensor([row]), torch.tensor([column])
    with pytest.raises(IndexError):
        compiled(summed)(*given)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_gradient_of_interpolation(mode):
    def enlarged(x):
        return F.interpolate(x, size=(17, 20), mode=mode, align_corners=False) * 2

    graphs = assert_as_eager(enlarged, torch.randn(2, 3, 9, 11, requires_grad=True))
    assert not any("index_put" in target for target in _targets(graphs))


STEPS = [slice(1, None, 3), slice(0, 6, 5), slice(2, 7, 2), slice(-5, None, 4), slice(4, 5, 3), slice(3, None, 20)]


@pytest.mark.parametrize("length", [6, 9])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_gradient_of_a_step(step, length):
    graphs = assert_as_eager(lambda x: x[:, step].exp(), torch.randn(3, length, 4, requires_grad=True))
    assert not failures(graphs)
    assert not any("scatter" in target for target in _targets(graphs))


def test_merged_patches():
    """Windows of two by two become channels, which are normalised: one region each way, without indices."""

    def merged(x):
        parts = [x[:, i::2, j::2] for j in range(2) for i in range(2)]
        return F.layer_norm(torch.cat(parts, -1), (4 * x.shape[-1],))

    graphs = assert_as_eager(merged, torch.randn(2, 8, 6, 5, requires_grad=True))
    assert [len(graph.regions) for graph in graphs] == [1, 1]
