"""Further ordinary programs: spins, bodies, corners of images, pages of a cache, experts of limited room, transport."""

import math

import torch
import torch.nn.functional as F

from ..program import Table, boxes, integers, normal, uniform

TABLE = Table("further bodies", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def kuramoto(th, om, k):
    def f(x):
        return om + k * torch.sin(x[None, :] - x[:, None]).mean(1)

    h = 0.01
    k1 = f(th)
    k2 = f(th + h / 2 * k1)
    k3 = f(th + h / 2 * k2)
    k4 = f(th + h * k3)
    return torch.remainder(th + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), 2 * math.pi)


both("coupled oscillators", kuramoto, lambda n: [uniform(n, high=6.28), normal(n), normal(1)], (24,), (384,), (12288,))


def ising(s, u, b):
    n = s.shape[-1]
    c = (torch.arange(n, device=s.device)[:, None] + torch.arange(n, device=s.device)[None]) % 2
    for k in (0, 1):
        nb = s.roll(1, -1) + s.roll(-1, -1) + s.roll(1, -2) + s.roll(-1, -2)
        flip = (u[k] < torch.exp(-2 * b * s * nb)) & (c == k)
        s = torch.where(flip, -s, s)
    return (s, s.mean((-1, -2)))


add(
    "spins on a board",
    ising,
    lambda b, n: [torch.sign(normal(b, n, n)), uniform(2, b, n, n), uniform(1)],
    (1, 16),
    (4, 128),
    (128, 128),
)


def rigid(q, w, i, tau):
    w = w + 0.01 * (tau - torch.cross(w, i * w, dim=-1)) / i
    a, v = (q[:, :1], q[:, 1:])
    dq = 0.5 * torch.cat([-(v * w).sum(-1, keepdim=True), a * w + torch.cross(v, w, dim=-1)], -1)
    q = F.normalize(q + 0.01 * dq, dim=-1)
    a, x, y, z = q.unbind(-1)
    r = torch.stack(
        [
            1 - 2 * (y * y + z * z),
            2 * (x * y - z * a),
            2 * (x * z + y * a),
            2 * (x * y + z * a),
            1 - 2 * (x * x + z * z),
            2 * (y * z - x * a),
            2 * (x * z - y * a),
            2 * (y * z + x * a),
            1 - 2 * (x * x + y * y),
        ],
        -1,
    ).view(-1, 3, 3)
    return (q, w, r)


both(
    "rigid bodies by quaternions",
    rigid,
    lambda n: [F.normalize(normal(n, 4), dim=-1), normal(n, 3), uniform(n, 3) + 1, normal(n, 3)],
    (16,),
    (8192,),
    (262144,),
)


