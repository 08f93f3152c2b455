"""torch.compile of sums at an index: one kernel with what computes entries and what reads results."""

import pytest
import torch
import torch.nn.functional as F
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser import dynamo
from nvfuser.dynamo.backend import observing
from tested_device import ON_GPU

EXACT = not ON_GPU  # there entries are combined in any order
on_the_cpu = pytest.mark.skipif(ON_GPU, reason="a GPU keeps no order, and tells no wrong index")

NODES, EDGES, WIDTH = 37, 301, 19


def _graph(width=WIDTH):
    torch.manual_seed(3)
    return (
        torch.randn(NODES, width),
        torch.randint(NODES, (EDGES,)),
        torch.randint(NODES, (EDGES,)),
        torch.randn(EDGES),
    )


def _one_kernel(function, *inputs):
    text = dynamo.explain(function, *inputs)
    assert "left to PyTorch: 0 operations" in text and "runs in 1 kernel" in text, text


@pytest.mark.parametrize("width", [1, 3, 8, 19, 64])
def test_messages_are_one_kernel_with_eager_sums(width):
    def messages(x, source, target, weight):
        return x + torch.zeros_like(x).index_add(0, target, F.relu(x[source] * weight[:, None]))

    assert_as_eager(messages, *_graph(width), exact=EXACT)
    _one_kernel(messages, *_graph(width))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_any_axis(dim):
    def added(x, index, values):
        return x.index_add(dim, index, values.abs(), alpha=0.5) * 2

    x = torch.randn(6, 7, 9)
    index = torch.randint(x.shape[dim], (40,))
    sizes = list(x.shape)
    sizes[dim] = 40
    assert_as_eager(added, x, index, torch.randn(sizes), exact=EXACT)
    _one_kernel(added, x, index, torch.randn(sizes))


@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_elements_are_combined(reduce):
    def combined(x, index, values):
        return x.scatter_reduce(1, index, values * 2, reduce) + 1

    x, index = torch.randn(5, 11), torch.randint(11, (5, 60))
    assert_as_eager(combined, x, index, torch.rand(5, 60) + 0.5)
    _one_kernel(combined, x, index, torch.rand(5, 60) + 0.5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int32])
def test_numbers_of_other_dtypes(dtype):
    x = (torch.randn(9, 4) * 100).to(dtype)
    index = torch.randint(9, (50,))
    values = (torch.randn(50, 4) * 100).to(dtype)
    assert_as_eager(lambda x, i, v: x.index_add(0, i, v + v), x, index, values, exact=EXACT)


def test_half_precision_is_summed_in_float32():
    x, index = torch.zeros(4, 8, dtype=torch.bfloat16), torch.randint(4, (4000,))
    values = torch.rand(4000, 8).bfloat16()
    ours = compiled(lambda x, i, v: x.index_add(0, i, v * 2))(x, index, values)
    exact = x.double().index_add(0, index, (values * 2).double())
    torch.testing.assert_close(ours.double(), exact, rtol=2**-8, atol=0)


@on_the_cpu
def test_the_last_of_several_stays():
    def written(x, index, values):
        return x.scatter(0, index, values * 2) - 1

    assert_as_eager(written, torch.randn(10), torch.randint(10, (500,)), torch.randn(500), exact=EXACT)
    _one_kernel(written, torch.randn(10), torch.randint(10, (500,)), torch.randn(500))


def test_softmax_by_node():
    def softmax(score, value, target):
        most = torch.full((NODES,), -1e9).scatter_reduce(0, target, score, "amax")
        power = (score - most[target]).exp()
        total = torch.zeros(NODES).index_add(0, target, power)
        return torch.zeros_like(value).index_add(0, target, (power / total[target])[:, None] * value[target])

    x, _, target, score = _graph()
    assert_as_eager(softmax, score, x, target)
    text = dynamo.explain(softmax, score, x, target)
    assert "left to PyTorch: 0 operations" in text and "runs in 3 kernels" in text, text


def test_an_entry_is_stored_besides():
    def both(x, source, target, weight):
        sent = x[source] * weight[:, None]
        return sent, torch.zeros_like(x).index_add(0, target, sent), sent.sin()

    assert_as_eager(both, *_graph())


def test_what_is_needed_on_both_sides():
    def both(x, source, target, weight):
        scaled = x.tanh()
        return scaled + torch.zeros_like(x).index_add(0, target, scaled[source])

    assert_as_eager(both, *_graph())


