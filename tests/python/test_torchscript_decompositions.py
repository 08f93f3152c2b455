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
