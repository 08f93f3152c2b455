"""Norms, recurrent cells, diffusion, decoding, mixtures of experts and small nets, most of them trained."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further nets", tolerance=1e-4)
add = TABLE.add


# Norms trained


def ln_block(x, g, b, r):
    return F.layer_norm(x + r, x.shape[-1:], g, b)


add(
    "residual and layer norm, trained",
    ln_block,
    lambda n, m: [normal(n, m), normal(m), normal(m), normal(n, m)],
    (16, 64),
    (512, 512),
    (8192, 512),
    trained=True,
)


def rms(x, g):
    return F.silu(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * g)


add(
    "RMS norm and silu, trained",
    rms,
    lambda n, m: [normal(n, m), normal(m)],
    (16, 64),
    (512, 768),
    (8192, 768),
    trained=True,
)


def gn(x, g, b):
    return F.silu(F.group_norm(x, 8, g, b))


add(
    "group norm and silu, trained",
    gn,
    lambda n, c, h: [normal(n, c, h, h), normal(c), normal(c)],
    (1, 16, 8),
    (4, 64, 32),
    (128, 64, 32),
    trained=True,
)


def bn(x, g, b):
    m = x.mean((0, 2, 3), keepdim=True)
    v = x.var((0, 2, 3), unbiased=False, keepdim=True)
    return F.relu((x - m) * torch.rsqrt(v + 1e-5) * g[:, None, None] + b[:, None, None])


add(
    "batch norm and relu, trained",
    bn,
    lambda n, c, h: [normal(n, c, h, h), normal(c), normal(c)],
    (2, 16, 8),
    (8, 64, 28),
    (128, 64, 28),
    trained=True,
)


def inorm(x):
    return F.leaky_relu(F.instance_norm(x), 0.1)


add(
    "instance norm, trained",
    inorm,
    lambda n, c, h: [normal(n, c, h, h)],
    (1, 8, 16),
    (4, 32, 48),
    (128, 32, 48),
    trained=True,
)


def softmax_rows(x, m):
    return (x.masked_fill(m, float("-inf"))).softmax(-1)


add(
    "masked softmax of odd rows, trained",
    softmax_rows,
    lambda n, m: [normal(n, m), integers(8, n, m) == 0],
    (16, 37),
    (256, 1237),
    (4096, 1237),
    trained=True,
)


# Recurrent


def min_gru(x, wz, wh):
    z = (x @ wz).sigmoid()
    c = (x @ wh).tanh()
    h = torch.zeros_like(c[:, 0])
    out = []
    for t in range(x.shape[1]):
        h = torch.lerp(h, c[:, t], z[:, t])
        out.append(h)
    return torch.stack(out, 1)


add(
    "minimal GRU",
    min_gru,
    lambda n, w: [normal(n, 12, w), normal(w, w) / w**0.5, normal(w, w) / w**0.5],
    (2, 16),
    (32, 128),
    (1024, 128),
)
add(
    "minimal GRU, trained",
    min_gru,
    lambda n, w: [normal(n, 12, w), normal(w, w) / w**0.5, normal(w, w) / w**0.5],
    (2, 16),
    (32, 128),
    (1024, 128),
    trained=True,
)


def rnn(x, wi, wh, b):
    h = torch.zeros(x.shape[0], wh.shape[0], dtype=x.dtype, device=x.device)
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ wi + h @ wh + b)
    return h


add(
    "plain RNN, trained",
    rnn,
    lambda n, w: [
        normal(n, 10, w),
        normal(w, w) / w**0.5,
        normal(w, w) / w**0.5,
        normal(w),
    ],
    (2, 16),
    (32, 128),
    (1024, 128),
    trained=True,
)


# Diffusion


def film(x, t, w, b):
    s, h = (F.silu(t) @ w + b).chunk(2, -1)
    y = F.group_norm(x, 4)
    return F.silu(y * (1 + s[:, :, None, None]) + h[:, :, None, None]) + x


add(
    "modulated group norm",
    film,
    lambda n, c, h: [
        normal(n, c, h, h),
        normal(n, 32),
        normal(32, 2 * c) / 6,
        normal(2 * c),
    ],
    (1, 16, 8),
    (4, 64, 32),
    (128, 64, 32),
)


def heun(x, d1, d2, s0, s1):
    h = (s1 - s0)[:, None, None, None]
    e = x + h * d1
    y = x + h * 0.5 * (d1 + d2)
    err = ((y - e) / (1e-2 + 1e-2 * torch.maximum(x.abs(), y.abs()))).square().mean((1, 2, 3)).sqrt()
    return y, err


add(
    "Heun step with error",
    heun,
    lambda n, h: [normal(n, 4, h, h) for _ in range(3)] + [uniform(n), uniform(n)],
    (1, 16),
    (8, 64),
    (128, 64),
)


# Decoding


def alibi_step(q, k, v, slope):
    s = torch.einsum("hd,hld->hl", q, k) * q.shape[-1] ** -0.5
    s = s - slope[:, None] * torch.arange(k.shape[1] - 1, -1, -1, device=q.device, dtype=q.dtype)
    return torch.einsum("hl,hld->hd", s.softmax(-1), v)


add(
    "decoding step with ALiBi",
    alibi_step,
    lambda h, length, d: [normal(h, d), normal(h, length, d), normal(h, length, d), uniform(h)],
    (2, 32, 16),
    (8, 512, 64),
    (128, 512, 64),
)


def min_p(logits, noise):
    p = (logits / 0.8).softmax(-1)
    keep = p >= 0.05 * p.amax(-1, keepdim=True)
    p = torch.where(keep, p, 0)
    p = p / p.sum(-1, keepdim=True)
    return p, (p / noise).argmax(-1)


add(
    "sampling by min-p",
    min_p,
    lambda n, w: [normal(n, w) * 3, uniform(n, w, low=0.1)],
    (1, 512),
    (8, 8000),
    (256, 8000),
    tolerance=1e-1,
)


# Mixtures


def soft_moe(x, phi):
    logits = x @ phi
    return logits.softmax(1) @ x.new_ones(phi.shape[1], 1), logits.softmax(0).t() @ x


add(
    "soft mixture of slots",
    soft_moe,
    lambda n, w, s: [normal(n, w), normal(w, s) / w**0.5],
    (16, 32, 8),
    (512, 128, 32),
    (16384, 128, 32),
)


def router_z(x, w):
    logits = x @ w
    z = logits.logsumexp(-1).square().mean()
    p = logits.softmax(-1)
    top = p.max(-1).values.mean()
    return z * 1e-3 + top + (p.mean(0) * p.mean(0).log()).sum()


add(
    "router losses, trained",
    router_z,
    lambda n, w, e: [normal(n, w), normal(w, e) / w**0.5],
    (16, 32, 8),
    (1024, 128, 16),
    (32768, 128, 16),
    trained=True,
)


# Small trained nets


def mlp3(x, w1, b1, w2, b2, w3, b3, y):
    h = F.gelu(x @ w1 + b1)
    h = F.gelu(h @ w2 + b2)
    return F.cross_entropy(h @ w3 + b3, y)


add(
    "three layers and cross-entropy, trained",
    mlp3,
    lambda n, w: [
        normal(n, w),
        normal(w, w) / w**0.5,
        normal(w),
        normal(w, w) / w**0.5,
        normal(w),
        normal(w, 10) / w**0.5,
        normal(10),
        integers(10, n),
    ],
    (16, 32),
    (128, 256),
    (4096, 256),
    trained=True,
)


def convnet(x, w1, b1, w2, b2, w3, y):
    h = F.max_pool2d(F.relu(F.conv2d(x, w1, b1, padding=1)), 2)
    h = F.max_pool2d(F.relu(F.conv2d(h, w2, b2, padding=1)), 2)
    return F.cross_entropy(h.flatten(1) @ w3, y)


add(
    "small convolutional net, trained",
    convnet,
    lambda n, c, h: [
        normal(n, 1, h, h),
        normal(c, 1, 3, 3) / 3,
        normal(c),
        normal(2 * c, c, 3, 3) / (3 * c**0.5),
        normal(2 * c),
        normal(2 * c * (h // 4) ** 2, 10) / 30,
        integers(10, n),
    ],
    (4, 4, 16),
    (32, 16, 28),
    (1024, 16, 28),
    trained=True,
)


def attn_block(x, wq, wk, wv, wo, g, b):
    n, length, d = x.shape
    y = F.layer_norm(x, (d,), g, b)
    q, k, v = ((y @ w).view(n, length, 4, d // 4).transpose(1, 2) for w in (wq, wk, wv))
    p = (q @ k.transpose(-1, -2) * (d // 4) ** -0.5).softmax(-1)
    return x + (p @ v).transpose(1, 2).reshape(n, length, d) @ wo


add(
    "attention block, trained",
    attn_block,
    lambda n, length, d: [normal(n, length, d)] + [normal(d, d) / d**0.5 for _ in range(4)] + [normal(d), normal(d)],
    (2, 8, 32),
    (8, 64, 128),
    (256, 64, 128),
    trained=True,
)


def vae(x, w1, w2, wm, wl, eps, w3):
    h = F.relu(x @ w1)
    h = F.relu(h @ w2)
    m = h @ wm
    log_var = h @ wl
    z = m + (0.5 * log_var).exp() * eps
    r = (z @ w3).sigmoid()
    return (
        F.binary_cross_entropy(r, x.sigmoid(), reduction="sum") / x.shape[0]
        - 0.5 * (1 + log_var - m * m - log_var.exp()).sum(-1).mean()
    )


add(
    "autoencoder, trained",
    vae,
    lambda n, w: [
        normal(n, w),
        normal(w, 64) / w**0.5,
        normal(64, 64) / 8,
        normal(64, 16) / 8,
        normal(64, 16) / 8,
        normal(n, 16),
        normal(16, w) / 4,
    ],
    (8, 64),
    (128, 784),
    (4096, 784),
    trained=True,
)