def test_gradients_of_tables_and_of_rows():
    def rows(table, bias, index):
        return (F.embedding(index, table, padding_idx=2) * bias[index]).sum(-1).sigmoid()

    table, bias = torch.randn(50, 16, requires_grad=True), torch.randn(50, 1, requires_grad=True)
    index = torch.randint(50, (8, 30))
    assert_as_eager(rows, table, bias, index)
    text = dynamo.explain(rows, table, bias, index)
    assert text.count("left to PyTorch: 0 operations") == 2, text


def test_memory_in_other_orders():
    x = torch.randn(WIDTH, NODES).t()
    _, source, target, weight = _graph()
    assert_as_eager(lambda x, s, t, w: x.index_add(0, t, x[s] * w[:, None]), x, source, target, weight, exact=EXACT)
    spaced = torch.randn(WIDTH, 2 * EDGES)[:, ::2]
    assert_as_eager(lambda x, t, v: x.t().index_add(0, t, v.t() * 2).t(), x.t(), target, spaced, exact=EXACT)


def test_none_one_and_many():
    def added(x, index, values):
        return x.index_add(0, index, values * 3) + 1

    for nodes, edges, width in ((1, 5, 4), (5, 1, 4), (5, 7, 1), (1, 1, 1), (300, 20000, 2)):
        x, index = torch.randn(nodes, width), torch.randint(nodes, (edges,))
        assert_as_eager(added, x, index, torch.randn(edges, width), exact=EXACT)
    assert_as_eager(added, torch.randn(5, 4), torch.zeros(0, dtype=torch.int64), torch.zeros(0, 4))


@on_the_cpu
def test_threads_share_columns_and_lines_and_add_in_order():
    before = torch.get_num_threads()
    index = torch.randint(500, (6000,))
    wide, lines = torch.randn(6000, 96), torch.randn(16, 6000)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        assert_as_eager(lambda i, v: torch.zeros(500, 96).index_add(0, i, v * 2), index, wide, exact=EXACT)
        assert_as_eager(lambda i, v: torch.zeros(16, 500).index_add(1, i, v * 2), index, lines, exact=EXACT)
    torch.set_num_threads(before)


@on_the_cpu
def test_an_index_out_of_range_is_pytorchs_error():
    def added(x, index, values):
        return x.index_add(0, index, values * 2)

    ours = compiled(added)
    x, values = torch.zeros(4, 9), torch.randn(3, 9)
    for wrong in (4, -1):
        with pytest.raises((IndexError, RuntimeError), match="index"):
            ours(x, torch.tensor([0, wrong, 1]), values)
    torch.testing.assert_close(
        ours(x, torch.tensor([0, 3, 1]), values), added(x, torch.tensor([0, 3, 1]), values), rtol=0, atol=0
    )


def test_sizes_that_change_are_pytorchs():
    def added(x, index, values):
        return x.index_add(0, index, values * 2) + 1

    for edges in (5, 9, 30):
        with observing() as seen:
            ours = torch.compile(added, backend="nvfuser", dynamic=True)(
                torch.ones(7, 3), torch.arange(edges) % 7, torch.ones(edges, 3)
            )
        assert not failures(seen.graphs)
        assert torch.equal(ours, added(torch.ones(7, 3), torch.arange(edges) % 7, torch.ones(edges, 3)))


def test_a_part_of_each_row_is_pytorchs():
    x, index, values = torch.randn(5, 8), torch.randint(5, (6, 3)), torch.randn(7, 4)
    assert_as_eager(lambda x, i, v: x.scatter_add(0, i, v * 2) + 1, x, index, values)


@pytest.mark.skipif(not ON_GPU, reason="the CPU's kernels have one order")
def test_deterministic_algorithms_are_pytorchs():
    def added(x, index, values):
        return x.index_add(0, index, values * 2) + 1

    inputs = torch.zeros(7, 5), torch.randint(7, (400,)), torch.randn(400, 5)
    torch.use_deterministic_algorithms(True)
    try:
        first = compiled(added)(*inputs)
        assert all(torch.equal(first, compiled(added)(*inputs)) for _ in range(3))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_axes_of_one_element_meet_larger_ones(dim):
    def added(x, index, values, other):
        return x.scatter_add(dim, index, values) * other

    x, other = torch.randn(1, 5, 1), torch.randn(4, 5, 3)
    index = torch.randint(x.shape[dim], (1, 5, 1))
    assert not failures(assert_as_eager(added, x, index, torch.randn(1, 5, 1), other, exact=EXACT))
    sizes = [1, 5, 1]
    sizes[dim] = 7
    index = torch.randint(x.shape[dim], sizes)
    assert not failures(assert_as_eager(added, x, index, torch.randn(sizes), other, exact=EXACT))
