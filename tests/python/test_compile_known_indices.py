"""Indices that are known before the call: kernels of a GPU count them where that takes few steps."""

import pytest
import torch
import torch.nn.functional as F
from nvfuser.dynamo import known_indices
from nvfuser.dynamo.backend import observing
from tested_device import DEVICE


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(known_indices, "DEVICES_THAT_COUNT", (DEVICE,))


def constants(program, *inputs):
    with observing() as seen, torch.no_grad():
        got = torch.compile(program, backend="nvfuser")(*inputs)
    torch.testing.assert_close(got, program(*inputs))
    assert not any(graph.failures() for graph in seen.graphs)
    return sum(node.op == "get_attr" for graph in seen.graphs for node in graph.cut.kinds)


def test_repeated_ends_of_rows_are_counted():
    x = torch.randn(2, 3, 11, device=DEVICE)
    assert constants(lambda x: F.pad(x * 2, (3, 2), mode="replicate").unfold(-1, 3, 1).amax(-1), x) == 0


def test_indices_of_more_steps_are_constants_and_paddings_are_joins():
    x = torch.randn(2, 3, 9, 11, device=DEVICE)
    there_and_back = [*range(3, 0, -1), *range(9)]
    assert constants(lambda x: (x * 2)[:, :, there_and_back] + 1, x) == 1
    assert constants(lambda x: F.pad(x * 2, (3, 2), mode="reflect") + 1, x[0]) == 0
    assert constants(lambda x: F.pad(x * 2, (3, 2, 1, 4), mode="replicate") + 1, x) == 0


def test_positions_between_pixels_are_constants():
    x = torch.randn(1, 2, 6, 7, device=DEVICE)
    assert constants(lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear") + 1, x) > 0


def test_indices_that_only_a_call_knows_are_neither():
    """Those of a sort, whose operation gives several tensors, and those made of a size that changes."""

    def in_order(x, scores):
        order = scores.sort(descending=True).indices
        return x[order] * 2, x[scores.topk(3).indices + 1]

    x = torch.randn(7, 4, device=DEVICE)
    scores = torch.tensor([0.3, 0.1, 0.9, 0.5, 0.8, 0.2, 0.0], device=DEVICE)
    assert constants(in_order, x, scores) == 0

    def turned(x):
        return x[x.shape[0] - 1 - torch.arange(x.shape[0], device=x.device)] + 1

    for rows in (7, 9, 12):
        x = torch.randn(rows, 4, device=DEVICE)
        torch._dynamo.mark_dynamic(x, 0)
        with observing() as seen:
            torch.testing.assert_close(torch.compile(turned, backend="nvfuser")(x), turned(x))
        assert not any(graph.failures() for graph in seen.graphs)
