"""Biases of convolutions: on a GPU kernels add them, and sum their gradients, that neighbours are part of."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo import decompositions
from nvfuser.dynamo.backend import observing
from torch import nn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch):
    monkeypatch.setattr(decompositions, "_is_on_gpu", lambda x: True)


MODULES = {
    "rows": lambda: (nn.Conv1d(3, 5, 3, padding=1), (2, 3, 17)),
    "image": lambda: (nn.Conv2d(3, 8, 3, stride=2), (2, 3, 12, 9)),
    "by groups": lambda: (nn.Conv2d(4, 8, 3, groups=2, dilation=2), (2, 4, 12, 9)),
    "transposed": lambda: (nn.ConvTranspose2d(3, 5, 2, stride=2), (2, 3, 6, 5)),
    "volume": lambda: (nn.Conv3d(2, 3, 2), (1, 2, 5, 6, 7)),
    "without a bias": lambda: (nn.Conv2d(3, 8, 3, bias=False), (2, 3, 12, 9)),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("needs_gradient", [True, False])
def test_values_and_gradients(name, needs_gradient):
    module, shape = MODULES[name]()
    x = torch.randn(shape, requires_grad=needs_gradient)
    parameters = dict(module.named_parameters())

    def function(x, *given):
        names = dict(zip(parameters, given, strict=True))
        return F.gelu(torch.func.functional_call(module, names, (x * 2,)))

    graphs = assert_as_eager(function, x, *(p.detach().requires_grad_() for p in parameters.values()))
    assert not any(failures([graph]) for graph in graphs)


def test_channels_last():
    module = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 12, 9).to(memory_format=torch.channels_last)
    assert_as_eager(lambda x: module(x).relu(), x)


def test_a_bias_is_part_of_the_next_kernel():
    module = nn.Conv2d(3, 8, 3)
    with observing() as seen, torch.no_grad():
        compiled(lambda x: F.gelu(module(x)))(torch.randn(2, 3, 12, 9))
    (graph,) = seen.graphs
    names = [str(node.target) for node in graph.regions[0].region.nodes]
    assert any("add" in name for name in names) and any("gelu" in name for name in names)
