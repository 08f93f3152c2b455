"""Graphs, recommenders, losses."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further data", tolerance=1e-4)
add = TABLE.add


# Graphs


def gat_edge(x, a_src, a_dst, s, t):
    e = F.leaky_relu((x * a_src).sum(-1)[s] + (x * a_dst).sum(-1)[t], 0.2)
    e = (e - e.max()).exp()
    z = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device).index_add(0, t, e)
    w = e / (z[t] + 1e-9)
    return torch.zeros_like(x).index_add(0, t, x[s] * w[:, None])


add(
    "attention on edges",
    gat_edge,
    lambda n, e, w: [
        normal(n, w),
        normal(w),
        normal(w),
        integers(n, e),
        integers(n, e),
    ],
    (64, 256, 16),
    (1024, 8192, 32),
    (32768, 8192, 32),
)
add(
    "attention on edges, trained",
    gat_edge,
    lambda n, e, w: [
        normal(n, w),
        normal(w),
        normal(w),
        integers(n, e),
        integers(n, e),
    ],
    (64, 256, 16),
    (1024, 8192, 32),
    (32768, 8192, 32),
    trained=True,
)


def pooled(x, batch, n=32):
    s = torch.zeros(n, x.shape[1], dtype=x.dtype, device=x.device).index_add(0, batch, x)
    c = torch.zeros(n, dtype=x.dtype, device=x.device).index_add(0, batch, torch.ones_like(batch, dtype=x.dtype))
    return s / c.clamp(min=1)[:, None]


add(
    "means of graphs",
    pooled,
    lambda n, w: [normal(n, w), integers(32, n)],
    (128, 16),
    (8192, 64),
    (131072, 64),
)


# Recommenders


def deep_fm(ids, table, bias, w1, b1, w2):
    v = table[ids]
    s = v.sum(1)
    second = 0.5 * (s * s - (v * v).sum(1)).sum(-1)
    deep = F.relu(v.flatten(1) @ w1 + b1) @ w2
    return (bias[ids].sum(1) + second + deep[:, 0]).sigmoid()


add(
    "deep factorisation",
    deep_fm,
    lambda n, f, w: [
        integers(500, n, f),
        normal(500, w),
        normal(500),
        normal(f * w, 32) / 8,
        normal(32),
        normal(32, 1) / 6,
    ],
    (16, 8, 8),
    (512, 24, 16),
    (16384, 24, 16),
)
add(
    "deep factorisation, trained",
    deep_fm,
    lambda n, f, w: [
        integers(500, n, f),
        normal(500, w),
        normal(500),
        normal(f * w, 32) / 8,
        normal(32),
        normal(32, 1) / 6,
    ],
    (16, 8, 8),
    (512, 24, 16),
    (16384, 24, 16),
    trained=True,
)


def bpr(u, i, j):
    return -F.logsigmoid((u * i).sum(-1) - (u * j).sum(-1)).mean() + 0.01 * (
        u.square().mean() + i.square().mean() + j.square().mean()
    )


add(
    "pairwise ranking, trained",
    bpr,
    lambda n, w: [normal(n, w) for _ in range(3)],
    (32, 16),
    (4096, 64),
    (32768, 64),
    trained=True,
)


# Losses


def triplet(a, p, n):
    return F.relu((a - p).norm(dim=-1) - (a - n).norm(dim=-1) + 0.2).mean()


add(
    "triplets, trained",
    triplet,
    lambda n, w: [normal(n, w) for _ in range(3)],
    (32, 16),
    (2048, 128),
    (16384, 128),
    trained=True,
)


def quantile(x, y, q):
    d = y[:, None] - x
    return torch.maximum(q * d, (q - 1) * d).mean()


add(
    "quantiles, trained",
    quantile,
    lambda n, m: [normal(n, m), normal(n), uniform(m)],
    (64, 5),
    (16384, 9),
    (524288, 9),
    trained=True,
)


def mixture_nll(x, mu, ls, lw):
    d = (x[:, None] - mu) * (-ls).exp()
    return -torch.logsumexp(F.log_softmax(lw, -1) - 0.5 * d * d - ls, -1).mean()


add(
    "mixture of Gaussians, trained",
    mixture_nll,
    lambda n, k: [normal(n), normal(n, k), normal(n, k) * 0.1, normal(n, k)],
    (64, 4),
    (8192, 8),
    (262144, 8),
    trained=True,
)


def ssim(x, y):
    k = 3
    mx, my = F.avg_pool2d(x, k, 1), F.avg_pool2d(y, k, 1)
    sx = F.avg_pool2d(x * x, k, 1) - mx * mx
    sy = F.avg_pool2d(y * y, k, 1) - my * my
    sxy = F.avg_pool2d(x * y, k, 1) - mx * my
    return (((2 * mx * my + 1e-4) * (2 * sxy + 9e-4)) / ((mx * mx + my * my + 1e-4) * (sx + sy + 9e-4))).mean()


add(
    "structural similarity",
    ssim,
    lambda n, h: [uniform(n, 3, h, h), uniform(n, 3, h, h)],
    (1, 16),
    (4, 96),
    (128, 96),
)
add(
    "structural similarity, trained",
    ssim,
    lambda n, h: [uniform(n, 3, h, h), uniform(n, 3, h, h)],
    (1, 16),
    (4, 96),
    (128, 96),
    trained=True,
)


def tv(x):
    return (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean()


add(
    "total variation, trained",
    tv,
    lambda n, h: [normal(n, 3, h, h)],
    (1, 16),
    (4, 128),
    (128, 128),
    trained=True,
)
