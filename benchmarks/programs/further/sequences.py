"""Further ordinary programs: recurrent cells, decoding and signals."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further sequences")


def gru_cell(x, h, wi, wh, bi, bh):
    for t in range(x.shape[1]):
        ri, zi, ni = (x[:, t] @ wi + bi).chunk(3, -1)
        rh, zh, nh = (h @ wh + bh).chunk(3, -1)
        r, z = ((ri + rh).sigmoid(), (zi + zh).sigmoid())
        h = (1 - z) * (ni + r * nh).tanh() + z * h
    return h


def gi(n, t, w):
    return [
        normal(n, t, w),
        normal(n, w),
        normal(w, 3 * w) / w**0.5,
        normal(w, 3 * w) / w**0.5,
        normal(3 * w),
        normal(3 * w),
    ]


TABLE.add("GRU with biases", gru_cell, gi, (2, 8, 16), (32, 8, 128), (1024, 8, 128), tolerance=0.0001)
TABLE.add(
    "GRU with biases, trained", gru_cell, gi, (2, 8, 16), (32, 8, 128), (1024, 8, 128), trained=True, tolerance=0.0001
)


def peephole_lstm(x, wi, wh, b, p):
    n, t, w = x.shape
    h = c = x.new_zeros(n, w)
    g = x @ wi + b
    out = []
    for s in range(t):
        i, f, o, u = (g[:, s] + h @ wh).chunk(4, -1)
        i = (i + p[0] * c).sigmoid()
        f = (f + p[1] * c).sigmoid()
        c = f * c + i * u.tanh()
        h = (o + p[2] * c).sigmoid() * c.tanh()
        out.append(h)
    return torch.stack(out, 1)


def li(n, t, w):
    return [normal(n, t, w), normal(w, 4 * w) / w**0.5, normal(w, 4 * w) / w**0.5, normal(4 * w), normal(3, w)]


TABLE.add("LSTM with peepholes", peephole_lstm, li, (2, 8, 16), (32, 8, 96), (1024, 8, 96), tolerance=0.0001)
TABLE.add(
    "LSTM with peepholes, trained",
    peephole_lstm,
    li,
    (2, 8, 16),
    (32, 8, 96),
    (1024, 8, 96),
    trained=True,
    tolerance=0.0001,
)


def linear_recurrence(x, a, b, c):
    h = x.new_zeros(x.shape[0], x.shape[2], b.shape[-1])
    ys = []
    d = torch.exp(-F.softplus(a))
    for t in range(x.shape[1]):
        h = h * d + x[:, t, :, None] * b[:, t, None]
        ys.append((h * c[:, t, None]).sum(-1))
    return torch.stack(ys, 1)


def si(n, t, w, s):
    return [normal(n, t, w), normal(w, s), normal(n, t, s), normal(n, t, s)]


TABLE.add(
    "selective state space",
    linear_recurrence,
    si,
    (1, 8, 16, 8),
    (4, 16, 128, 16),
    (128, 16, 128, 16),
    tolerance=0.0001,
)
TABLE.add(
    "selective state space, trained",
    linear_recurrence,
    si,
    (1, 8, 16, 8),
    (4, 16, 128, 16),
    (128, 16, 128, 16),
    trained=True,
    tolerance=0.0001,
)


def rope_cache_step(q, k, v, ck, cv, cos, sin):

    def rot(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    q, k = (rot(q), rot(k))
    kk = torch.cat([ck, k[:, :, None]], 2)
    vv = torch.cat([cv, v[:, :, None]], 2)
    s = (kk @ q[..., None])[..., 0] * q.shape[-1] ** (-0.5)
    return (s.softmax(-1)[:, :, None] @ vv)[:, :, 0]


TABLE.add(
    "decoding step with rotary positions",
    rope_cache_step,
    lambda n, h, part, d: [
        normal(n, h, d),
        normal(n, h, d),
        normal(n, h, d),
        normal(n, h, part, d),
        normal(n, h, part, d),
        normal(d // 2),
        normal(d // 2),
    ],
    (1, 2, 16, 16),
    (2, 8, 255, 64),
    (32, 8, 255, 64),
    tolerance=0.0001,
)


def penalties(logits, counts, bias, t):
    seen = counts > 0
    part = torch.where(seen & (logits > 0), logits / 1.2, torch.where(seen, logits * 1.2, logits))
    part = (part - 0.1 * counts + bias) / t
    p = part.log_softmax(-1)
    return (p, -(p.exp() * p).sum(-1))


TABLE.add(
    "penalties and entropy",
    penalties,
    lambda n, w: [normal(n, w), integers(3, n, w).float(), normal(w), uniform(n, 1) + 0.5],
    (1, 512),
    (8, 8000),
    (256, 8000),
    tolerance=0.0001,
)


def biquad_like(x, b, a):
    y = []
    y1 = y2 = torch.zeros_like(x[:, 0])
    for t in range(16):
        v = b[0] * x[:, t] - a[0] * y1 - a[1] * y2
        y.append(v)
        y2, y1 = (y1, v)
    return torch.stack(y, 1)


TABLE.add(
    "recursive filter of 16 samples",
    biquad_like,
    lambda n: [normal(n, 16), normal(1), normal(2) * 0.3],
    (64,),
    (4096,),
    (131072,),
    tolerance=0.0001,
)


def mel_log(s, m):
    p = s.square().sum(-1)
    y = (p @ m).clamp(min=1e-05).log10()
    y = torch.maximum(y, y.amax((1, 2), keepdim=True) - 8)
    d = F.pad(y, (0, 0, 1, 1))[:, 2:] - F.pad(y, (0, 0, 1, 1))[:, :-2]
    return torch.cat([(y + 4) / 4, d / 2], -1)


TABLE.add(
    "mel spectrogram, differences",
    mel_log,
    lambda n, t, f: [normal(n, t, f, 2), uniform(f, 40)],
    (1, 16, 33),
    (4, 256, 201),
    (64, 256, 201),
    tolerance=0.0001,
)


def fir(x, k):
    p = F.pad(x, (7, 8))
    return sum(k[i] * p[:, i : i + x.shape[1]] for i in range(16))


TABLE.add(
    "filter of 16 taps",
    fir,
    lambda n, t: [normal(n, t), normal(16)],
    (2, 512),
    (16, 16384),
    (512, 16384),
    tolerance=0.0001,
)
TABLE.add(
    "filter of 16 taps, trained",
    fir,
    lambda n, t: [normal(n, t), normal(16)],
    (2, 512),
    (16, 16384),
    (512, 16384),
    trained=True,
    tolerance=0.0001,
)


def zero_cross(x):
    w = x.unfold(-1, 256, 128)
    return ((w[..., 1:].sign() != w[..., :-1].sign()).float().mean(-1), w.square().mean(-1).sqrt())


TABLE.add(
    "crossings and levels of frames",
    zero_cross,
    lambda n, t: [normal(n, t)],
    (2, 1024),
    (16, 16384),
    (512, 16384),
    tolerance=0.0001,
)
