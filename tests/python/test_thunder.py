"""Five models and an operation each through Lightning Thunder's nvFuser executor, forward and backward beside eager.

On a GPU: python -m pytest tests/python/test_thunder.py, with what tools/requirements/test.txt names. Without one the
executor's checks are turned to the CPU (thunder_support.py).
"""

import pytest
import thunder_support
import torch
import torch.nn.functional as F
from torch import nn

thunder, nvfuserex = thunder_support.load()
DEVICE = thunder_support.DEVICE


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(48, 96), nn.LayerNorm(96), nn.Linear(96, 48)

    def forward(self, x):
        return x + self.down(self.norm(F.gelu(self.up(x))))


class GatedBlock(nn.Module):
    """As in Llama: RMS norm, SiLU of a gate, residual."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(48))
        self.gate, self.up, self.down = (
            nn.Linear(48, 96, bias=False),
            nn.Linear(48, 96, bias=False),
            nn.Linear(96, 48, bias=False),
        )

    def forward(self, x):
        h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Attention(nn.Module):
    """Its scores and softmax are written out, rotary positions before them."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(48, 144), nn.Linear(48, 48)
        angle = torch.arange(12)[:, None] * 10000 ** (-torch.arange(0, 12, 2) / 12)
        self.register_buffer("cos", torch.cos(angle).repeat(1, 2))
        self.register_buffer("sin", torch.sin(angle).repeat(1, 2))

    def rotate(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, 4, 12).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = self.rotate(q) @ self.rotate(k).transpose(-1, -2) * 12**-0.5
        return x + self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width))


class Normalised(nn.Module):
    """Residual, two norms, tanh."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(48), nn.LayerNorm(48)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)) + x) * torch.sigmoid(x)


class Classifier(nn.Module):
    """Ends in a cross-entropy, some targets of which do not count."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(48, 37)
        target = torch.arange(24) % 37
        target[::5] = -100
        self.register_buffer("target", target)

    def forward(self, x):
        return F.cross_entropy(self.head(F.relu(x)).flatten(0, 1), self.target)


MODELS = [Perceptron, GatedBlock, Attention, Normalised, Classifier]


def fusions_of(compiled):
    traces = thunder.last_traces(compiled)[-1:] + (thunder.last_backward_traces(compiled) or [])[-1:]
    return sum(str(trace).count(" = nvFusion") for trace in traces)


@pytest.mark.parametrize("model", MODELS)
def test_models_forward_and_backward(model):
    torch.manual_seed(3)
    eager = model().to(DEVICE)
    compiled = thunder.jit(eager, executors=[nvfuserex])
    x = torch.randn(2, 12, 48, device=DEVICE)
    for _ in range(2):  # the second call executes definitions that are there
        results = []
        for run in (eager, compiled):
            given = x.clone().requires_grad_()
            eager.zero_grad()
            out = run(given)
            out.square().sum().backward()
            results.append([out, given.grad, *(p.grad.clone() for p in eager.parameters())])
        for want, got in zip(*results, strict=True):
            torch.testing.assert_close(got, want, rtol=2e-4, atol=2e-4)
    assert fusions_of(compiled) >= 2  # one each way


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_precisions(dtype):
    def chain(x, y):
        return torch.softmax(F.gelu(x * y + 0.5), -1) * torch.sigmoid(x)

    compiled = thunder.jit(chain, executors=[nvfuserex])
    x, y = (torch.randn(8, 33, device=DEVICE).to(dtype) for _ in range(2))
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(compiled(x, y), chain(x, y), rtol=tolerance, atol=tolerance)
    assert fusions_of(compiled) == 1
