"""Masks of dropout that kernels draw themselves: the graph, and the numbers beside eager's on a GPU."""

import operator

import pytest
import torch
from compile_support import compiled
from nvfuser._C import number_of_threads
from nvfuser.dynamo import dropout
from nvfuser.dynamo.compiled_region import name_of
from nvfuser.dynamo.drawn_numbers import dropout_mask, moves, take_numbers
from tested_device import DEVICE
from torch.fx.experimental.symbolic_shapes import ShapeEnv

aten = torch.ops.aten


def _number(element, threads, width, seed, offset):
    """The number of this element, of Philox in Python."""
    taken, rest = divmod(element, width)
    turn, thread = divmod(taken, threads)
    word = _philox(seed, offset + turn * (width // 4) + rest // 4, thread)[element % 4]
    return (torch.tensor(word, dtype=torch.float32) * 2.0**-32 + 2.0**-33).item()


def _philox(seed, block, sequence):
    """Four words of Philox-4x32-10 (Salmon et al., 2011)."""
    low = 2**32 - 1
    c0, c1, c2, c3 = block & low, block >> 32, sequence & low, sequence >> 32
    k0, k1 = seed & low, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & low, (a >> 32) ^ c3 ^ k1, a & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return c0, c1, c2, c3


on_gpu = pytest.mark.skipif(DEVICE != "cuda", reason="eager's kernel of a GPU draws in its own way")


def _graph(shape, like=None, dtype=torch.float16):
    """mask, mask * x, of a tensor on a GPU that need not exist."""
    graph = torch.fx.Graph()
    with torch._subclasses.FakeTensorMode(shape_env=ShapeEnv()):
        value = torch.empty(shape, dtype=dtype, device="cuda:0")
        x = graph.placeholder("x")
        x.meta["val"] = value
        strides = like or list(value.stride())
        empty = graph.call_function(aten.empty_strided.default, (list(shape), strides), {"dtype": dtype})
        empty.meta["val"] = value.as_strided(shape, strides)
        drawn = graph.call_function(aten.native_dropout.default, (empty, 0.1, None))
        drawn.meta["val"] = (value, value.bool())
        mask = graph.call_function(operator.getitem, (drawn, 1))
        mask.meta["val"] = value.bool()
        product = graph.call_function(aten.mul.Tensor, (mask, x))
        product.meta["val"] = value
        graph.output((product, mask))
    return graph


@pytest.fixture
def as_known(monkeypatch):
    monkeypatch.setattr(dropout, "_eagers", lambda index, dtype: (1024, 4))


def test_a_mask_is_drawn_where_it_is_read(as_known):
    graph = _graph((6, 32))
    assert dropout.draw_in_kernels(graph)
    targets = [node.target for node in graph.nodes if node.op == "call_function"]
    assert targets == [take_numbers, operator.getitem, operator.getitem, dropout_mask, aten.mul.Tensor]
    (mask,) = (node for node in graph.nodes if node.target is dropout_mask)
    assert name_of(mask) == "dropout_mask"  # in reports
    assert mask.args[0].op == "placeholder" and mask.args[1] == 0.1 and mask.args[4:] == (1024, 4)


@pytest.mark.parametrize(
    "facts",
    [{"shape": (5, 3)}, {"shape": (6, 32), "like": [1, 6]}, {"shape": (8, 8), "dtype": torch.float64}],
    ids=["odd", "turned", "double"],
)
def test_what_eager_draws_in_another_way_stays_eagers(as_known, facts):
    assert not dropout.draw_in_kernels(_graph(**facts))


def test_one_thread_draws_what_philox_gives():
    for element in (0, 3, 7, 8, 2047, 2048, 10**6 + 5):
        for width in (4, 8):
            wanted = _number(element, 256, width, 2**63 + 9, 21)
            assert number_of_threads(2**63 + 9, 21, element, 256, width) == wanted


def test_the_generator_moves_by_turns_of_all_threads():
    assert moves(1, 2048) == moves(2048 * 4, 2048) == 4
    assert moves(2048 * 4 + 1, 2048) == 8
    assert moves(1000, 2048) == 4


@on_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(64,), (300, 1024), (5, 33, 4), (2000, 4096), (7, 9)], ids=str)
def test_masks_are_eagers(dtype, shape):
    x = torch.randn(shape, device="cuda", dtype=dtype)

    def step(x):
        y = torch.nn.functional.dropout(torch.sin(x), 0.2)
        return y * 2, torch.nn.functional.dropout(y + 7, 0.7)

    fast = compiled(step)
    for seed in (3, 2**63 + 11):
        torch.manual_seed(seed)
        found = [*fast(x), torch.rand(4, device="cuda")]
        torch.manual_seed(seed)
        wanted = [*step(x), torch.rand(4, device="cuda")]
        for mine, theirs in zip(found, wanted, strict=True):
            assert torch.equal(mine == 0, theirs == 0)
            torch.testing.assert_close(mine, theirs, rtol=2e-2, atol=2e-2)
    assert dropout._eagers(x.device.index, dtype) is not None


@on_gpu
def test_each_replay_of_a_captured_call_has_its_own_numbers():
    x = torch.ones(4096, device="cuda")
    fast = compiled(lambda x: torch.nn.functional.dropout(x, 0.5) + 1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        fast(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = fast(x)
    graph.replay()
    first = result.clone()
    graph.replay()
    assert not torch.equal(first, result)
    assert abs((result == 1).float().mean().item() - 0.5) < 0.05
