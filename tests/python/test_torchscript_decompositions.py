"""PYTORCH_NVFUSER_ENABLE=linear_decomposition and conv_decomposition: fusions add biases, optional ones too."""

import pytest
from torchscript_support import DEVICE, in_file, run_script

LAYERS = f"""
import torch
torch.backends.cudnn.allow_tf32 = False
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 16)
        self.kernel = torch.nn.Parameter(torch.rand(4, 3, 3, 3))
        self.shift = torch.nn.Parameter(torch.rand(4))
    def forward(self, x, y):
        return self.linear(x).relu() * 2.0, torch.conv2d(y, self.kernel, self.shift).relu() * 2.0
m = M().eval().to({DEVICE!r})
t = torch.jit.script(m)
x, y = torch.rand(4, 8, device={DEVICE!r}), torch.rand(2, 3, 8, 8, device={DEVICE!r})
with torch.no_grad(), torch.jit.fuser("fuser2"):
    for _ in range(4):
        got = t(x, y)
    for one, other in zip(got, m(x, y)):
        torch.testing.assert_close(one, other)
graph = str(next(iter(t.get_debug_state().execution_plans.values())).graph)
print(graph.split("with prim::")[0].count("CudaFusionGroup"), graph.count("aten::add("))
"""


@pytest.mark.parametrize(
    "options, additions",
    [
        (None, "0"),
        ("linear_decomposition", "1"),
        ("conv_decomposition", "1"),
        ("linear_decomposition,conv_decomposition", "2"),
    ],
)
def test_decompositions(options, additions):
    out = run_script(in_file(LAYERS), PYTORCH_NVFUSER_ENABLE=options).stdout.split()
    assert out == ["2", additions]


# Each layer in modes, with and without a bias, and the bias as an argument that may be None.
OPTIONAL = f"""
import torch
import torch.nn.functional as F
from torch import nn
torch.backends.cudnn.allow_tf32 = False
torch.manual_seed(29)
DEVICE = {DEVICE!r}

class Behind(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
    def forward(self, x):
        return torch.where(self.layer(x) > 0.0, self.layer(x) * 2.0, self.layer(x) * 0.5)

def linear(x, w, b: torch.Tensor | None):
    return F.linear(x, w, b).tanh() * 2.0

def convolve(x, w, b: torch.Tensor | None):
    return torch.conv1d(x, w, b).tanh() * 2.0

def equal(got, want, dtype, size=1.0):
    assert got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * size)
    assert torch.equal(got.signbit(), want.signbit())

def text(t):
    return str(next(iter(t.get_debug_state().execution_plans.values())).graph)

def inference(function, calls, dtype):
    t = torch.jit.script(function)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for _ in range(4):
            for arguments in calls:
                equal(t(*arguments), function(*arguments), dtype)
    groups = text(t).split("with prim::CudaFusionGroup")[1:]
    assert len(groups) == 1 and "aten::add(" in groups[0], text(t)

def training(model, x, dtype):
    t = torch.jit.script(model)
    results = []
    for function in (model, t, t, t, t):
        model.zero_grad()
        given = x.clone().requires_grad_()
        with torch.jit.fuser("fuser2"):
            out = function(given)
            (out * out).sum().backward()
        results.append([out, given.grad] + [p.grad.clone() for p in model.parameters()])
    for result in results[1:]:
        for i, (got, want) in enumerate(zip(result, results[0], strict=True)):
            # Weights' gradients are sums over all places, of terms as large as the largest of them.
            equal(got, want, dtype, want.abs().max().item() if i > 1 else 1.0)

for dtype in (torch.float32, torch.float64):
    def rand(*sizes):
        return torch.randn(*sizes, dtype=dtype, device=DEVICE)
    for kind, sizes in ((nn.Conv1d, (2, 3, 9)), (nn.Conv2d, (2, 3, 8, 9)), (nn.Conv3d, (2, 3, 5, 6, 7))):
        for bias in (True, False):
            model = Behind(kind(3, 4, 3, bias=bias)).to(DEVICE, dtype)
            # The second one has no axis of examples; the plan of the first serves it, too.
            inference(model, [[rand(*sizes)], [rand(*sizes[1:])]], dtype)
            training(model, rand(*sizes), dtype)
    for bias in (True, False):
        model = Behind(nn.Linear(8, 16, bias=bias)).to(DEVICE, dtype)
        training(model, rand(4, 8), dtype)
    x, w, b = rand(4, 8), rand(16, 8), rand(16)
    inference(linear, [[x, w, b], [x, w, None], [-x * 0.0, w, None]], dtype)
    x, w, b = rand(2, 3, 9), rand(4, 3, 3), rand(4)
    inference(convolve, [[x, w, None], [x, w, b], [x[0], w, None]], dtype)
print("equal")
"""


@pytest.mark.parametrize("options", ["linear_decomposition,conv_decomposition"])
def test_optional_biases(options):
    assert run_script(in_file(OPTIONAL), PYTORCH_NVFUSER_ENABLE=options).stdout == "equal\n"


def test_traced_convolution():
    """torch.jit.trace writes aten::_convolution."""
    script = f"""
import torch
torch.backends.cudnn.allow_tf32 = False
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Tanh()).eval().to({DEVICE!r})
x = torch.rand(2, 3, 8, 8, device={DEVICE!r})
with torch.no_grad(), torch.jit.fuser("fuser2"):
    t = torch.jit.trace(model, x)
    for _ in range(4):
        torch.testing.assert_close(t(x), model(x))
graph = str(next(iter(t.get_debug_state().execution_plans.values())).graph)
print("aten::add(" in graph.split("with prim::CudaFusionGroup")[1])
"""
    assert run_script(in_file(script), PYTORCH_NVFUSER_ENABLE="conv_decomposition").stdout == "True\n"
