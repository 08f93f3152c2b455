"""Attention with windows and documents, recurrences, filters, convolutions, graphs, routes."""

import torch
import torch.nn.functional as F
from torch import nn

from ..program import Table, channels_last, integers, normal, uniform

TABLE = Table("later layers", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def window_with_sinks(q, k, v, sinks):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    at = torch.arange(q.shape[2], device=q.device)
    apart = at[:, None] - at
    scores = scores.masked_fill((apart < 0) | (apart >= 64), float("-inf"))
    sinks = sinks.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


both(
    "sliding window with sinks",
    window_with_sinks,
    lambda b, h, g, t, d: [normal(b, h, t, d), normal(b, g, t, d), normal(b, g, t, d), normal(h)],
    (1, 4, 2, 16, 8),
    (1, 8, 2, 100, 32),
    (1, 16, 4, 400, 64),
)


def packed_attention(x, w_in, w_out, q_norm, k_norm, document):
    b, t, d = x.shape
    q, k, v = F.linear(x, w_in).view(b, t, 3, -1, q_norm.shape[0]).permute(2, 0, 3, 1, 4)
    q = F.rms_norm(q, q_norm.shape, q_norm, 1e-6)
    k = F.rms_norm(k, k_norm.shape, k_norm, 1e-6)
    same = document[:, :, None] == document[:, None, :]
    causal = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=(same & causal)[:, None])
    return x + F.linear(out.transpose(1, 2).reshape(b, t, d), w_out)


both(
    "packed documents in bfloat16",
    packed_attention,
    lambda b, t, d, head: [
        normal(b, t, d).bfloat16(),
        (normal(3 * d, d) / d**0.5).bfloat16(),
        (normal(d, d) / d**0.5).bfloat16(),
        (1 + normal(head) / 10).bfloat16(),
        (1 + normal(head) / 10).bfloat16(),
        (integers(8, b, t) == 0).cumsum(1).int(),
    ],
    (1, 16, 16, 8),
    (2, 96, 64, 16),
    (4, 512, 512, 64),
)


def retention(q, k, v, gate, decay):
    t = q.shape[1]
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    at = torch.arange(t, device=q.device)
    apart = (at[:, None] - at).clamp(min=0)
    mask = torch.exp(F.logsigmoid(decay)[:, None, None] * apart).tril()
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 * mask
    scores = scores / scores.abs().sum(-1, keepdim=True).clamp(min=1)
    out = (scores @ v).transpose(1, 2)
    return F.silu(gate) * F.layer_norm(out, out.shape[-1:]).flatten(2)


add(
    "retention",
    retention,
    lambda b, t, h, d: [*(normal(b, t, h, d) for _ in range(3)), normal(b, t, h * d), 2 + normal(h)],
    (1, 12, 2, 8),
    (1, 96, 4, 16),
    (2, 400, 8, 64),
)


def diagonal_states(x, log_dt, log_decay, angle, c_real, c_imag, skip):
    channels, length = x.shape[1:]
    t = torch.arange(length, device=x.device) * log_dt.exp()[:, None]
    phase = angle[..., None] * t[:, None]
    wave = c_real[..., None] * phase.cos() - c_imag[..., None] * phase.sin()
    kernel = 2 * (torch.exp(-log_decay.exp()[..., None] * t[:, None]) * wave).sum(1)
    y = F.conv1d(F.pad(x, (length - 1, 0)), kernel.flip(-1)[:, None], groups=channels)
    return F.gelu(y + skip[:, None] * x)


both(
    "diagonal states as a filter",
    diagonal_states,
    lambda b, c, t, n: [
        normal(b, c, t),
        normal(c) / 4 - 3,
        normal(c, n) / 4,
        uniform(c, n, high=3.0),
        normal(c, n),
        normal(c, n),
        normal(c),
    ],
    (1, 4, 16, 4),
    (4, 16, 64, 8),
    (8, 128, 256, 16),
)


def exponential_lstm(x, r, bias):
    b, steps, heads, _ = x.shape
    h = c = n = m = x.new_zeros(b, heads, r.shape[1])
    out = []
    for step in range(steps):
        z, i, f, o = (x[:, step] + torch.einsum("bnd,nde->bne", h, r) + bias).chunk(4, -1)
        log_f = F.logsigmoid(f)
        top = torch.maximum(log_f + m, i)
        keep, enter = torch.exp(log_f + m - top), torch.exp(i - top)
        c = keep * c + enter * z.tanh()
        n = keep * n + enter
        h = o.sigmoid() * c / n.clamp(min=1e-6)
        m = top
        out.append(h)
    return torch.stack(out, 1)


both(
    "LSTM with exponential gates",
    exponential_lstm,
    lambda b, heads, d: [normal(b, 6, heads, 4 * d), normal(heads, d, 4 * d) / d**0.5, normal(heads, 4 * d)],
    (2, 2, 8),
    (16, 4, 32),
    (128, 8, 64),
)


def snake(x, alpha):
    return x + (alpha[:, None] * x).sin().square() / (alpha[:, None] + 1e-9)


def vocoder_block(x, v1, g1, v2, g2, alpha):
    y = F.conv1d(snake(x, alpha), g1 * v1 / v1.norm(dim=(1, 2), keepdim=True), padding=3, dilation=3)
    return x + F.conv1d(snake(y, alpha), g2 * v2 / v2.norm(dim=(1, 2), keepdim=True), padding=1)


