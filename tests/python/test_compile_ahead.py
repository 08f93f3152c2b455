"""Regions of a compiled graph are compiled together, in the background, and the calls find their kernels."""

import pytest
import torch
from nvfuser._C import direct
from nvfuser.dynamo.backend import backend, observing
from nvfuser.dynamo.compile_ahead import compile_ahead
from nvfuser_direct import DataType, FusionDefinition, UserError
from tested_device import DEVICE, tensors_there
from torch import nn


def doubled():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True, dtype=DataType.Float)
        s = fd.define_scalar(dtype=DataType.Double)
        fd.add_output(fd.ops.cast(fd.ops.mul(x, s), DataType.Float))
    return direct.FusionExecutorCache(fd.fusion)


def test_what_a_call_needs_is_compiled_once():
    cache = doubled()
    x = torch.randn(7, 13, device=DEVICE)
    like = [([7, 13], [13, 1], DataType.Float), 2.0]
    assert direct.compile_ahead([(cache, like), (cache, like)], DEVICE) == 1
    assert direct.compile_ahead([(cache, like)], DEVICE) == 0
    torch.testing.assert_close(cache.execute([x, 3.0])[0], x * 3)
    assert cache.is_compiled([x, 3.0])


def test_what_cannot_be_planned_is_left_to_the_call():
    cache = doubled()
    assert direct.compile_ahead([(cache, [([7], [1], DataType.Float), 2.0])], DEVICE) == 0
    with pytest.raises(UserError, match="2 strides"):
        direct.compile_ahead([(cache, [([7], [1, 1], DataType.Float), 2.0])], DEVICE)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_regions_of_a_graph(dynamic):
    torch._dynamo.reset()
    with tensors_there(), observing() as seen:
        model = nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 31), nn.GELU(), nn.Linear(31, 8), nn.Softmax(-1))
        x = torch.randn(5, 24)
        result = torch.compile(model, backend=backend, dynamic=dynamic)(x)
        torch.testing.assert_close(result, model(x))
        result.square().sum().backward()
    futures = [future for graph in seen.graphs for future in graph.ahead]
    assert futures and all(future.exception() is None for future in futures)
    again = [future for graph in seen.graphs for future in compile_ahead(graph.regions)]
    assert len(again) == len(futures) and not any(future.result() for future in again)  # nothing is missing


def test_dumps_keep_their_order(monkeypatch):
    monkeypatch.setenv("NVFUSER_DUMP", "launch_param")
    torch._dynamo.reset()
    with tensors_there(), observing() as seen:
        torch.compile(lambda x: x.sin() * 2, backend=backend)(torch.randn(3, 5))
    assert [graph.ahead for graph in seen.graphs] == [[]]
