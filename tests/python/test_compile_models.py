"""torch.compile(backend="nvfuser") on whole models: results and gradients as PyTorch's, sizes fixed and changing."""

import copy

import pytest
import torch
from compile_models import MODELS
from nvfuser.dynamo.backend import backend, observing
from tested_device import DEVICE


def gradients(model, inputs, weights):
    """Result and gradients of inputs and parameters, and the buffers after the call."""
    given = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    model.zero_grad()
    result = model(*given)
    (result * weights.to(result.dtype)).sum().backward()
    grads = [x.grad for x in given] + [p.grad for p in model.parameters()]
    return [result, *grads, *(b.clone() for b in model.buffers())]


def in_double(model, inputs):
    return copy.deepcopy(model).double(), [x.double() if x.is_floating_point() else x for x in inputs]


def assert_as_near(ours, eager, exact):
    """Each of ours is as near to the value in double precision as PyTorch's, up to a factor and a few roundings."""
    assert len(ours) == len(eager)
    for position, (mine, theirs, value) in enumerate(zip(ours, eager, exact, strict=True)):
        if theirs is None:
            assert mine is None
            continue
        assert (mine.dtype, mine.shape, mine.device) == (theirs.dtype, theirs.shape, theirs.device)
        if not mine.dtype.is_floating_point:
            assert torch.equal(mine, theirs)
            continue
        assert torch.equal(mine.isnan(), theirs.isnan())
        scale = value.abs().max().item() if value.numel() else 0.0
        bound = 4 * (theirs.double() - value).abs().max().item() + 16 * torch.finfo(mine.dtype).eps * max(scale, 1e-3)
        error = (mine.double() - value).abs().max().item()
        assert error <= bound, f"value {position} is off by {error}, PyTorch's and {bound} allowed"


def made(name):
    """A model and its inputs on the tested device."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    return model.to(DEVICE), [x.to(DEVICE) for x in inputs]


def compare(model, compiled, inputs):
    weights = torch.randn(copy.deepcopy(model)(*inputs).shape, dtype=torch.float64, device=DEVICE)
    exact = gradients(*in_double(model, inputs), weights)
    ours = gradients(compiled, inputs, weights)
    eager = gradients(model, inputs, weights)
    assert_as_near(ours, eager, exact)
    assert ours[0].stride() == eager[0].stride()


def assert_fused(graphs):
    assert {graph.direction for graph in graphs} == {"forward", "backward"}
    assert all(graph.regions and graph.failures() == [] for graph in graphs)


def longer(inputs):
    return [torch.cat((x, x[-1:])) for x in inputs]


def dynamo_compiles_anew(model, inputs):
    """Whether it does for other sizes, whatever the backend: PyTorch 2.7 for label smoothing."""
    graphs = []

    def unchanged(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(model), backend=unchanged, dynamic=True)
    compiled(*inputs)
    first = len(graphs)
    compiled(*longer(inputs))
    return len(graphs) > first


@pytest.mark.parametrize("name", MODELS)
def test_forward_and_backward(name):
    model, inputs = made(name)
    with observing() as seen:
        compare(model, torch.compile(copy.deepcopy(model), backend=backend, dynamic=False), inputs)
    assert_fused(seen.graphs)


@pytest.mark.parametrize("name", MODELS)
def test_changing_sizes(name, capfd):
    model, inputs = made(name)
    compiled = torch.compile(copy.deepcopy(model), backend=backend, dynamic=True)
    with observing() as seen:
        compare(model, compiled, inputs)
        first = len(seen.graphs)
        compare(model, compiled, longer(inputs))
    assert_fused(seen.graphs)
    assert capfd.readouterr().err == "", "plans that are given up are no matter of the user's"
    assert len(seen.graphs) == first or dynamo_compiles_anew(model, inputs), "another size was compiled anew"
