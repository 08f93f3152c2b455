"""Windows, running sums, recursive filters, compressed spectra."""

import math

import torch
import torch.nn.functional as F

from .program import Table, normal, uniform

TABLE = Table("signals")


def windowed_frames(x):
    frames = x.unfold(-1, 256, 128)
    window = 0.5 - 0.5 * torch.cos(2 * math.pi * torch.arange(256, device=x.device, dtype=x.dtype) / 256)
    return (frames - frames.mean(-1, keepdim=True)) * window


def moving_average(x):
    total = F.pad(x.cumsum(-1), (1, 0))
    return (total[..., 16:] - total[..., :-16]) / 16


def one_pole_filter(x, a):
    """A recursive filter, unrolled over sixteen samples of each block."""
    y = torch.zeros_like(x[..., 0])
    out = []
    for sample in range(16):
        y = x[..., sample] + a * y
        out.append(y)
    return torch.stack(out, -1)


def compressed_mel(power, bank):
    mel = (power @ bank).clamp(min=1e-10).log10()
    mel = torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8)
    return (mel + 4) / 4


def energy_gate(x):
    frames = x.view(x.shape[0], -1, 64)
    level = frames.square().mean(-1, keepdim=True)
    gate = torch.sigmoid((10 * torch.log10(level + 1e-8) + 30) * 0.5)
    return (frames * gate).view_as(x)


def finite_differences(x):
    d1 = x[..., 1:] - x[..., :-1]
    d2 = d1[..., 1:] - d1[..., :-1]
    return F.pad(d1, (0, 1)), F.pad(d2, (1, 1))


TABLE.add("windowed frames", windowed_frames, lambda n, t: [normal(n, t)], (1, 2048), (4, 65536), (32, 262144))
TABLE.add(
    "moving average", moving_average, lambda n, t: [normal(n, t)], (4, 512), (64, 4096), (512, 32768), tolerance=1e-4
)
TABLE.add(
    "one-pole filter", one_pole_filter, lambda n, t: [normal(n, t, 16), uniform(n, t)], (4, 16), (64, 256), (512, 1024)
)
TABLE.add(
    "log-mel compression",
    compressed_mel,
    lambda n, t: [uniform(n, t, 201), uniform(201, 80)],
    (1, 50),
    (4, 300),
    (32, 3000),
)
TABLE.add("energy gate", energy_gate, lambda n, t: [normal(n, t)], (1, 2048), (8, 65536), (32, 262144))
TABLE.add(
    "first and second differences", finite_differences, lambda n, t: [normal(n, t)], (4, 512), (64, 4096), (512, 32768)
)
