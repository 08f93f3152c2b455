"""Further ordinary programs: flows, chains of atoms, regions of images, relations of graphs, frames, ranks."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further fields", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def flow(u, v):
    d = 0.5 * (u.roll(-1, -1) - u.roll(1, -1) + v.roll(-1, -2) - v.roll(1, -2))
    p = torch.zeros_like(d)
    for _ in range(4):
        p = 0.25 * (p.roll(1, -1) + p.roll(-1, -1) + p.roll(1, -2) + p.roll(-1, -2) - d)
    return u - 0.5 * (p.roll(-1, -1) - p.roll(1, -1)), v - 0.5 * (p.roll(-1, -2) - p.roll(1, -2))


both("projection of a flow", flow, lambda n: [normal(n, n), normal(n, n)], (16,), (192,), (3072,))


def torsion(x):
    b = x[:, 1:] - x[:, :-1]
    b0, b1, b2 = b[:, :-2], b[:, 1:-1], b[:, 2:]
    n1, n2 = torch.cross(b0, b1, dim=-1), torch.cross(b1, b2, dim=-1)
    m = torch.cross(n1, b1 / b1.norm(dim=-1, keepdim=True), dim=-1)
    phi = torch.atan2((m * n2).sum(-1), (n1 * n2).sum(-1))
    return (1 + torch.cos(3 * phi)).sum(-1), phi


both("torsion of chains", torsion, lambda b, n: [normal(b, n, 3)], (4, 16), (64, 128), (2048, 128), tolerance=1e-3)


def regions(f, box):
    g = (torch.arange(7, device=f.device) + 0.5) / 7
    h, w = f.shape[1:]
    y = (box[:, 1, None] + (box[:, 3] - box[:, 1])[:, None] * g) * (h - 1)
    x = (box[:, 0, None] + (box[:, 2] - box[:, 0])[:, None] * g) * (w - 1)
    y0, x0 = y.floor().long().clamp(0, h - 2), x.floor().long().clamp(0, w - 2)
    wy, wx = (y - y0)[:, :, None], (x - x0)[:, None, :]
    yy, xx = y0[:, :, None], x0[:, None, :]
    above = f[:, yy, xx] * (1 - wx) + f[:, yy, xx + 1] * wx
    below = f[:, yy + 1, xx] * (1 - wx) + f[:, yy + 1, xx + 1] * wx
    return (above * (1 - wy) + below * wy).permute(1, 0, 2, 3)


add(
    "regions by bilinear samples",
    regions,
    lambda c, n, k: [normal(c, n, n), uniform(k, 4)],
    (8, 16, 4),
    (64, 50, 64),
    (2048, 50, 64),
)


def relations(h, src, dst, rel, r, a):
    m = h[src] * r[rel]
    s = F.leaky_relu((m * a).sum(-1), 0.2)
    top = h.new_full((h.shape[0],), -1e30).scatter_reduce(0, dst, s, "amax")
    e = (s - top[dst]).exp()
    z = h.new_zeros(h.shape[0]).index_add(0, dst, e)
    return F.elu(torch.zeros_like(h).index_add(0, dst, m * (e / z[dst].clamp(min=1e-9))[:, None]))


both(
    "attention by relations",
    relations,
    lambda n, e, w, k: [
        normal(n, w), integers(n, e), integers(n, e), integers(k, e), normal(k, w), normal(w)
    ],
    (32, 128, 16, 4),
    (1024, 8192, 48, 12), (32768, 8192, 48, 12),
)  # fmt: skip


def sampled(ids, v, u, pos, neg):
    e = v[ids]
    s = e.sum(1)
    q = F.normalize(s * s - (e * e).sum(1), dim=-1)
    scores = torch.cat([(q * u[pos]).sum(-1, keepdim=True), q @ u[neg].t()], 1) * 10
    return F.cross_entropy(scores, torch.zeros_like(pos))


add(
    "crosses and sampled softmax, trained",
    sampled,
    lambda b, f, n, k, m: [integers(n, b, f), normal(n, k), normal(n, k), integers(n, b), integers(n, m)],
    (16, 4, 64, 8, 8),
    (512, 12, 4096, 32, 64),
    (16384, 12, 4096, 32, 64),
    trained=True,
)


def rotating(x, nu, th, g):
    r = torch.exp(-torch.exp(nu))
    c, s = r * torch.cos(th), r * torch.sin(th)
    a = x.new_zeros(x.shape[0], x.shape[2])
    b = a
    ys = []
    for t in range(x.shape[1]):
        a, b = c * a - s * b + g * x[:, t], s * a + c * b
        ys.append(F.gelu(a) * torch.sigmoid(b))
    return torch.stack(ys, 1)


both(
    "rotating linear units",
    rotating,
    lambda n, t, w: [normal(n, t, w), normal(w), normal(w), normal(w)],
    (2, 6, 16),
    (32, 12, 256),
    (1024, 12, 256),
)


def low_rank(x, wr, a, b):
    scores = x @ wr
    p = scores.softmax(-1)
    v, i = p.topk(2, -1)
    g = torch.zeros_like(p).scatter(1, i, v / v.sum(-1, keepdim=True))
    h = torch.einsum("nd,edr->ner", x, a)
    y = torch.einsum("ner,erd->nd", F.silu(h) * g[..., None], b)
    return y, scores.logsumexp(-1).square().mean() + (g.mean(0) * p.mean(0)).sum() * p.shape[1]


both(
    "low rank experts",
    low_rank,
    lambda n, d, e, r: [normal(n, d), normal(d, e), normal(e, d, r) / d**0.5, normal(e, r, d) / r**0.5],
    (16, 8, 4, 2),
    (512, 64, 8, 8),
    (16384, 64, 8, 8),
)


def overlaps(z, y, w):
    p = torch.sigmoid(z)
    i, s = (p * y).sum((-1, -2)), (p + y).sum((-1, -2))
    dice = 1 - (2 * i + 1) / (s + 1)
    weighed = 0.3 * (p * (1 - y)).sum((-1, -2)) + 0.7 * ((1 - p) * y).sum((-1, -2))
    entropy = F.binary_cross_entropy_with_logits(z, y, reduction="none")
    focal = (entropy * (1 - (p * y + (1 - p) * (1 - y))).square() * w).mean((-1, -2))
    return (dice + 1 - (i + 1) / (i + weighed + 1) + focal).mean()


add(
    "overlap losses of masks, trained",
    overlaps,
    lambda b, c, n: [normal(b, c, n, n), uniform(b, c, n, n).round(), uniform(b, 1, n, n)],
    (1, 2, 16),
    (4, 4, 96),
    (128, 4, 96),
    trained=True,
)


def frames(x, w):
    f = x.unfold(-1, 256, 128) * w
    e = f.square().mean(-1)
    z = ((f[..., 1:] * f[..., :-1]) < 0).to(x.dtype).mean(-1)
    lags = [(f[..., k:] * f[..., : 256 - k]).sum(-1) for k in (1, 2, 4, 8)]
    return e.log1p(), z, torch.stack(lags, -1) / (e[..., None] * 256 + 1e-6)


both("features of frames", frames, lambda b, t: [normal(b, t), uniform(256)], (1, 1024), (8, 16384), (256, 16384))


def ranks(x, y):
    rx = torch.sigmoid((x[:, :, None] - x[:, None, :]) * 5).sum(-1)
    ry = torch.sigmoid((y[:, :, None] - y[:, None, :]) * 5).sum(-1)
    a, b = rx - rx.mean(-1, keepdim=True), ry - ry.mean(-1, keepdim=True)
    return 2 * (a * b).mean(-1) / (a.square().mean(-1) + b.square().mean(-1))


both("concordance of soft ranks", ranks, lambda b, n: [normal(b, n), normal(b, n)], (2, 16), (8, 192), (256, 192))


def windows(q, k, v, table, idx):
    a = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + table[idx].permute(2, 0, 1)
    return (a.softmax(-1) @ v).transpose(1, 2).flatten(2)


both(
    "windows with positions",
    windows,
    lambda b, h, n, d: [*(normal(b, h, n, d) for _ in range(3)), normal(225, h), integers(225, n, n)],
    (2, 2, 16, 8),
    (16, 4, 64, 32),
    (256, 4, 64, 32),
)
