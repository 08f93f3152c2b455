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
    return sum(node.op == "get_attr" for graph in seen.graphs for node in graph.cut.kinds)


def test_repeated_ends_of_rows_are_counted():
    x = torch.randn(2, 3, 11, device=DEVICE)
    assert constants(lambda x: F.pad(x * 2, (3, 2), mode="replicate").unfold(-1, 3, 1).amax(-1), x) == 0


def test_indices_of_more_steps_or_axes_are_constants():
    x = torch.randn(2, 3, 9, 11, device=DEVICE)
    assert constants(lambda x: F.pad(x * 2, (3, 2), mode="reflect") + 1, x[0]) == 1
    assert constants(lambda x: F.pad(x * 2, (3, 2, 1, 4), mode="replicate") + 1, x) == 2


def test_positions_between_pixels_are_constants():
    x = torch.randn(1, 2, 6, 7, device=DEVICE)
    assert constants(lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear") + 1, x) > 0
