"""Signals, statistics, optimizers, physics."""

import torch
import torch.nn.functional as F

from ..program import Table, normal, uniform

TABLE = Table("further numbers", tolerance=1e-4)
add = TABLE.add


# Signals


def overlap_add(f, w):
    f = f * w
    a, b = f.chunk(2, -1)
    return (F.pad(a, (0, 0, 0, 1)) + F.pad(b, (0, 0, 1, 0))).flatten(1)


add(
    "overlap and add",
    overlap_add,
    lambda n, k, size: [normal(n, k, size), uniform(size)],
    (1, 8, 64),
    (8, 128, 512),
    (128, 128, 512),
)


def preemph(x):
    y = torch.cat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], 1)
    p = F.pad(y[:, None], (200, 200), mode="reflect")[:, 0]
    return p.unfold(-1, 400, 160) * torch.hann_window(400, device=x.device, dtype=x.dtype)


add(
    "pre-emphasis and frames, reflect",
    preemph,
    lambda n, t: [normal(n, t)],
    (1, 1600),
    (8, 16000),
    (256, 16000),
)


def envelope(x):
    p = F.pad(x[:, None].abs(), (4, 4), mode="replicate")[:, 0]
    return p.unfold(-1, 9, 1).amax(-1)


add(
    "envelope by maxima, replicate",
    envelope,
    lambda n, t: [normal(n, t)],
    (2, 512),
    (16, 16384),
    (512, 16384),
)


def reverse_echo(x, g):
    return x + g * x.flip(-1) + 0.25 * x.roll(100, -1)


add(
    "reversed echo",
    reverse_echo,
    lambda n, t: [normal(n, t), uniform(n, 1)],
    (2, 512),
    (16, 16384),
    (512, 16384),
)


# Statistics


def skew(x, w):
    w = w / w.sum()
    m = (x * w[:, None]).sum(0)
    d = x - m
    v = (d * d * w[:, None]).sum(0)
    return (d**3 * w[:, None]).sum(0) / v**1.5


add(
    "weighted skewness of columns",
    skew,
    lambda n, m: [normal(n, m), uniform(n)],
    (64, 16),
    (4096, 64),
    (131072, 64),
)


def ewma(x):
    a = 0.9
    t = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
    w = a ** (x.shape[1] - 1 - t)
    m = (x * w).sum(1) / w.sum()
    return m, (((x - m[:, None]) ** 2 * w).sum(1) / w.sum()).sqrt()


add("weighted means of series", ewma, lambda n, t: [normal(n, t)], (8, 64), (512, 512), (16384, 512))


def mmd(x, y):
    def k(a, b):
        d = (a * a).sum(-1)[:, None] + (b * b).sum(-1) - 2 * a @ b.t()
        return sum(torch.exp(-d / (2 * s)) for s in (1.0, 4.0, 16.0))

    return k(x, x).mean() + k(y, y).mean() - 2 * k(x, y).mean()


add(
    "kernel discrepancy, trained",
    mmd,
    lambda n, w: [normal(n, w), normal(n, w)],
    (32, 8),
    (512, 32),
    (16384, 32),
    trained=True,
)


def entropy_hist(x):
    p = F.one_hot((x * 16).long().clamp(0, 15), 16).to(x.dtype).mean(1)
    return -(p * (p + 1e-9).log()).sum(-1)


add(
    "entropy of histograms",
    entropy_hist,
    lambda n, t: [uniform(n, t)],
    (4, 64),
    (64, 2048),
    (2048, 2048),
)


# Optimizers


def rmsprop(*a):
    k = len(a) // 3
    for p, g, v in zip(a[:k], a[k : 2 * k], a[2 * k :], strict=True):
        v.mul_(0.99).addcmul_(g, g, value=0.01)
        p.addcdiv_(g, v.sqrt() + 1e-8, value=-1e-3)


def _t(c):
    return lambda n, m, k: [normal(n, m).abs() for _ in range(c * k)]


add("RMSprop", rmsprop, _t(3), (16, 16, 6), (128, 256, 6), (2048, 256, 6))


def nadam_like(*a):
    k = len(a) // 4
    out = []
    for p, g, m, v in zip(a[:k], a[k : 2 * k], a[2 * k : 3 * k], a[3 * k :], strict=True):
        m2 = 0.9 * m + 0.1 * g
        v2 = 0.999 * v + 0.001 * g * g
        u = (0.9 * m2 + 0.1 * g) / (v2.sqrt() + 1e-8)
        r = p.norm() / (u.norm() + 1e-6)
        out += [p - 1e-3 * r.clamp(max=10) * u, m2, v2]
    return out


add("LAMB-like", nadam_like, _t(4), (16, 16, 6), (128, 256, 6), (1024, 256, 6))


# Physics


def lj_forces(x, box):
    d = x[:, None] - x[None]
    d = d - box * (d / box).round()
    r2 = d.square().sum(-1) + torch.eye(x.shape[0], device=x.device, dtype=x.dtype)
    i6 = r2.reciprocal() ** 3
    f = (48 * i6 * i6 - 24 * i6) / r2
    f = f * (r2 < 9)
    return (f[..., None] * d).sum(1)


add(
    "periodic forces",
    lj_forces,
    lambda n: [uniform(n, 3) * 6, uniform(1) + 6],
    (64,),
    (512,),
    (16384,),
    tolerance=1e-3,
)


def burgers(u):
    f = 0.5 * u * u
    a = torch.maximum(u.abs(), u.roll(-1, -1).abs())
    flux = 0.5 * (f + f.roll(-1, -1)) - 0.5 * a * (u.roll(-1, -1) - u)
    return u - 0.2 * (flux - flux.roll(1, -1))


add(
    "Burgers, Lax-Friedrichs",
    burgers,
    lambda n, m: [normal(n, m)],
    (8, 64),
    (256, 1024),
    (8192, 1024),
)


def shallow(h, u, v):
    def dx(a):
        return (a.roll(-1, 1) - a.roll(1, 1)) * 0.5

    def dy(a):
        return (a.roll(-1, 0) - a.roll(1, 0)) * 0.5

    return (
        h - 0.1 * (dx(h * u) + dy(h * v)),
        u - 0.1 * (u * dx(u) + v * dy(u) + dx(h)),
        v - 0.1 * (u * dx(v) + v * dy(v) + dy(h)),
    )


add(
    "shallow water",
    shallow,
    lambda n: [normal(n, n) + 5, normal(n, n), normal(n, n)],
    (64,),
    (384,),
    (1536,),
)


def spring(x, v, k):
    e = 0.5 * (k * (x[1:] - x[:-1]).square().sum(-1)).sum() + 0.5 * v.square().sum()
    return e


add(
    "chain of springs, trained",
    spring,
    lambda n: [normal(n, 3), normal(n, 3), uniform(n - 1)],
    (64,),
    (32768,),
    (1048576,),
    trained=True,
)
