"""Further ordinary programs: images, detection, graphs, physics, diffusion and statistics."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further scenes")


def bottleneck(x, w1, w2, w3, g, b):
    h = F.relu(F.conv2d(x, w1))
    h = F.relu(F.conv2d(h, w2, padding=1, groups=1))
    h = F.conv2d(h, w3)
    m = h.mean((0, 2, 3), keepdim=True)
    v = h.var((0, 2, 3), keepdim=True, unbiased=False)
    h = (h - m) * (v + 1e-05).rsqrt() * g[:, None, None] + b[:, None, None]
    s = h.mean((2, 3), keepdim=True).sigmoid()
    return F.relu(x + h * s)


def ci(n, c, h):
    return [
        normal(n, c, h, h),
        normal(c // 2, c, 1, 1) / c**0.5,
        normal(c // 2, c // 2, 3, 3) / (4.5 * c) ** 0.5,
        normal(c, c // 2, 1, 1) / (c / 2) ** 0.5,
        normal(c),
        normal(c),
    ]


TABLE.add("bottleneck with gate", bottleneck, ci, (2, 8, 8), (8, 32, 28), (256, 32, 28), tolerance=0.0001)
TABLE.add(
    "bottleneck with gate, trained",
    bottleneck,
    ci,
    (2, 8, 8),
    (8, 32, 28),
    (256, 32, 28),
    trained=True,
    tolerance=0.0001,
)


def patches(x, w, b, p):
    n, c, h, _ = x.shape
    y = x.view(n, c, h // 8, 8, h // 8, 8).permute(0, 2, 4, 1, 3, 5).reshape(n, (h // 8) ** 2, c * 64)
    return F.layer_norm(y @ w + b, (w.shape[1],)) + p


TABLE.add(
    "patches embedded, trained",
    patches,
    lambda n, h, w: [normal(n, 3, h, h), normal(192, w) / 14, normal(w), normal((h // 8) ** 2, w)],
    (1, 32, 32),
    (8, 96, 128),
    (256, 96, 128),
    trained=True,
    tolerance=0.0001,
)


def color_jitter(x, a, b, s):
    y = x.float() / 255
    y = y * a[:, None, None, None]
    m = y.mean((1, 2, 3), keepdim=True)
    y = (y - m) * b[:, None, None, None] + m
    g = (y * y.new_tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(1, keepdim=True)
    return (g + (y - g) * s[:, None, None, None]).clamp(0, 1)


TABLE.add(
    "brightness, contrast, saturation",
    color_jitter,
    lambda n, h: [integers(256, n, 3, h, h, dtype=torch.uint8), uniform(n) + 0.5, uniform(n) + 0.5, uniform(n) + 0.5],
    (1, 32),
    (8, 112),
    (256, 112),
    tolerance=0.0001,
)


def median_like(x):
    p = F.pad(x, (1, 1, 1, 1), mode="reflect")
    w = torch.stack([p[..., i : i + x.shape[-2], j : j + x.shape[-1]] for i in range(3) for j in range(3)])
    return (w - w.mean(0)).abs().amax(0) + w.amin(0)


TABLE.add(
    "extremes of neighbours",
    median_like,
    lambda n, h: [normal(n, 3, h, h)],
    (1, 32),
    (4, 128),
    (128, 128),
    tolerance=0.0001,
)


def fcos_loss(cls, reg, tgt, lab):
    p = cls.sigmoid()
    t = F.one_hot(lab, cls.shape[-1] + 1)[..., 1:].to(cls.dtype)
    ce = F.binary_cross_entropy_with_logits(cls, t, reduction="none")
    pt = p * t + (1 - p) * (1 - t)
    focal = (ce * (1 - pt) ** 2 * (0.25 * t + 0.75 * (1 - t))).sum()
    pos = (lab > 0).to(cls.dtype)
    part, t4 = (reg.exp(), tgt)
    iw = torch.minimum(part[..., 0], t4[..., 0]) + torch.minimum(part[..., 2], t4[..., 2])
    ih = torch.minimum(part[..., 1], t4[..., 1]) + torch.minimum(part[..., 3], t4[..., 3])
    i = iw * ih
    u = (
        (part[..., 0] + part[..., 2]) * (part[..., 1] + part[..., 3])
        + (t4[..., 0] + t4[..., 2]) * (t4[..., 1] + t4[..., 3])
        - i
    )
    return (focal + (-(i / u).clamp(min=1e-06).log() * pos).sum()) / pos.sum().clamp(min=1)


TABLE.add(
    "focal and box losses, trained",
    fcos_loss,
    lambda n, k: [normal(n, k), normal(n, 4) * 0.3, uniform(n, 4) + 0.1, integers(k + 1, n)],
    (64, 5),
    (8192, 20),
    (262144, 20),
    trained=True,
    tolerance=0.0001,
)


def soft_argmax(h):
    n, k, y, x = h.shape
    p = h.flatten(2).softmax(-1).view(n, k, y, x)
    gx = torch.linspace(0, 1, x, device=h.device, dtype=h.dtype)
    gy = torch.linspace(0, 1, y, device=h.device, dtype=h.dtype)
    return torch.stack([(p.sum(2) * gx).sum(-1), (p.sum(3) * gy).sum(-1)], -1)


TABLE.add(
    "key points by soft argmax",
    soft_argmax,
    lambda n, k, h: [normal(n, k, h, h)],
    (1, 4, 16),
    (8, 17, 64),
    (128, 17, 64),
    tolerance=0.0001,
)
TABLE.add(
    "key points by soft argmax, trained",
    soft_argmax,
    lambda n, k, h: [normal(n, k, h, h)],
    (1, 4, 16),
    (8, 17, 64),
    (128, 17, 64),
    trained=True,
    tolerance=0.0001,
)


def egnn(x, h, s, t, w):
    d = x[s] - x[t]
    r = d.square().sum(-1, keepdim=True)
    m = F.silu((h[s] + h[t]) * w + r)
    dx = torch.zeros_like(x).index_add(0, t, d * m.mean(-1, keepdim=True))
    return (x + dx, h + torch.zeros_like(h).index_add(0, t, m))


def ei(n, e, w):
    return [normal(n, 3), normal(n, w), integers(n, e), integers(n, e), normal(w)]


TABLE.add("equivariant messages", egnn, ei, (64, 256, 16), (1024, 8192, 32), (32768, 8192, 32), tolerance=0.0001)
TABLE.add(
    "equivariant messages, trained",
    egnn,
    ei,
    (64, 256, 16),
    (1024, 8192, 32),
    (32768, 8192, 32),
    trained=True,
    tolerance=0.0001,
)


def md_bonds(x, i, j, r0, k):
    d = x[i] - x[j]
    r = d.norm(dim=-1)
    return (0.5 * k * (r - r0).square()).sum()


TABLE.add(
    "bonds by index, trained",
    md_bonds,
    lambda n, m: [normal(n, 3), integers(n, m), integers(n, m) + 0, uniform(m), uniform(m)],
    (64, 256),
    (4096, 16384),
    (131072, 16384),
    trained=True,
    tolerance=0.0001,
)


def maxwell(e, hx, hy):
    hx = hx - 0.5 * (e[:, 1:] - e[:, :-1])
    hy = hy + 0.5 * (e[1:] - e[:-1])
    cur = hy[1:, 1:-1] - hy[:-1, 1:-1] - (hx[1:-1, 1:] - hx[1:-1, :-1])
    return (e + F.pad(0.5 * cur, (1, 1, 1, 1)), hx, hy)


TABLE.add(
    "fields of a staggered grid",
    maxwell,
    lambda n: [normal(n, n), normal(n, n - 1), normal(n - 1, n)],
    (64,),
    (512,),
    (2048,),
    tolerance=0.0001,
)


def lbm(f, w, cx, cy):
    rho = f.sum(0)
    u = (f * cx[:, None, None]).sum(0) / rho
    v = (f * cy[:, None, None]).sum(0) / rho
    cu = cx[:, None, None] * u + cy[:, None, None] * v
    eq = rho * w[:, None, None] * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * (u * u + v * v))
    f = f - 0.6 * (f - eq)
    d = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    return torch.stack([f[i].roll(s, (0, 1)) for i, s in enumerate(d)])


TABLE.add(
    "lattice Boltzmann",
    lbm,
    lambda n: [
        uniform(9, n, n) + 0.5,
        uniform(9) / 9,
        torch.tensor([0.0, 1, 0, -1, 0, 1, -1, -1, 1]),
        torch.tensor([0.0, 0, 1, 0, -1, 1, 1, -1, -1]),
    ],
    (32,),
    (192,),
    (1024,),
    tolerance=0.0001,
)


def ddim(x, e, a, an, sig, noise):
    a, an, sig = (v[:, None, None, None] for v in (a, an, sig))
    x0 = ((x - (1 - a).sqrt() * e) / a.sqrt()).clamp(-1, 1)
    s = x0.abs().flatten(1).amax(-1)[:, None, None, None].clamp(min=1)
    return an.sqrt() * x0 / s + (1 - an - sig**2).clamp(min=0).sqrt() * e + sig * noise


TABLE.add(
    "DDIM step, rescaled",
    ddim,
    lambda n, h: [
        normal(n, 4, h, h),
        normal(n, 4, h, h),
        uniform(n) * 0.5 + 0.3,
        uniform(n) * 0.3 + 0.4,
        uniform(n) * 0.2,
        normal(n, 4, h, h),
    ],
    (1, 16),
    (8, 64),
    (128, 64),
    tolerance=0.0001,
)


def dit_block(x, c, wm, bm, w1, b1, w2, b2):
    s, g, o = (F.silu(c) @ wm + bm)[:, None].chunk(3, -1)
    y = F.layer_norm(x, x.shape[-1:]) * (1 + s) + g
    return x + o * (F.gelu(y @ w1 + b1, approximate="tanh") @ w2 + b2)


def bi(n, part, d):
    return [
        normal(n, part, d),
        normal(n, d),
        normal(d, 3 * d) / d**0.5,
        normal(3 * d),
        normal(d, 4 * d) / d**0.5,
        normal(4 * d),
        normal(4 * d, d) / (2 * d**0.5),
        normal(d),
    ]


TABLE.add("modulated MLP block", dit_block, bi, (1, 8, 32), (8, 64, 128), (256, 64, 128), tolerance=0.0001)
TABLE.add(
    "modulated MLP block, trained",
    dit_block,
    bi,
    (1, 8, 32),
    (8, 64, 128),
    (256, 64, 128),
    trained=True,
    tolerance=0.0001,
)


def corr(x):
    d = x - x.mean(0)
    c = d.t() @ d / (x.shape[0] - 1)
    s = c.diagonal().sqrt()
    return c / (s[:, None] * s)


TABLE.add("correlations", corr, lambda n, m: [normal(n, m)], (64, 16), (2048, 128), (65536, 128), tolerance=0.0001)


def robust(x):
    m = x.mean(-1, keepdim=True)
    s = x.std(-1, keepdim=True)
    for _ in range(3):
        z = ((x - m) / s).abs()
        w = torch.where(z < 1.5, torch.ones_like(z), 1.5 / z)
        m = (w * x).sum(-1, keepdim=True) / w.sum(-1, keepdim=True)
    return m


TABLE.add(
    "robust means of rows", robust, lambda n, m: [normal(n, m)], (16, 64), (256, 1024), (8192, 1024), tolerance=0.0001
)


def kde(x, g):
    return torch.exp(-0.5 * ((g[:, None] - x) / 0.3) ** 2).mean(-1)


TABLE.add(
    "density on a grid", kde, lambda n, g: [normal(n), normal(g)], (64, 32), (2048, 512), (65536, 256), tolerance=0.0001
)
TABLE.add(
    "density on a grid, trained",
    kde,
    lambda n, g: [normal(n), normal(g)],
    (64, 32),
    (2048, 256),
    (65536, 256),
    trained=True,
    tolerance=0.0001,
)
