"""Copies at an index and of short runs, scores under a mask, and what is computed of few numbers for many elements."""

import torch

from ..program import Table, integers, normal, uniform

TABLE = Table("further moves", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def chroma(c):
    return c.repeat_interleave(2, 0).repeat_interleave(2, 1)


add(
    "chroma of half the size",
    chroma,
    lambda h, w: [integers(256, h, w, 2, dtype=torch.uint8)],
    (20, 30),
    (270, 480),
    (1080, 1920),
)


def nearest_columns(x):
    return x[:, torch.arange(2 * x.shape[1], device=x.device) // 2]


add("columns at known places", nearest_columns, lambda n, w: [normal(n, w, 2)], (20, 30), (500, 480), (2000, 1920))


add(
    "rows in another order",
    lambda x, order: x[order],
    lambda n, d: [normal(n, d), torch.randperm(n)],
    (100, 16),
    (20000, 64),
    (200000, 128),
)


def masked_softmax(scores, allowed):
    return (scores * 0.125).masked_fill(~allowed, float("-inf")).softmax(-1)


both(
    "scores under a mask",
    masked_softmax,
    lambda b, t: [normal(b, t, t), torch.ones(t, t, dtype=torch.bool).tril()],
    (2, 33),
    (8, 256),
    (64, 1024),
)


def gathered_focal(x, label):
    p = x.sigmoid()
    negative = -0.75 * p**2 * (1 - p + 1e-8).log()
    positive = -0.25 * (1 - p) ** 2 * (p + 1e-8).log()
    return positive[:, label] - negative[:, label]


add(
    "focal terms of all pairs",
    gathered_focal,
    lambda n, classes, boxes: [normal(n, classes), integers(classes, boxes)],
    (60, 20, 30),
    (2400, 80, 192),
    (20000, 80, 400),
)


def ranks_with_gains(scores, gains):
    ranks = torch.sigmoid((scores[:, None] - scores[:, :, None]) / 0.1).sum(-1)
    return ((2**gains - 1) / (1 + ranks).log2()).sum()


both(
    "gains by smooth ranks",
    ranks_with_gains,
    lambda n, k: [normal(n, k) * 0.1, integers(5, n, k)],
    (4, 16),
    (64, 120),
    (512, 200),
)


def log_densities(x, mean, variance, weight):
    each = -0.5 * ((x[:, None] - mean) ** 2 / variance + variance.log()).sum(-1) + (weight / weight.sum()).log()
    return (each - each.logsumexp(1, keepdim=True)).exp()


add(
    "responsibilities of components",
    log_densities,
    lambda n, k, d: [normal(n, d), normal(k, d), uniform(k, d) + 0.3, uniform(k)],
    (50, 4, 8),
    (20000, 16, 16),
    (200000, 32, 32),
)