def peaks(x, off, wh):
    h = x.sigmoid()
    keep = (F.max_pool2d(h, 3, 1, 1) == h).to(h.dtype)
    s, i = (h * keep).flatten(1).topk(20)
    n = x.shape[-1] * x.shape[-2]
    j = i % n
    o = off.flatten(2).gather(2, j[:, None].expand(-1, 2, -1))
    w = wh.flatten(2).gather(2, j[:, None].expand(-1, 2, -1))
    cx = (j % x.shape[-1]).to(x.dtype) + o[:, 0]
    cy = torch.div(j, x.shape[-1], rounding_mode="floor").to(x.dtype) + o[:, 1]
    return (torch.stack([cx - w[:, 0] / 2, cy - w[:, 1] / 2, cx + w[:, 0] / 2, cy + w[:, 1] / 2], -1), s, i // n)


add(
    "peaks of heat maps",
    peaks,
    lambda b, c, n: [normal(b, c, n, n), uniform(b, 2, n, n), uniform(b, 2, n, n)],
    (1, 4, 16),
    (2, 20, 96),
    (32, 20, 96),
)


def matrix_nms(b, s):
    lt = torch.maximum(b[:, None, :2], b[None, :, :2])
    rb = torch.minimum(b[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    i = wh[..., 0] * wh[..., 1]
    a = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    iou = (i / (a[:, None] + a[None] - i + 1e-09)).triu(1)
    comp = iou.amax(0)
    decay = torch.exp(-2 * (iou**2 - comp[:, None] ** 2)).amin(0)
    return (s * decay, comp)


add("soft suppression of boxes", matrix_nms, lambda n: [boxes(n), uniform(n)], (16,), (500,), (4000,))


def mobile(x, we, ge, be, wd, gd, bd, wp, gp, bp):

    def bn(x, g, b):
        return F.batch_norm(x, None, None, g, b, True)

    h = F.hardswish(bn(F.conv2d(x, we), ge, be))
    h = F.hardswish(bn(F.conv2d(h, wd, padding=1, groups=wd.shape[0]), gd, bd))
    return x + bn(F.conv2d(h, wp), gp, bp)


both(
    "inverted bottleneck",
    mobile,
    lambda n, c, h: [
        normal(n, c, h, h),
        normal(4 * c, c, 1, 1) / c**0.5,
        normal(4 * c),
        normal(4 * c),
        normal(4 * c, 1, 3, 3) / 3,
        normal(4 * c),
        normal(4 * c),
        normal(c, 4 * c, 1, 1) / c**0.5,
        normal(c),
        normal(c),
    ],
    (2, 8, 8),
    (4, 24, 32),
    (128, 24, 32),
)


def harris(x):
    p = F.pad(x, (1, 1, 1, 1), mode="replicate")
    gx = (p[..., 1:-1, 2:] - p[..., 1:-1, :-2]) / 2
    gy = (p[..., 2:, 1:-1] - p[..., :-2, 1:-1]) / 2

    def box(t):
        return F.avg_pool2d(t, 5, 1, 2, count_include_pad=False)

    a, b, c = (box(gx * gx), box(gy * gy), box(gx * gy))
    r = a * b - c * c - 0.05 * (a + b) ** 2
    return torch.where((r == F.max_pool2d(r, 3, 1, 1)) & (r > 0), r, 0.0)


add("corners of images", harris, lambda b, n: [normal(b, 1, n, n)], (1, 16), (2, 192), (64, 192))


def bipartite(u, i, eu, ei):
    x, y = (u, i)
    du = (
        torch.zeros(u.shape[0], device=u.device)
        .index_add(0, eu, torch.ones(eu.shape[0], device=u.device))
        .clamp(min=1)
        .rsqrt()
        .to(u.dtype)
    )
    di = (
        torch.zeros(i.shape[0], device=u.device)
        .index_add(0, ei, torch.ones(ei.shape[0], device=u.device))
        .clamp(min=1)
        .rsqrt()
        .to(u.dtype)
    )
    w = (du[eu] * di[ei])[:, None]
    su, si = (x, y)
    for _ in range(2):
        x, y = (torch.zeros_like(u).index_add(0, eu, y[ei] * w), torch.zeros_like(i).index_add(0, ei, x[eu] * w))
        su, si = (su + x, si + y)
    return (su / 3, si / 3)


both(
    "two layers between users and items",
    bipartite,
    lambda n, m, e, d: [normal(n, d), normal(m, d), integers(n, e), integers(m, e)],
    (12, 16, 60, 8),
    (600, 900, 8000, 32),
    (60000, 90000, 800000, 32),
)


def rwkv(k, v, r, w, u):
    b, t, d = k.shape
    a = torch.zeros(b, d, dtype=k.dtype, device=k.device)
    c = torch.zeros(b, d, dtype=k.dtype, device=k.device)
    m = torch.full((b, d), -1e30, dtype=k.dtype, device=k.device)
    out = []
    for s in range(t):
        q = torch.maximum(m, u + k[:, s])
        e1, e2 = ((m - q).exp(), (u + k[:, s] - q).exp())
        out.append(r[:, s].sigmoid() * (e1 * a + e2 * v[:, s]) / (e1 * c + e2))
        q = torch.maximum(m + w, k[:, s])
        e1, e2 = ((m + w - q).exp(), (k[:, s] - q).exp())
        a, c, m = (e1 * a + e2 * v[:, s], e1 * c + e2, q)
    return torch.stack(out, 1)


both(
    "linear attention by steps",
    rwkv,
    lambda b, t, d: [normal(b, t, d), normal(b, t, d), normal(b, t, d), -uniform(d), normal(d)],
    (2, 6, 8),
    (8, 16, 256),
    (512, 16, 256),
)


def speculate(p, q, toks, u):
    pp = p.softmax(-1).gather(-1, toks[..., None])[..., 0]
    qq = q.softmax(-1).gather(-1, toks[..., None])[..., 0]
    ok = (u < pp / qq).to(torch.int64).cumprod(-1)
    n = ok.sum(-1)
    r = (p.softmax(-1) - q.softmax(-1)).clamp(min=0)
    r = r / r.sum(-1, keepdim=True).clamp(min=1e-09)
    i = n.clamp(max=p.shape[1] - 1)
    return (n, r.gather(1, i[:, None, None].expand(-1, 1, r.shape[-1]))[:, 0].argmax(-1))


add(
    "guessed tokens accepted",
    speculate,
    lambda b, k, v: [normal(b, k, v), normal(b, k, v), integers(v, b, k), uniform(b, k)],
    (2, 3, 64),
    (4, 5, 8192),
    (128, 5, 8192),
)


def paged(q, kc, vc, table, length):
    d = q.shape[-1]
    k = kc[table].flatten(1, 2)
    v = vc[table].flatten(1, 2)
    s = torch.einsum("bhd,bthd->bht", q, k) / d**0.5
    s = s.masked_fill(torch.arange(k.shape[1], device=k.device)[None, None] >= length[:, None, None], -float("inf"))
    return torch.einsum("bht,bthd->bhd", s.softmax(-1), v)


add(
    "attention to pages",
    paged,
    lambda b, h, d, p, n, m: [
        normal(b, h, d),
        normal(n, p, h, d),
        normal(n, p, h, d),
        integers(n, b, m),
        integers(p * m - 1, b) + 1,
    ],
    (2, 2, 8, 4, 8, 3),
    (8, 8, 64, 16, 128, 16),
    (64, 8, 64, 16, 1024, 16),
)


def dispatch(x, wr, w1, w2):
    n, e = (x.shape[0], wr.shape[1])
    cap = 2 * n // e
    p = (x @ wr).softmax(-1)
    g, i = p.max(-1)
    one = F.one_hot(i, e)
    pos = (one.cumsum(0) - 1) * one
    keep = (pos < cap) & (one > 0)
    d = (F.one_hot(pos.clamp(max=cap - 1), cap) * keep[..., None]).to(x.dtype)
    xe = torch.einsum("nec,nd->ecd", d, x)
    h = torch.bmm(F.gelu(torch.bmm(xe, w1)), w2)
    aux = (p.mean(0) * one.to(p.dtype).mean(0)).sum() * e
    return (torch.einsum("nec,ecd->nd", d * g[:, None, None], h), aux)


both(
    "experts of limited room",
    dispatch,
    lambda n, d, e: [normal(n, d), normal(d, e), normal(e, d, 2 * d) / d**0.5, normal(e, 2 * d, d) / d**0.5],
    (16, 8, 4),
    (256, 64, 8),
    (8192, 64, 8),
)


def sinkhorn(x, y):
    c = (x[:, None] - y[None]).square().sum(-1)
    e = 0.5
    f = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
    g = torch.zeros(y.shape[0], dtype=x.dtype, device=x.device)
    for _ in range(5):
        f = -e * torch.logsumexp((g[None] - c) / e - math.log(y.shape[0]), 1)
        g = -e * torch.logsumexp((f[:, None] - c) / e - math.log(x.shape[0]), 0)
    return f.mean() + g.mean()


both("distance by transport", sinkhorn, lambda n, d: [normal(n, d), normal(n, d)], (12, 3), (256, 3), (3072, 3))


def demosaic(raw):
    x = raw.float() / 1023
    r, g1, g2, b = (x[:, ::2, ::2], x[:, ::2, 1::2], x[:, 1::2, ::2], x[:, 1::2, 1::2])
    rgb = torch.stack([r * 1.9, (g1 + g2) / 2, b * 1.6], 1).clamp(0, 1)
    rgb = torch.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb.clamp(min=1e-06) ** (1 / 2.4) - 0.055)
    return (
        (F.interpolate(rgb, scale_factor=2, mode="bilinear", align_corners=False) * 255)
        .round()
        .clamp(0, 255)
        .to(torch.uint8)
    )


add(
    "raw sensor to picture",
    demosaic,
    lambda b, n: [integers(1024, b, n, n, dtype=torch.int32)],
    (1, 16),
    (2, 256),
    (64, 256),
    tolerance=0.01,
)


def ewma(x, a):
    n = x.shape[-1]
    m = x[..., 0]
    v = torch.zeros_like(m)
    out = []
    for t in range(1, n):
        d = x[..., t] - m
        m = m + a * d
        v = (1 - a) * (v + a * d * d)
        out.append(d / (v + 1e-06).sqrt())
    return (torch.stack(out, -1), m)


both("running z-scores", ewma, lambda b, n: [normal(b, n), uniform(1)], (4, 6), (2048, 16), (65536, 16))


def maha(x, mu, L, lw):
    d = x[:, None] - mu
    z = torch.einsum("kij,nkj->nki", L, d)
    q = z.square().sum(-1)
    ld = torch.diagonal(L, dim1=-2, dim2=-1).abs().log().sum(-1)
    return torch.logsumexp(lw.log_softmax(0) + ld - 0.5 * q - 0.919 * x.shape[1], 1).mean()


both(
    "Gaussians with full precision",
    maha,
    lambda n, k, d: [normal(n, d), normal(k, d), normal(k, d, d) / d**0.5 + torch.eye(d), normal(k)],
    (16, 3, 4),
    (2048, 8, 8),
    (65536, 8, 8),
)
