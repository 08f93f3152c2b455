"""Gradients: forward and backward graphs of differentiable parts are fused, and equal eager ones.
Dropout draws once for both."""

import pytest
import torch
import torch.nn.functional as F
from torchscript_programs import (
    Block,
    ConvNet,
    Scale,
    attention,
    branch,
    broadcast,
    chain,
    gelu_bias,
    half_chain,
    layer_norm,
    loop,
    mlp,
    rms_norm,
    scalar_float,
    softmax,
    transposes,
    two_results,
    views,
)
from torchscript_support import (
    DEVICE,
    assert_equal,
    compiled_anew,
    copies,
    gradients,
    graphs_of,
    groups_in,
    name_of,
    rand,
)


def g(*sizes, dtype=torch.float32):
    return rand(*sizes, dtype=dtype, grad=True)


def unused_input(x, y):
    return (x * 2.0 + 1.0).relu()


def partly(x, y):
    return (x * y.detach() + y).sigmoid() * 2.0


def dropout_off(x):
    return F.dropout((x * 2.0).relu(), 0.5, False) + 1.0


def squared_norm(x, w):
    y = F.layer_norm(x, [16], w, None)
    return (y * y).mean()


B = torch.bfloat16
BACKWARD = [
    (chain, [g(8, 16), g(8, 16)]),
    (broadcast, [g(8, 16), g(16), g(8, 1)]),
    (gelu_bias, [g(8, 16), g(16)]),
    (softmax, [g(4, 16), rand(4, 16)]),
    (layer_norm, [g(8, 16), g(16), g(16)]),
    (rms_norm, [g(8, 16), g(16)]),
    (two_results, [g(8, 16), g(8, 16)]),
    (half_chain, [g(8, 16, dtype=B), g(8, 16, dtype=B)]),
    (scalar_float, [g(8, 16), 2.0]),
    (views, [g(8, 16)]),
    (transposes, [g(8, 16)]),
    (mlp, [g(8, 16), g(16, 32), g(32), g(32, 8)]),
    (attention, [g(2, 6, 8), g(2, 6, 8), g(2, 6, 8), torch.ones(6, 6, device=DEVICE).triu(1) > 0]),
    (branch, [g(8, 16), g(8, 16)]),
    (loop, [g(8, 16), 3]),
    (unused_input, [g(8, 16), rand(8, 16)]),
    (partly, [g(8, 16), g(16)]),
    (dropout_off, [g(8, 16)]),
    (squared_norm, [g(8, 16), g(16)]),
    (Block().train().to(DEVICE), [g(4, 16)]),
    (Scale().to(DEVICE), [g(8, 16)]),
]


@pytest.mark.parametrize("program, arguments", BACKWARD, ids=[name_of(case[0]) for case in BACKWARD])
def test_backward(program, arguments):
    scripted = compiled_anew(program)
    parameters = list(program.parameters()) if isinstance(program, torch.nn.Module) else []

    def measured(function):
        for parameter in parameters:
            parameter.grad = None
        return [gradients(function, copies(arguments)), [parameter.grad for parameter in parameters]]

    want = measured(program)
    with torch.jit.fuser("fuser2"):
        for _ in range(5):
            assert_equal(measured(scripted), want)


def normalised(x, w, b):  # PyTorch keeps what it compiled for a function, with all plans of other tests
    return F.layer_norm(x + 1.0, [16], w, b).relu()


def test_both_directions_are_fused():
    scripted = torch.jit.script(normalised)
    arguments = [g(8, 16), g(16), g(16)]
    with torch.jit.fuser("fuser2"):
        for _ in range(4):
            gradients(scripted, copies(arguments))
    texts = graphs_of(scripted)
    assert "prim::DifferentiableGraph" in texts[0]
    assert sum("prim::CudaFusionGroup" in text for text in texts[1:]) == 2, texts  # forward and backward
    backward = next(text for text in texts[1:] if "native_layer_norm_backward" in text)
    assert "prim::CudaFusionGroup" in backward


def test_batch_norm_trains():
    """Running statistics are updated in place, once a call; the gradient takes the same way."""
    eager, fused = ConvNet().train().to(DEVICE), ConvNet().train().to(DEVICE)
    fused.load_state_dict(eager.state_dict())
    scripted = torch.jit.script(fused)
    x = rand(2, 3, 8, 8)
    with torch.jit.fuser("fuser2"):
        for _ in range(5):
            want, got = eager(x), scripted(x)
            assert_equal(got, want)
            for model, result in ((eager, want), (fused, got)):
                model.zero_grad()
                result.sum().backward()
            for one, other in zip(fused.parameters(), eager.parameters(), strict=True):
                torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-4)
            assert_equal(list(fused.buffers()), list(eager.buffers()))


# Random numbers -----------------------------------------------------------------------------------


def test_dropout():
    """As many as asked for are kept, scaled; the gradient drops the same; a seed repeats it."""

    def drop(x, p: float):
        return F.dropout(x * 2.0, p, True) + 0.0

    scripted = torch.jit.script(drop)
    x = torch.ones(200, 500, device=DEVICE)
    with torch.jit.fuser("fuser2"):
        for p in (0.5, 0.5, 0.5, 0.1, 0.9):
            out = scripted(x, p)
            kept = out != 0
            assert abs(kept.float().mean().item() - (1 - p)) < 0.01
            torch.testing.assert_close(out[kept], torch.full_like(out[kept], 2 / (1 - p)))
        assert not torch.equal(scripted(x, 0.5), scripted(x, 0.5))
        torch.manual_seed(3)
        first = scripted(x, 0.5)
        torch.manual_seed(3)
        assert torch.equal(scripted(x, 0.5), first)
    assert groups_in(scripted) > 0


def test_dropout_gradient():
    def drop(x):
        return F.dropout(x * 2.0, 0.25, True) * 3.0

    scripted = torch.jit.script(drop)
    with torch.jit.fuser("fuser2"):
        for _ in range(5):
            x = torch.ones(64, 64, device=DEVICE, requires_grad=True)
            out = scripted(x)
            out.sum().backward()
            assert_equal(x.grad, out.detach())  # linear in x, which is 1
            assert 0 < (out == 0).float().mean() < 0.5
