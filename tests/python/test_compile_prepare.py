"""What a graph becomes before it is cut (dynamo/prepare.py), on devices that need not be there."""

import pytest

torch = pytest.importorskip("torch")
from nvfuser.dynamo.prepare import prepare  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402

aten = torch.ops.aten


def test_what_is_copied_over_a_part_of_a_gpu_is_there():
    """x[...] = 3 copies a number of the CPU over a tensor of a GPU: none of its readers gets a tensor of the CPU."""
    graph = torch.fx.Graph()
    x, number = graph.placeholder("x"), graph.placeholder("number")
    copied = graph.call_function(aten.copy.default, (x, number))
    doubled = graph.call_function(aten.add.Tensor, (x, copied))
    graph.output((doubled,))
    with FakeTensorMode():
        number.meta["val"] = torch.empty((), device="cpu")
        for node in (x, copied, doubled):
            node.meta["val"] = torch.empty(4, 6, device="cuda", dtype=torch.bfloat16)
    prepare(graph)
    written = doubled.args[1].meta["val"]
    assert doubled.args[1] is not copied
    assert written.device.type == "cuda" and written.dtype == torch.bfloat16 and written.shape == (4, 6)
