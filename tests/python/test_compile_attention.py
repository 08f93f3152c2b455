"""Attention whose mask PyTorch's kernels of a GPU do not take as it is."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, fresh  # noqa: F401
from nvfuser.dynamo.attention_masks import lay_out_masks
from tested_device import ON_GPU
from torch._subclasses import FakeTensorMode
from torch.nn import functional as F

attention = F.scaled_dot_product_attention


def graph_of(mask, by_name):
    graph = torch.fx.Graph()
    q, given = graph.placeholder("q"), graph.placeholder("mask")
    given.meta["example_value"] = mask
    arguments = ((q, q, q), {"attn_mask": given}) if by_name else ((q, q, q, given), {})
    graph.output(graph.call_function(attention, *arguments))
    return graph


def copies(graph):
    lay_out_masks(graph)
    graph.lint()
    found = [node for node in graph.nodes if node.target == "clone"]
    calls = [node for node in graph.nodes if node.target is attention]
    assert all(node in calls[0].all_input_nodes for node in found)
    return len(found)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_mask_with_gaps_is_copied(by_name):
    with FakeTensorMode():
        column = torch.empty(2, 1, 5, 1, dtype=torch.bool, device="cuda")
        assert copies(graph_of(column.expand(2, 1, 5, 5), by_name)) == 1
        assert copies(graph_of(torch.empty(2, 1, 5, 5, device="cuda").transpose(2, 3), by_name)) == 1
        assert copies(graph_of(torch.empty(2, 1, 1, 5, device="cuda").expand(2, 3, 5, 5), by_name)) == 0
        assert copies(graph_of(column.cpu().expand(2, 1, 5, 5), by_name)) == 0


def test_attention_without_a_mask_stays():
    graph = torch.fx.Graph()
    q = graph.placeholder("q")
    graph.output(graph.call_function(attention, (q, q, q), {"is_causal": True}))
    assert copies(graph) == 0


MASKS = {
    "stretched": lambda n: torch.ones(2, 1, n, 1, dtype=torch.bool).expand(2, 1, n, n),
    "turned": lambda n: torch.ones(2, 1, n, n, dtype=torch.bool).tril().transpose(2, 3),
    "added, turned": lambda n: torch.randn(2, 3, n, n).transpose(2, 3),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("length", [16, 37])
def test_values_are_eagers(name, length):
    q, k, v = (torch.randn(2, 3, length, 32, requires_grad=True) for _ in range(3))
    mask = MASKS[name](length)

    def function(q, k, v):
        return attention(q * 2, k, v, attn_mask=mask) + 1

    assert_as_eager(function, q, k, v)


@pytest.mark.skipif(not ON_GPU, reason="kernels of a GPU")
def test_a_kernel_of_pytorch_runs_on_a_gpu():
    q = torch.randn(2, 3, 64, 32, dtype=torch.bfloat16)

    def function(q, mask):
        return attention(q, q, q, attn_mask=mask.expand(2, 1, 64, 64))

    fast = compiled(function)
    mask = torch.ones(2, 1, 64, 1, dtype=torch.bool)
    fast(q, mask)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        fast(q, mask)
    names = {event.name for event in profile.events()}
    assert any("efficient_attention" in name or "cudnn_attention" in name for name in names), names
