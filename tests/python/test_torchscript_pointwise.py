"""Arithmetic, activations, losses, normalisations and reductions, fused, equal eager ones."""

import pytest
import torch
import torch.nn.functional as F
from torchscript_programs import broadcast, chain, gelu_bias, half_chain, layer_norm, rms_norm, softmax, two_results
from torchscript_support import DEVICE, equals_eager, name_of, rand


def document(x):
    o = x + 1.0
    o = o.relu()
    return o


def gelu_tanh(x):
    return F.gelu(x * 2.0, approximate="tanh") + 1.0


def activations(x):
    return F.silu(x) + F.hardswish(x) * F.leaky_relu(x, 0.2) - F.elu(x) + F.softplus(x) * F.mish(x)


def log_softmax(x):
    return torch.log_softmax(x.float() * 2.0, 1).exp()


def group_norm(x, w, b):
    return F.group_norm(x * 2.0, 2, w, b).relu()


def instance_norm(x):
    return F.instance_norm(x * 2.0).relu()


def batch_norm(x, mean, var, w, b):
    return F.batch_norm(x, mean, var, w, b, False, 0.1, 1e-5).relu()


def variance(x):
    v, m = torch.var_mean(x * 2.0, [1], correction=1, keepdim=True)
    return (x - m) * torch.rsqrt(v + 1e-5)


def statistics(x):
    return (x * 2.0).mean(), (x + 1.0).var(0), (x * x).std(1, unbiased=False)


def reductions(x):
    y = x * x
    return y.sum(), y.amax(1), y.amin([0], True), (y > 1.0).any(1), (y >= 0.0).all(), torch.logsumexp(x + y, 1)


def norms(x):
    return x / (x * x).sum(-1, keepdim=True).sqrt().clamp(min=1e-12)


def mixed(x, y):
    return (x + y).to(torch.float16) * x


def casts(x):
    return (x * 3.0).to(torch.int64) + 1, (x > 0.0).float() * x, x.double() * 2.0


def integers(x, y):
    return (x + y) * 2 - x // 3, x & y, (x ^ y) | 1, torch.remainder(x, 5)


def booleans(x, y):
    return torch.logical_and(x > 0.0, y < 1.0), (x == y) | ~(x > y)


def choose(x, y):
    return torch.where(x > y, x, y * 2.0).masked_fill(x < -1.0, 0.0)


def zero_dim(x, s):
    return (x * s + s).exp()


def clamp(x, lo: float, hi: float):
    return torch.clamp(x * 2.0, lo, hi) + 1.0


def losses(x, y):
    mse = torch.ops.aten.mse_loss(x * 2.0, y, 1)
    return mse, torch.ops.aten.l1_loss(x.tanh(), y, 2), F.huber_loss(x, y)


def powers(x):
    y = x.abs() + 0.5
    return y**2, y**0.5, y**-1.5, 2.0**x


def nans(x):
    return torch.nan_to_num(x / 0.0) * 2.0, (x / 0.0 - x / 0.0).relu()


H, B = torch.float16, torch.bfloat16
CASES = [
    (document, [[rand(2, 32, 8, 16)], [rand(2, 3, 8, 5)], [rand(4, 32, 8, 16)]]),
    (chain, [[rand(8, 16), rand(8, 16)], [rand(3, 5), rand(3, 5)]]),
    (two_results, [[rand(8, 16), rand(8, 16)]]),
    (broadcast, [[rand(8, 16), rand(16), rand(8, 1)], [rand(8, 16), rand(1), rand(8, 16)]]),
    (gelu_bias, [[rand(8, 16), rand(16)], [rand(8, 16, dtype=H), rand(16, dtype=H)]]),
    (gelu_tanh, [[rand(8, 16)]]),
    (activations, [[rand(8, 16)]]),
    (softmax, [[rand(2, 4, 16), rand(4, 16)], [rand(3, 4, 7), rand(1, 7)]]),
    (log_softmax, [[rand(8, 16, dtype=B)]]),
    (layer_norm, [[rand(8, 16), rand(16), rand(16)], [rand(2, 3, 16), rand(16), rand(16)]]),
    (rms_norm, [[rand(8, 16), rand(16)], [rand(8, 16, dtype=B), rand(16, dtype=B)]]),
    (group_norm, [[rand(2, 4, 3, 5), rand(4), rand(4)]]),
    (instance_norm, [[rand(2, 4, 3, 5)]]),
    (batch_norm, [[rand(2, 4, 3, 5), rand(4), rand(4).abs(), rand(4), rand(4)]]),
    (variance, [[rand(8, 16)], [rand(4, 5)]]),
    (statistics, [[rand(8, 16)]]),
    (reductions, [[rand(8, 16)]]),
    (norms, [[rand(8, 16)]]),
    (mixed, [[rand(8, 16), rand(8, 16, dtype=H)]]),
    (half_chain, [[rand(8, 16, dtype=H), rand(8, 16, dtype=H)], [rand(8, 16, dtype=B), rand(8, 16, dtype=B)]]),
    (casts, [[rand(8, 16)]]),
    (integers, [[torch.randint(0, 50, (8, 16), device=DEVICE), torch.randint(0, 50, (16,), device=DEVICE)]]),
    (booleans, [[rand(8, 16), rand(8, 16)]]),
    (choose, [[rand(8, 16), rand(8, 16)]]),
    (
        zero_dim,
        [
            [rand(8, 16), torch.tensor(0.5, device=DEVICE)],
            [rand(8, 16), torch.tensor(0.25, dtype=torch.float64, device=DEVICE)],
        ],
    ),
    (clamp, [[rand(8, 16), -0.5, 0.5], [rand(8, 16), -1.5, 0.1]]),
    (losses, [[rand(8, 16), rand(8, 16)]]),
    (powers, [[rand(8, 16)]]),
    (nans, [[rand(8, 16)]]),
]


@pytest.mark.parametrize("program, calls", CASES, ids=[name_of(case[0]) for case in CASES])
def test_forward(program, calls):
    equals_eager(program, calls)
