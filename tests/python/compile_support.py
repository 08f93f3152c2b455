"""What tests of torch.compile(backend="nvfuser") share."""

import pytest
import torch
from nvfuser.dynamo.backend import backend, observing
from tested_device import tensors_there


@pytest.fixture(autouse=True)
def fresh():
    """In a file that imports it, each test has the same seed, the tested device, and nothing compiled before it."""
    torch.manual_seed(0)
    with tensors_there():
        yield
    torch._dynamo.reset()


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend=backend, **options)


def results(function, *inputs, seed=0):
    """What a function gives for tensors of its own, and their gradients; and a number drawn afterwards."""
    given = [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs]
    torch.manual_seed(seed)
    outputs = function(*given)
    outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    sum(y.float().sum() for y in outputs if y.requires_grad).backward() if any(
        y.requires_grad for y in outputs
    ) else None
    gradients = [x.grad for x in given if isinstance(x, torch.Tensor) and x.requires_grad]
    return [y.detach() for y in outputs], gradients, torch.rand(1)


def assert_as_eager(function, *inputs, exact=False, **options):
    """Values, dtypes, strides and gradients of the compiled function are those of the function, and so are the random
    numbers that are drawn. Gives the graphs that were compiled."""
    theirs = results(function, *inputs)
    with observing() as seen:
        ours = results(compiled(function, **options), *inputs)
    tolerance = {"rtol": 0, "atol": 0} if exact else {}
    torch.testing.assert_close(ours, theirs, equal_nan=True, check_stride=True, **tolerance)
    return seen.graphs


def failures(graphs):
    return [reason for graph in graphs for reason in graph.failures()]
