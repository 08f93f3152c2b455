"""A transformer block defined through the C++ API, forward and backward, beside PyTorch; on the CPU and the emulated
device, and with NVFUSER_TEST_DEVICE=cuda on the first GPU, too.
"""

import numpy as np
import pytest
import torch
from installed import ROOT, run
from tested_device import ON_GPU

EXAMPLE = ROOT / "build" / "bin" / "example_transformer_block"
PARAMETERS = [
    f"{layer}.{kind}" for layer in ("norm1", "qkv", "proj", "norm2", "up", "down") for kind in ("weight", "bias")
]


def block(x, p, heads):
    """GPT-2's: two residual branches, each behind its norm."""
    batch, sequence, width = x.shape
    norm = torch.nn.functional.layer_norm
    linear = torch.nn.functional.linear
    first = norm(x, (width,), p["norm1.weight"], p["norm1.bias"], 1e-5)
    qkv = linear(first, p["qkv.weight"], p["qkv.bias"])
    q, k, v = (part.view(batch, sequence, heads, -1).transpose(1, 2) for part in qkv.split(width, dim=2))
    seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    mixed = seen.transpose(1, 2).reshape(batch, sequence, width)
    middle = x + linear(mixed, p["proj.weight"], p["proj.bias"])
    second = norm(middle, (width,), p["norm2.weight"], p["norm2.bias"], 1e-5)
    active = torch.nn.functional.gelu(linear(second, p["up.weight"], p["up.bias"]), approximate="tanh")
    return middle + linear(active, p["down.weight"], p["down.bias"])


RUNS = [
    pytest.param("cpu", [], 12, id="width of GPT-2"),
    pytest.param("cpu", ["--small"], 4, id="small"),
    pytest.param("emulated", ["--small"], 4, id="small, emulated"),
]
if ON_GPU:
    RUNS += [pytest.param("cuda", [], 12, id="width of GPT-2, CUDA")]


@pytest.mark.parametrize(("device", "options", "heads"), RUNS)
def test_block_matches_pytorch(tmp_path, device, options, heads):
    run([EXAMPLE, f"--save={tmp_path}", f"--device={device}", *options])
    loaded = {path.stem: torch.from_numpy(np.load(path)).double() for path in tmp_path.glob("*.npy")}
    x = loaded["x"].requires_grad_()
    parameters = {name: loaded[name].requires_grad_() for name in PARAMETERS}
    result = block(x, parameters, heads)
    result.backward(loaded["grad"])
    expected = {"result": result, "grad of x": x.grad}
    expected |= {f"grad of {name}": value.grad for name, value in parameters.items()}
    assert len(loaded) == 2 + len(parameters) + len(expected)
    for name, value in expected.items():
        error = (loaded[name] - value.detach()).abs().max()
        assert error <= 2e-5 * value.detach().abs().max() + 1e-6, f"{name}: off by {error}"
