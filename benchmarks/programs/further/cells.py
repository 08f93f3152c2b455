"""Further ordinary programs: recurrent cells, decoding, experts, losses, statistics, optimizers, nets."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further cells", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def dcn(x, w, b, u, v):
    y = x
    for i in range(3):
        y = x * ((y @ u[i]) @ v[i] + b[i]) + y
    return (y @ w).sigmoid()


both(
    "crossed features",
    dcn,
    lambda n, d, r: [
        normal(n, d),
        normal(d, 1) / d**0.5,
        normal(3, d),
        normal(3, d, r) / d**0.5,
        normal(3, r, d) / r**0.5,
    ],
    (16, 32, 8),
    (1024, 128, 32),
    (32768, 128, 32),
)


def ln_lstm(x, wx, wh, g, b):
    n, t, _ = x.shape
    h = c = x.new_zeros(n, wh.shape[0])
    for s in range(t):
        z = F.layer_norm(x[:, s] @ wx + h @ wh, (wh.shape[1],), g, b)
        i, f, o, u = z.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * u.tanh()
        h = o.sigmoid() * c.tanh()
    return h


both(
    "LSTM with layer norm",
    ln_lstm,
    lambda n, t, w: [
        normal(n, t, w),
        normal(w, 4 * w) / w**0.5,
        normal(w, 4 * w) / w**0.5,
        normal(4 * w),
        normal(4 * w),
    ],
    (2, 4, 16),
    (32, 6, 128),
    (1024, 6, 128),
)


def leaky_spikes(x, w, tau):
    v = x.new_zeros(x.shape[0], w.shape[1])
    out = 0
    for t in range(x.shape[1]):
        v = v * tau + x[:, t] @ w
        s = torch.sigmoid(10 * (v - 1))
        v = v * (1 - s)
        out = out + s
    return out / x.shape[1]


both(
    "leaky spikes",
    leaky_spikes,
    lambda n, t, w: [normal(n, t, w), normal(w, w) / w**0.5, uniform(w)],
    (2, 6, 16),
    (64, 8, 128),
    (2048, 8, 128),
)


def res_time(x, e, g1, b1, w1, we, g2, b2, w2):
    h = F.conv2d(F.silu(F.group_norm(x, 8, g1, b1)), w1, padding=1)
    h = h + (F.silu(e) @ we)[:, :, None, None]
    return x + F.conv2d(F.silu(F.group_norm(h, 8, g2, b2)), w2, padding=1)


both(
    "residual block with time",
    res_time,
    lambda n, c, h: [
        normal(n, c, h, h),
        normal(n, 64),
        normal(c),
        normal(c),
        normal(c, c, 3, 3) / (9 * c) ** 0.5,
        normal(64, c) / 8,
        normal(c),
        normal(c),
        normal(c, c, 3, 3) / (9 * c) ** 0.5,
    ],
    (1, 16, 8),
    (4, 32, 32),
    (128, 32, 32),
)


def softcap_gqa(q, k, v, new_k, new_v, mask):
    k = torch.cat([k[:, :, 1:], new_k], 2)
    v = torch.cat([v[:, :, 1:], new_v], 2)
    b, h, _, d = q.shape
    g = h // k.shape[1]
    q = q.view(b, k.shape[1], g, d)
    s = 30 * torch.tanh(q @ k.transpose(-1, -2) / d**0.5 / 30) + mask
    return (s.softmax(-1) @ v).reshape(b, 1, h * d), k, v


add(
    "windowed decoding with soft caps",
    softcap_gqa,
    lambda b, h, kv, t, d: [
        normal(b, h, 1, d),
        normal(b, kv, t, d),
        normal(b, kv, t, d),
        normal(b, kv, 1, d),
        normal(b, kv, 1, d),
        normal(t),
    ],
    (1, 4, 2, 16, 16),
    (4, 16, 4, 256, 64),
    (64, 16, 4, 256, 64),
)


def beam(logits, scores, ends):
    b, k, v = logits.shape
    lp = logits.log_softmax(-1)
    lp = torch.where(ends[..., None], torch.where(torch.arange(v, device=lp.device) == 0, 0.0, -1e9).to(lp), lp)
    t = (scores[..., None] + lp).view(b, k * v)
    s, i = t.topk(k, -1)
    return s, i // v, i % v, ends.gather(1, i // v) | (i % v == 0)


add(
    "a step of beams",
    beam,
    lambda b, k, v: [normal(b, k, v), normal(b, k), integers(2, b, k).bool()],
    (2, 4, 64),
    (8, 4, 8192),
    (256, 4, 8192),
)


def expert_choice(x, wr, w1, w2):
    p = (x @ wr).softmax(-1)
    g, i = p.t().topk(x.shape[0] // wr.shape[1], -1)
    h = x[i]
    y = torch.bmm(F.silu(torch.bmm(h, w1)), w2) * g[..., None]
    return x.new_zeros(x.shape).index_add(0, i.flatten(), y.flatten(0, 1))


both(
    "experts choose",
    expert_choice,
    lambda n, d, e: [normal(n, d), normal(d, e), normal(e, d, 2 * d) / d**0.5, normal(e, 2 * d, d) / d**0.5],
    (16, 16, 4),
    (512, 64, 8),
    (16384, 64, 8),
)


def arcface(x, w, y):
    c = F.normalize(x) @ F.normalize(w).t()
    one = F.one_hot(y, c.shape[1]).to(c.dtype)
    s = (1 - c.square()).clamp(min=1e-6).sqrt()
    m = c * 0.8776 - s * 0.4794
    return F.cross_entropy(30 * torch.where(one > 0, torch.where(c > -0.87, m, c - 0.24), c), y)


both(
    "margins of angles",
    arcface,
    lambda n, d, k: [normal(n, d), normal(k, d), integers(k, n)],
    (16, 16, 32),
    (256, 64, 1024),
    (8192, 64, 1024),
)


def quantile_td(q, t, tau):
    d = t[:, None, :] - q[:, :, None]
    h = torch.where(d.abs() < 1, 0.5 * d * d, d.abs() - 0.5)
    return ((tau[:, :, None] - (d.detach() < 0).to(q.dtype)).abs() * h).sum(1).mean(1).mean()


both(
    "quantile differences",
    quantile_td,
    lambda n, k: [normal(n, k), normal(n, k), uniform(n, k)],
    (8, 8),
    (256, 51),
    (8192, 51),
)


def hmm(lp, a, e):
    al = lp + e[:, 0]
    for t in range(1, e.shape[1]):
        al = torch.logsumexp(al[:, :, None] + a, 1) + e[:, t]
    return al.logsumexp(-1)


both(
    "forward probabilities of a chain",
    hmm,
    lambda n, t, s: [normal(s), normal(s, s), normal(n, t, s)],
    (2, 6, 8),
    (32, 8, 32),
    (1024, 8, 32),
)


def cox(x, w, ev):
    r = x @ w
    lse = torch.logcumsumexp(r.flip(0), 0).flip(0)
    return -((r - lse) * ev).sum() / ev.sum()


both(
    "risks in order",
    cox,
    lambda n, d: [normal(n, d), normal(d) / d**0.5, integers(2, n).float()],
    (64, 16),
    (8192, 32),
    (262144, 32),
)


def adan(*a):
    n = len(a) // 5
    out = []
    for p, g, g0, m, v in zip(a[:n], a[n : 2 * n], a[2 * n : 3 * n], a[3 * n : 4 * n], a[4 * n :], strict=True):
        d = g - g0
        m = torch.lerp(m, g, 0.02)
        v = torch.lerp(v, (g + 0.92 * d).square(), 0.01)
        out += [(p - 1e-3 * m / (v.sqrt() + 1e-8)) / (1 + 2e-5), m, v]
    return out


add(
    "Adan",
    adan,
    lambda h, w, n: [normal(h, w) for _ in range(4 * n)] + [uniform(h, w) for _ in range(n)],
    (16, 16, 4),
    (128, 256, 4),
    (2048, 256, 4),
)


def volume(x, d, w1, b1, w2, b2):
    f = torch.cat([t for k in range(4) for t in ((x * 2**k).sin(), (x * 2**k).cos())], -1)
    h = F.relu(f @ w1 + b1) @ w2 + b2
    s = F.softplus(h[..., 0])
    rgb = h[..., 1:].sigmoid()
    a = 1 - torch.exp(-s * d)
    tr = torch.cumprod(torch.cat([torch.ones_like(a[:, :1]), 1 - a[:, :-1] + 1e-10], 1), 1)
    return ((tr * a)[..., None] * rgb).sum(1)


both(
    "volumes along rays",
    volume,
    lambda r, s, w: [normal(r, s, 3), uniform(r, s), normal(24, w) / 5, normal(w), normal(w, 4) / w**0.5, normal(4)],
    (8, 8, 16),
    (256, 32, 64),
    (8192, 32, 64),
)


def pointnet(x, w1, b1, w2, b2, w3):
    h = F.relu(x @ w1 + b1)
    h = F.relu(h @ w2 + b2)
    return F.log_softmax(h.amax(1) @ w3, -1)


both(
    "clouds of points",
    pointnet,
    lambda n, p, w: [
        normal(n, p, 3),
        normal(3, w),
        normal(w),
        normal(w, 2 * w) / w**0.5,
        normal(2 * w),
        normal(2 * w, 10) / w**0.5,
    ],
    (2, 32, 16),
    (16, 512, 64),
    (512, 512, 64),
)


def convnet(x, w1, g1, b1, w2, g2, b2, wl, y):
    h = F.max_pool2d(F.relu(F.batch_norm(F.conv2d(x, w1, padding=1), None, None, g1, b1, True)), 2)
    h = F.max_pool2d(F.relu(F.batch_norm(F.conv2d(h, w2, padding=1), None, None, g2, b2, True)), 2)
    return F.cross_entropy(h.mean((2, 3)) @ wl, y)


add(
    "convolutions, batch norms, pools",
    convnet,
    lambda n, h, c: [
        normal(n, 3, h, h),
        normal(c, 3, 3, 3) / 5,
        normal(c),
        normal(c),
        normal(2 * c, c, 3, 3) / (9 * c) ** 0.5,
        normal(2 * c),
        normal(2 * c),
        normal(2 * c, 10),
        integers(10, n),
    ],
    (2, 16, 8),
    (16, 32, 16),
    (512, 32, 16),
    trained=True,
)
