"""Products of matrices with odd rows, which torch.compile(backend="nvfuser") pads: results, gradients and strides."""

import copy

import pytest
import torch
from nvfuser.dynamo import products
from nvfuser.dynamo.backend import backend, observing
from tested_device import tensors_there
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, ROWS = 37, 24, 16


@pytest.fixture(autouse=True)
def padding_everywhere(monkeypatch):
    """On the CPU, too, and of matrices as small as these."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    monkeypatch.setattr(products, "DEVICES", ("cpu", "cuda"))
    monkeypatch.setattr(products, "pays", lambda product: True)
    with tensors_there():
        yield
    torch._dynamo.reset()


class Head(nn.Module):
    """Words that follow, as a loss."""

    def __init__(self):
        super().__init__()
        self.norm, self.words = nn.LayerNorm(WIDTH), nn.Parameter(torch.randn(WORDS, WIDTH) / 4)

    def forward(self, x, targets):
        logits = self.norm(x) @ self.words.t()
        return F.cross_entropy(logits.view(-1, WORDS).float(), targets.view(-1))


class Logits(nn.Linear):
    """The result leaves the graph as it is, and as parts and views of it."""

    def __init__(self):
        super().__init__(WIDTH, WORDS)

    def forward(self, x):
        y = super().forward(x)
        return y, y.view(-1), y.sum(0), y.t() * 2, torch.sort(y, 1)[0]


class Rows(nn.Module):
    """Operands of either order, odd on the inside, the outside and both."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(WIDTH, WORDS) / 4), nn.Parameter(torch.randn(WORDS, 43) / 4)
        self.bias = nn.Parameter(torch.randn(43))

    def forward(self, x):
        hidden = torch.relu(x @ self.a)
        return torch.addmm(self.bias, hidden, self.b, beta=0.5).t() @ x


def inputs_of(module):
    x = torch.randn(2, ROWS // 2, WIDTH, dtype=torch.bfloat16)
    if isinstance(module, Head):
        return [x, torch.randint(0, WORDS, (2, ROWS // 2))]
    return [x.view(ROWS, WIDTH)]


def results(module, inputs, function, trained):
    inputs[0] = inputs[0].clone().requires_grad_(trained)
    with torch.set_grad_enabled(trained):
        values = function(*inputs)
    values = list(values) if isinstance(values, tuple) else [values]
    if trained:
        sum(value.float().square().mean() for value in values).backward()
        values += [inputs[0].grad, *(parameter.grad for parameter in module.parameters())]
    return values


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("trained", [False, True], ids=["inference", "trained"])
@pytest.mark.parametrize("kind", [Head, Logits, Rows])
def test_padded_products(kind, trained, dynamic):
    module = kind().bfloat16()
    other = copy.deepcopy(module)
    inputs = inputs_of(module)
    theirs = results(module, list(inputs), module, trained)
    with observing() as seen:
        compiled = torch.compile(other, backend=backend, dynamic=dynamic)
        ours = results(other, list(inputs), compiled, trained)
    for mine, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, expected, rtol=3e-2, atol=3e-2)
        assert mine.stride() == expected.stride()
    assert not [reason for graph in seen.graphs for reason in graph.failures()]
    matrices = [
        (node.name, value.shape, value.stride())
        for graph in seen.graphs
        for part in graph.cut.order
        if getattr(part, "target", None) in products._PRODUCTS
        for node in (part, *part.args)
        if (value := node.meta["val"]).dim() == 2
    ]
    assert matrices and not [one for one in matrices if max(one[2]) % 8]


def test_products_that_are_left_alone(monkeypatch):
    """Aligned ones, wide numbers, and those too small for it to pay."""

    def padded(function, *inputs):
        torch._dynamo.reset()
        with observing() as seen, torch.no_grad():
            torch.compile(function, backend=backend, dynamic=False)(*inputs)
        return "pad" in "".join(str(graph.run) for graph in seen.graphs)

    half = torch.randn(16, 24, dtype=torch.float16)
    odd = torch.randn(24, 37, dtype=torch.float16)
    assert padded(torch.mm, half, odd)
    assert not padded(torch.mm, half, torch.randn(24, 40, dtype=torch.float16))
    assert not padded(torch.mm, half.float(), odd.float())
    assert not padded(torch.mm, torch.randn(16, 40, dtype=torch.float16)[:, :37], odd.t().contiguous())
    assert not padded(torch.mm, torch.randn(16, 41, dtype=torch.float16)[:, :40], torch.randn(40, 37).half())
    monkeypatch.undo()
    monkeypatch.setattr(products, "DEVICES", ("cpu", "cuda"))
    assert not padded(torch.mm, half, odd)