add(
    "vocoder block, normed weights, trained",
    vocoder_block,
    lambda b, c, t: [
        normal(b, c, t),
        normal(c, c, 3),
        1 + uniform(c, 1, 1),
        normal(c, c, 3),
        1 + uniform(c, 1, 1),
        0.5 + uniform(c),
    ],
    (1, 8, 41),
    (2, 32, 300),
    (4, 64, 3001),
    trained=True,
)


def spectral_linear(x, weight, bias, u):
    with torch.no_grad():
        for _ in range(2):
            v = F.normalize(weight.t().mv(u), dim=0, eps=1e-12)
            u = F.normalize(weight.mv(v), dim=0, eps=1e-12)
    sigma = torch.dot(u, weight.mv(v))
    return F.leaky_relu(F.linear(x, weight / sigma, bias), 0.2)


both(
    "spectral norm",
    spectral_linear,
    lambda n, i, o: [normal(n, i), normal(o, i), normal(o), F.normalize(normal(o), dim=0)],
    (4, 12, 16),
    (100, 130, 190),
    (2048, 1000, 1500),
)


def up_block(x, skip, weight, scale, shift, shortcut):
    x = F.interpolate(x, scale_factor=2.0, mode="nearest")
    x = torch.cat([x, skip], 1)
    y = F.conv2d(F.silu(F.group_norm(x, 4, scale, shift)), weight, padding=1)
    return (y + F.conv2d(x, shortcut)) * 0.5**0.5


both(
    "up block with a skip, channels last",
    up_block,
    lambda n, c, h: [
        channels_last(normal(n, c, h, h)),
        channels_last(normal(n, c, 2 * h, 2 * h)),
        channels_last(normal(c, 2 * c, 3, 3) / (18 * c) ** 0.5),
        normal(2 * c),
        normal(2 * c),
        channels_last(normal(c, 2 * c, 1, 1) / (2 * c) ** 0.5),
    ],
    (1, 8, 6),
    (2, 32, 14),
    (6, 64, 40),
)


def grouped_routing(x, weight, bias):
    scores = (x @ weight.t()).sigmoid()
    biased = scores + bias
    groups = biased.unflatten(-1, (8, -1))
    best = groups.topk(2, -1).values.sum(-1).topk(4, -1).indices
    allowed = torch.zeros(len(x), 8, dtype=torch.bool, device=x.device).scatter(1, best, True)
    chosen = groups.masked_fill(~allowed[..., None], float("-inf")).flatten(1).topk(6, -1).indices
    weights = scores.gather(1, chosen)
    weights = 2.5 * weights / (weights.sum(-1, keepdim=True) + 1e-20)
    load = torch.zeros_like(bias).index_add(0, chosen.flatten(), torch.ones_like(weights).flatten())
    return weights, chosen, bias + 1e-3 * (load.mean() - load).sign()


add(
    "routes limited to groups",
    grouped_routing,
    lambda n, d, e: [normal(n, d) / d**0.5, normal(e, d), normal(e) / 100],
    (10, 16, 32),
    (1000, 64, 64),
    (30000, 128, 64),
)

NET = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))


def ensemble_loss(w1, b1, w2, b2, x, y):
    def member(*weights):
        names = ("0.weight", "0.bias", "2.weight", "2.bias")
        return torch.func.functional_call(NET, dict(zip(names, weights, strict=True)), (x,))

    mean, log_variance = torch.vmap(member)(w1, b1, w2, b2).unbind(-1)
    return F.gaussian_nll_loss(mean, y.expand_as(mean), F.softplus(log_variance) + 1e-4)


add(
    "ensemble by vmap, trained",
    ensemble_loss,
    lambda m, n, d, h: [
        normal(m, h, d) / d**0.5,
        normal(m, h),
        normal(m, 2, h) / h**0.5,
        normal(m, 2),
        normal(n, d),
        normal(n),
    ],
    (3, 16, 4, 8),
    (5, 500, 8, 32),
    (8, 8192, 16, 64),
    trained=True,
)


def principal_aggregation(x, weight, source, target):
    n, d = x.shape
    sent = F.relu(x @ weight)[source]
    index = target[:, None].expand(-1, d)
    degree = torch.zeros(n, 1, dtype=x.dtype, device=x.device).index_add(0, target, torch.ones_like(sent[:, :1]))
    count = degree.clamp(min=1)
    mean = torch.zeros_like(x).index_add(0, target, sent) / count
    square = torch.zeros_like(x).index_add(0, target, sent * sent) / count
    spread = (square - mean * mean).clamp(min=0).add(1e-5).sqrt()
    most = torch.zeros_like(x).scatter_reduce(0, index, sent, "amax", include_self=True)
    found = torch.cat([mean, most, spread], -1)
    scale = torch.log(degree + 1)
    return torch.cat([found, found * scale, found / scale.clamp(min=0.5)], -1)


both(
    "means, maxima, spreads of messages",
    principal_aggregation,
    lambda n, d, e: [normal(n, d), normal(d, d) / d**0.5, integers(n, e), integers(n, e)],
    (16, 8, 40),
    (512, 32, 2000),
    (8192, 32, 40000),
)


def edge_convolution(x, weight, bias):
    near = torch.cdist(x, x).topk(8, -1, largest=False).indices
    others = x.gather(1, near.flatten(1)[..., None].expand(-1, -1, x.shape[-1])).unflatten(1, near.shape[1:])
    own = x[:, :, None].expand_as(others)
    return F.leaky_relu(torch.cat([own, others - own], -1) @ weight + bias, 0.2).amax(2)


add(
    "convolution of nearest points",
    edge_convolution,
    lambda b, n, d, e: [normal(b, n, d), normal(2 * d, e), normal(e)],
    (1, 20, 3, 8),
    (2, 150, 16, 32),
    (8, 600, 16, 64),
)
