"""Writes at an index, and constants, that PyTorch decomposes into what its own kernels are slow at or do not know."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo.decompositions import table_gradient
from tested_device import ON_GPU
from torch.nn import functional as F


@pytest.mark.parametrize("shape", [(50,), (5, 10), ()])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_rows_read_at_an_index(shape, dim):
    index = torch.randint(-6, 6, shape)

    def function(x):
        return (x * 2)[index].sin() if dim == 0 else (x * 2)[:, index].sin()

    assert_as_eager(function, torch.randn(6, 6, 3, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.uint8, torch.bool])
@pytest.mark.parametrize("entries", [1, 3, 7, 8, 9, 15, 16, 17, 32, 256])
def test_entries_of_short_tables_at_codes_of_bytes(entries, dtype):
    def function(codes, table, first):
        return table[codes.long()], table[(codes & 15).long() % entries], table[codes.int() - first]

    codes = torch.randint(entries, (2, 203), dtype=torch.uint8)
    assert_as_eager(function, codes, (torch.randn(entries) * 2).to(dtype), torch.tensor(entries, dtype=torch.int32))


@pytest.mark.skipif(ON_GPU, reason="a GPU stops at an index out of range, and is of no use after")
@pytest.mark.parametrize("signed", [False, True])
def test_codes_that_no_table_has(signed):
    def function(codes, table):
        return table[codes.long()] * 2

    codes = torch.zeros(100, dtype=torch.int8 if signed else torch.uint8)
    codes[77] = -10 if signed else 9
    with pytest.raises(IndexError, match="-10" if signed else "9"):
        compiled(function)(codes, torch.randn(9))


def test_rows_are_added_by_a_kernel():
    def function(x, index, weight):
        return x + torch.zeros_like(x).index_add(0, index, x[index] * weight)

    x, index, weight = torch.randn(8, 4, requires_grad=True), torch.randint(8, (20,)), torch.randn(20, 1)
    graphs = assert_as_eager(function, x, index, weight)
    assert not _left(graphs)  # (More of them: test_compile_scatters.py.)


def _left(graphs):
    return {str(node.target) for graph in graphs for node in graph.cut.reasons if node.op == "call_function"}


def test_writes_into_constants_leave_others_as_they_are():
    def function(x, index):
        zeros = torch.zeros(6, 3)
        once, twice = zeros.index_add(0, index, x), zeros.index_copy(0, index[:2], x[:2])
        return once, twice, zeros + 1, -once + zeros

    graphs = assert_as_eager(function, torch.randn(5, 3), torch.randperm(6)[:5], exact=True)
    assert _left(graphs) == {"aten.index_copy_.default"}


def test_what_was_written_before_it_is_written_again():
    def function(x, index):
        total = torch.zeros(4, 3).index_add(0, index, x)
        return total, total.index_add(0, index, x)

    assert_as_eager(function, torch.randn(5, 3), torch.randint(4, (5,)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("padding", [-1, 2])
def test_gradients_of_a_table_are_sums_of_rows(dtype, padding):
    grad, index = torch.randn(3, 7, 5).to(dtype), torch.randint(6, (3, 7))
    ours = table_gradient(grad, index, 6, padding)
    theirs = torch.ops.aten.embedding_dense_backward(grad.float(), index, 6, padding, False).to(dtype)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_products_and_running_sums_of_few_numbers_are_fused(size):
    def function(x, n):
        return x.prod(-1), (x * 2).cumsum(-1), x.cumprod(1), n.cumsum(0), n.cumprod(-1, dtype=torch.float32)

    x = torch.randn(6, size, size, requires_grad=True)
    graphs = assert_as_eager(function, x, torch.randint(-3, 3, (size, size), dtype=torch.int32))
    assert not {"aten.cumsum.default", "aten.cumprod.default"} & _left(graphs)


def test_every_second_element_is_read_where_it_lies():
    def function(x):
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even - odd, even + x[..., -7::2]], -1), x[:, 3::3] * 2

    graphs = assert_as_eager(function, torch.randn(4, 8), exact=True)
    assert not _left(graphs)


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


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(1, 2, 3, 1), (2, 0, 0, 2), (3, 3), (1, 1, 1, 1, 1, 1)])
def test_pads_that_repeat_the_image(mode, widths):
    image = torch.randn(2, 3, 6, 5, 7) if len(widths) == 6 else torch.randn(2, 3, 5, 7)
    image = image[0, :, 0] if len(widths) == 2 else image
    assert_as_eager(lambda x: F.pad(x, widths, mode=mode) * 2, image)
    assert_as_eager(lambda x: F.pad(x.sin(), widths, mode=mode) * 2, image.clone().requires_grad_())


def test_reads_along_two_axes_at_known_indices_are_one():
    def function(x):
        rows, columns = torch.arange(6).flip(0), torch.tensor([0, 0, 3, 1])
        return x[:, rows][:, :, columns] + 1, x[:, :, columns][:, rows], x[:, rows][:, :, :, rows % 4]

    assert_as_eager(function, torch.randn(2, 6, 4, 5))
