"""Further ordinary programs: particles, fields, boxes, graphs, pixels and sounds."""

import torch
import torch.nn.functional as F

from ..program import Table, boxes, integers, normal, uniform

TABLE = Table("further motions", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def boris(x, v, q):
    dt = 0.05
    for _ in range(3):
        e = -x * 0.1
        b = torch.stack([torch.zeros_like(x[:, 0]), 0.1 * x[:, 0], 1 + 0.1 * x[:, 1]], -1)
        vm = v + q[:, None] * e * (dt / 2)
        t = q[:, None] * b * (dt / 2)
        s = 2 * t / (1 + (t * t).sum(-1, keepdim=True))
        vp = vm + torch.linalg.cross(vm, t)
        v = vm + torch.linalg.cross(vp, s) + q[:, None] * e * (dt / 2)
        x = x + dt * v
    return x, v


add(
    "particles in a magnetic field",
    boris,
    lambda n: [normal(n, 3), normal(n, 3), normal(n)],
    (256,),
    (16384,),
    (524288,),
)


def sph(x, m, h):
    d = x[:, None] - x[None]
    r = (d.square().sum(-1) + 1e-12).sqrt()
    q = r / h
    w = torch.where(q < 1, 1 - 1.5 * q**2 + 0.75 * q**3, torch.where(q < 2, 0.25 * (2 - q) ** 3, torch.zeros_like(q)))
    rho = (w * m).sum(1)
    p = rho**2 * 0.5
    return rho, (p * m / rho).sum()


both("smoothed particles", sph, lambda n: [normal(n, 3), uniform(n) + 0.1, uniform(1) + 0.5], (64,), (512,), (16384,))


def gray_scott(u, v):
    for _ in range(2):

        def lap(a):
            p = F.pad(a[None, None], (1, 1, 1, 1), mode="circular")[0, 0]
            return (
                0.05 * (p[:-2, :-2] + p[:-2, 2:] + p[2:, :-2] + p[2:, 2:])
                + 0.2 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
                - a
            )

        r = u * v * v
        u, v = u + 0.16 * lap(u) - r + 0.035 * (1 - u), v + 0.08 * lap(v) + r - 0.1 * v
    return u, v


both("reaction and diffusion", gray_scott, lambda n: [uniform(n, n), uniform(n, n)], (32,), (256,), (2048,))


def ciou(p, t):
    lt, rb = torch.maximum(p[:, :2], t[:, :2]), torch.minimum(p[:, 2:], t[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh.prod(-1)
    a = p[:, 2:] - p[:, :2]
    b = t[:, 2:] - t[:, :2]
    u = a.prod(-1) + b.prod(-1) - inter
    iou = inter / u.clamp(min=1e-6)
    c = torch.maximum(p[:, 2:], t[:, 2:]) - torch.minimum(p[:, :2], t[:, :2])
    d = ((p[:, :2] + p[:, 2:] - t[:, :2] - t[:, 2:]) / 2).square().sum(-1) / c.square().sum(-1)
    v = 0.405 * (torch.atan(b[:, 0] / b[:, 1]) - torch.atan(a[:, 0] / a[:, 1])).square()
    with torch.no_grad():
        al = v / (1 - iou + v + 1e-6)
    return (1 - iou + d + al * v).mean()


both("complete IoU loss", ciou, lambda n: [boxes(n), boxes(n)], (64,), (8192,), (262144,))


def matrix_nms(b, s):
    s, o = s.sort(descending=True)
    b = b[o]
    lt, rb = torch.maximum(b[:, None, :2], b[None, :, :2]), torch.minimum(b[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    i = wh[..., 0] * wh[..., 1]
    a = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    iou = (i / (a[:, None] + a - i)).triu(1)
    worst = iou.amax(0)
    decay = (torch.exp(-2 * iou**2) / torch.exp(-2 * worst[:, None] ** 2)).amin(0)
    return s * decay, o


add("decayed scores of boxes", matrix_nms, lambda n: [boxes(n), uniform(n)], (64,), (768,), (3072,))


def sage_max(x, src, dst, ws, wn):
    m = torch.full_like(x, -1e4).scatter_reduce(0, dst[:, None].expand(-1, x.shape[1]), x[src], "amax")
    m = torch.where(m < -9e3, torch.zeros_like(m), m)
    return F.normalize(F.relu(x @ ws + m @ wn), dim=-1)


add(
    "maxima of neighbours, normalised",
    sage_max,
    lambda n, e, w: [normal(n, w), integers(n, e), integers(n, e), normal(w, w) / w**0.5, normal(w, w) / w**0.5],
    (64, 256, 16),
    (2048, 16384, 64),
    (65536, 16384, 64),
)


def page_rank(src, dst, w):
    n = 4096 if src.numel() > 1000 else 64
    deg = torch.zeros(n, dtype=w.dtype, device=w.device).index_add(0, src, torch.ones_like(w)).clamp(min=1)
    r = torch.full((n,), 1 / n, dtype=w.dtype, device=w.device)
    for _ in range(5):
        r = 0.15 / n + 0.85 * torch.zeros_like(r).index_add(0, dst, (r / deg)[src])
    return r


add(
    "five steps of page rank",
    page_rank,
    lambda n, e: [integers(n, e), integers(n, e), uniform(e)],
    (64, 256),
    (4096, 32768),
    (4096, 2097152),
)


def dct_shrink(x, d):
    n, h, w = x.shape
    b = x.view(n, h // 8, 8, w // 8, 8).permute(0, 1, 3, 2, 4)
    c = d @ b @ d.t()
    c = c.sign() * (c.abs() - 0.5).clamp(min=0)
    return (d.t() @ c @ d).permute(0, 1, 3, 2, 4).reshape(n, h, w)


add(
    "shrunk cosines of blocks",
    dct_shrink,
    lambda n, h: [normal(n, h, h), normal(8, 8) / 8**0.5],
    (1, 32),
    (4, 256),
    (128, 256),
)


def mix_erase(x, y, perm, lam, box):
    m = x.float().div(255).sub(0.45).div(0.22)
    m = lam[:, None, None, None] * m + (1 - lam)[:, None, None, None] * m[perm]
    r = torch.arange(x.shape[2], device=x.device)
    inside = ((r >= box[:, :1]) & (r < box[:, 1:2]))[:, None, :, None] & ((r >= box[:, 2:3]) & (r < box[:, 3:]))[
        :, None, None, :
    ]
    return m.masked_fill(inside, 0), lam[:, None] * y + (1 - lam)[:, None] * y[perm]


add(
    "bytes mixed and erased",
    mix_erase,
    lambda n, h: [
        integers(256, n, 3, h, h, dtype=torch.uint8),
        uniform(n, 100),
        torch.randperm(n),
        uniform(n),
        integers(h, n, 4),
    ],
    (2, 32),
    (8, 128),
    (256, 128),
)


def centre_crop_flip(x, flip):
    y = x[:, 16:-16, 16:-16].permute(0, 3, 1, 2).float() / 255
    y = torch.where(flip[:, None, None, None], y.flip(-1), y)
    g = (y * y.new_tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    return (g + 1.2 * (y - g)).clamp(0, 1)


add(
    "bytes cropped, flipped at times, saturated",
    centre_crop_flip,
    lambda n, h: [integers(256, n, h, h, 3, dtype=torch.uint8), integers(2, n).bool()],
    (2, 48),
    (8, 160),
    (256, 160),
)


def autocorr(x):
    f = x.unfold(-1, 256, 128) * torch.hann_window(256).to(x)
    f = f - f.mean(-1, keepdim=True)
    e = f.square().sum(-1) + 1e-8
    r = torch.stack([(f[..., lag:] * f[..., :-lag]).sum(-1) / e for lag in range(20, 36)], -1)
    return r.amax(-1), r.argmax(-1) + 20


add("pitch by autocorrelation", autocorr, lambda n, t: [normal(n, t)], (1, 1024), (8, 16384), (256, 16384))
