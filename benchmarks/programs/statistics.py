"""Scores, histograms, covariances, running quotients."""

import torch

from .program import Table, normal, uniform

TABLE = Table("statistics")


def z_scores(x):
    return ((x - x.mean(0)) / (x.std(0) + 1e-6)).clamp(-3, 3)


def histogram(x):
    edges = torch.linspace(-3, 3, 33, device=x.device, dtype=x.dtype)
    inside = (x[:, None] >= edges[:-1]) & (x[:, None] < edges[1:])
    return inside.sum(0)


def covariance(x, weight):
    weight = weight / weight.sum()
    apart = x - (weight[:, None] * x).sum(0)
    return (weight[:, None] * apart).t() @ apart


def running_quotients(x, y):
    return x.cumsum(-1) / (y.cumsum(-1) + 1e-3)


def kernel_density(x, at):
    apart = (at[:, None] - x[None]) / 0.2
    return torch.exp(-0.5 * apart * apart).mean(1) / (0.2 * 2.5066)


def correlation_rows(x, y):
    x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
    return (x * y).sum(-1) * (x.square().sum(-1) * y.square().sum(-1)).rsqrt()


def moments(x):
    mean = x.mean(-1, keepdim=True)
    apart = x - mean
    square = apart.square().mean(-1)
    return mean[..., 0], square, apart.pow(3).mean(-1) / square.pow(1.5), apart.pow(4).mean(-1) / square.square()


TABLE.add("z-scores of columns", z_scores, lambda n, m: [normal(n, m)], (64, 16), (4096, 64), (262144, 64))
TABLE.add("histogram by comparing", histogram, lambda n: [normal(n)], (512,), (32768,), (1048576,))
TABLE.add(
    "weighted covariance", covariance, lambda n, m: [normal(n, m), uniform(n)], (64, 16), (4096, 64), (262144, 64)
)
TABLE.add(
    "running quotients",
    running_quotients,
    lambda n, m: [normal(n, m), uniform(n, m)],
    (8, 64),
    (256, 1024),
    (4096, 4096),
    tolerance=1e-4,
)
TABLE.add("kernel density", kernel_density, lambda n, m: [normal(n), normal(m)], (128, 16), (2048, 256), (32768, 1024))
TABLE.add(
    "correlation of rows",
    correlation_rows,
    lambda n, m: [normal(n, m), normal(n, m)],
    (8, 64),
    (512, 512),
    (8192, 2048),
)
TABLE.add("four moments of rows", moments, lambda n, m: [normal(n, m)], (8, 64), (512, 512), (8192, 2048))
