"""Further ordinary programs: recommenders, experts, losses, optimizers and small nets that are trained."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further learning")


def two_tower(u, i, wu, wi, b):
    a = F.normalize(F.relu(u @ wu + b), dim=-1)
    c = F.normalize(F.relu(i @ wi + b), dim=-1)
    part = a @ c.t() / 0.07
    y = torch.arange(u.shape[0], device=u.device)
    return F.cross_entropy(part, y) + F.cross_entropy(part.t(), y)


TABLE.add(
    "two towers, trained",
    two_tower,
    lambda n, w: [normal(n, w), normal(n, w), normal(w, w) / w**0.5, normal(w, w) / w**0.5, normal(w)],
    (16, 16),
    (256, 64),
    (8192, 64),
    trained=True,
    tolerance=0.0001,
)


def din(q, k, m, w1, b1, w2):
    z = torch.cat([q[:, None].expand_as(k), k, q[:, None] - k, q[:, None] * k], -1)
    s = (F.silu(z @ w1 + b1) @ w2)[..., 0]
    p = s.masked_fill(m, -1000000000.0).softmax(-1)
    return (p[..., None] * k).sum(1)


def di(n, t, w):
    return [
        normal(n, w),
        normal(n, t, w),
        integers(4, n, t) == 0,
        normal(4 * w, 16) / (2 * w**0.5),
        normal(16),
        normal(16, 1) / 4,
    ]


TABLE.add("interest in a history", din, di, (4, 8, 8), (128, 32, 32), (4096, 32, 32), tolerance=0.0001)
TABLE.add(
    "interest in a history, trained", din, di, (4, 8, 8), (128, 32, 32), (4096, 32, 32), trained=True, tolerance=0.0001
)


def switch(x, wg, w1, w2):
    p = (x @ wg).softmax(-1)
    g, e = p.max(-1)
    h = F.relu(torch.einsum("nd,edf->enf", x, w1))
    y = torch.einsum("enf,efd->end", h, w2)
    m = F.one_hot(e, wg.shape[1]).to(x.dtype)
    return ((y * (m * g[:, None]).t()[..., None]).sum(0), (m.mean(0) * p.mean(0)).sum() * wg.shape[1])


def xi(n, d, e):
    return [normal(n, d), normal(d, e) / d**0.5, normal(e, d, d) / d**0.5, normal(e, d, d) / d**0.5]


TABLE.add("switched experts", switch, xi, (16, 16, 4), (256, 64, 4), (8192, 64, 4), tolerance=0.0001)
TABLE.add(
    "switched experts, trained", switch, xi, (16, 16, 4), (256, 64, 4), (8192, 64, 4), trained=True, tolerance=0.0001
)


def distill(s, t, y):
    k = F.kl_div(F.log_softmax(s / 2, -1), F.softmax(t / 2, -1), reduction="batchmean") * 4
    return k + F.cross_entropy(s, y, label_smoothing=0.1)


TABLE.add(
    "distilled and smoothed, trained",
    distill,
    lambda n, c: [normal(n, c), normal(n, c), integers(c, n)],
    (16, 10),
    (512, 1000),
    (4096, 1000),
    trained=True,
    tolerance=0.0001,
)


def barlow(a, b):
    a = (a - a.mean(0)) / a.std(0)
    b = (b - b.mean(0)) / b.std(0)
    c = a.t() @ b / a.shape[0]
    d = torch.eye(c.shape[0], device=c.device, dtype=c.dtype)
    return ((c - d).square() * (d + 0.005 * (1 - d))).sum()


TABLE.add(
    "cross-correlation loss, trained",
    barlow,
    lambda n, w: [normal(n, w), normal(n, w)],
    (32, 16),
    (512, 256),
    (16384, 256),
    trained=True,
    tolerance=0.0001,
)


def supcon(z, y):
    z = F.normalize(z, dim=-1)
    s = z @ z.t() / 0.1
    eye = torch.eye(z.shape[0], device=z.device, dtype=torch.bool)
    pos = (y[:, None] == y) & ~eye
    lp = s - s.masked_fill(eye, float("-inf")).logsumexp(-1, keepdim=True)
    return -((lp * pos).sum(-1) / pos.sum(-1).clamp(min=1)).mean()


TABLE.add(
    "supervised contrast, trained",
    supcon,
    lambda n, w: [normal(n, w), integers(10, n)],
    (32, 16),
    (512, 64),
    (4096, 64),
    trained=True,
    tolerance=0.0001,
)


def lion(*a):
    k = len(a) // 3
    for p, g, m in zip(a[:k], a[k : 2 * k], a[2 * k :], strict=True):
        u = (0.9 * m + 0.1 * g).sign()
        p.mul_(1 - 0.0001).add_(u, alpha=-0.001)
        m.mul_(0.99).add_(g, alpha=0.01)


TABLE.add(
    "Lion in place",
    lion,
    lambda n, m, k: [normal(n, m) for _ in range(3 * k)],
    (16, 16, 8),
    (128, 256, 8),
    (1024, 256, 8),
    tolerance=0.0001,
)


def adafactor(p, g, r, c):
    s = g * g + 1e-30
    r2 = 0.99 * r + 0.01 * s.mean(-1)
    c2 = 0.99 * c + 0.01 * s.mean(-2)
    v = (r2 / r2.mean(-1, keepdim=True))[..., None] * c2[..., None, :]
    u = g * v.rsqrt()
    u = u / u.square().mean().sqrt().clamp(min=1)
    return (p - 0.01 * u, r2, c2)


TABLE.add(
    "Adafactor, clipped",
    adafactor,
    lambda n, m: [normal(n, m), normal(n, m), uniform(n), uniform(m)],
    (16, 32),
    (768, 1024),
    (3072, 1024),
    tolerance=0.001,
)


def residual_mlp(x, y, w0, b0, w1, b1, w2, b2, g, b, wo):
    h = x @ w0 + b0
    for w, c in ((w1, b1), (w2, b2)):
        h = h + F.dropout(F.silu(F.layer_norm(h, h.shape[-1:], g, b) @ w + c), 0.0)
    return F.smooth_l1_loss((h @ wo)[:, 0], y)


TABLE.add(
    "residual MLP, trained",
    residual_mlp,
    lambda n, d, w: [
        normal(n, d),
        normal(n),
        normal(d, w) / d**0.5,
        normal(w),
        normal(w, w) / w**0.5,
        normal(w),
        normal(w, w) / w**0.5,
        normal(w),
        normal(w),
        normal(w),
        normal(w, 1) / w**0.5,
    ],
    (16, 8, 32),
    (256, 32, 128),
    (8192, 32, 128),
    trained=True,
    tolerance=0.0001,
)


def siren(c, y, w0, b0, w1, b1, w2):
    h = torch.sin(30 * (c @ w0 + b0))
    h = torch.sin(h @ w1 + b1)
    return (h @ w2 - y).square().mean()


TABLE.add(
    "sine net of coordinates, trained",
    siren,
    lambda n, w: [
        uniform(n, 2),
        normal(n, 3),
        normal(2, w) / 30,
        normal(w) / 30,
        normal(w, w) / w**0.5,
        normal(w),
        normal(w, 3) / w**0.5,
    ],
    (64, 16),
    (2048, 64),
    (65536, 64),
    trained=True,
    tolerance=0.001,
)


def ppo(obs, act, old, adv, ret, w1, b1, wp, wv):
    h = torch.tanh(obs @ w1 + b1)
    lp = F.log_softmax(h @ wp, -1)
    v = (h @ wv)[:, 0]
    r = (lp.gather(1, act[:, None])[:, 0] - old).exp()
    pg = -torch.minimum(r * adv, r.clamp(0.8, 1.2) * adv).mean()
    return pg + 0.5 * (v - ret).square().mean() - 0.01 * -(lp.exp() * lp).sum(-1).mean()


TABLE.add(
    "policy and value, trained",
    ppo,
    lambda n, d, w, k: [
        normal(n, d),
        integers(k, n),
        -uniform(n) * 2,
        normal(n),
        normal(n),
        normal(d, w) / d**0.5,
        normal(w),
        normal(w, k) / w**0.5,
        normal(w, 1) / w**0.5,
    ],
    (32, 8, 16, 4),
    (2048, 16, 64, 6),
    (65536, 16, 64, 6),
    trained=True,
    tolerance=0.0001,
)


def tcn(x, w1, w2, b1, b2):
    h = F.relu(F.conv1d(F.pad(x, (2, 0)), w1, b1))
    h = F.relu(F.conv1d(F.pad(h, (4, 0)), w2, b2, dilation=2))
    return F.relu(x + h)


TABLE.add(
    "causal convolutions, trained",
    tcn,
    lambda n, c, t: [
        normal(n, c, t),
        normal(c, c, 3) / (3 * c) ** 0.5,
        normal(c, c, 3) / (3 * c) ** 0.5,
        normal(c),
        normal(c),
    ],
    (2, 8, 32),
    (16, 32, 256),
    (512, 32, 256),
    trained=True,
    tolerance=0.0001,
)
