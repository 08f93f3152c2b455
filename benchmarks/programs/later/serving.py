"""Quantised weights and caches, optimisers, tokens and their masks."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("later serving", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def four_bit_linear(x, packed, scales, zeros):
    codes = torch.stack([packed & 15, packed >> 4], -1).flatten(1)
    grouped = codes.unflatten(1, (scales.shape[1], -1)).to(scales.dtype)
    weight = ((grouped - zeros[..., None]) * scales[..., None]).flatten(1)
    return F.linear(x, weight)


add(
    "linear of packed four bits",
    four_bit_linear,
    lambda n, o, i: [
        normal(n, i).bfloat16(),
        integers(256, o, i // 2, dtype=torch.uint8),
        (uniform(o, i // 32) / 8).bfloat16(),
        integers(16, o, i // 32, dtype=torch.uint8),
    ],
    (1, 24, 64),
    (4, 256, 512),
    (8, 1536, 2048),
)


def byte_cache_step(q, k, v, keys, values, key_scales, value_scales, at):
    def store(new, cache, scales):
        scale = new.abs().amax(-1, keepdim=True).clamp(min=1e-6) / 127
        cache.index_copy_(2, at, (new / scale).round().to(torch.int8))
        scales.index_copy_(2, at, scale)
        return cache.to(new.dtype) * scales

    keys, values = store(k, keys, key_scales), store(v, values, value_scales)
    q = q.unflatten(1, (keys.shape[1], -1))
    scores = (q @ keys.transpose(-1, -2)) * q.shape[-1] ** -0.5
    ahead = torch.arange(keys.shape[2], device=q.device) > at
    return (scores.masked_fill(ahead, float("-inf")).softmax(-1) @ values).flatten(1, 2)


def _byte_cache(b, h, t, d):
    caches = [integers(255, b, h, t, d).sub(127).to(torch.int8) for _ in range(2)]
    scales = [uniform(b, h, t, 1) / 64 for _ in range(2)]
    return [
        normal(b, 4 * h, d),
        normal(b, h, 1, d),
        normal(b, h, 1, d),
        *caches,
        *scales,
        torch.tensor([t * 3 // 4]),
    ]


add("step with a cache of bytes", byte_cache_step, _byte_cache, (1, 2, 16, 8), (2, 4, 128, 32), (4, 8, 1000, 128))


def learned_steps(x, weight, step_x, step_w):
    def quantized(x, step, low, high):
        scale = (x.numel() * high) ** -0.5
        step = (step - step * scale).detach() + step * scale
        x = (x / step).clamp(low, high)
        return ((x.round() - x).detach() + x) * step

    return F.linear(quantized(F.relu(x), step_x, 0, 255), quantized(weight, step_w, -8, 7))


both(
    "learned steps of quantisation",
    learned_steps,
    lambda n, i, o: [normal(n, i), normal(o, i) / i**0.5, torch.tensor(0.02), torch.tensor(0.05)],
    (8, 12, 16),
    (100, 130, 150),
    (1500, 1024, 900),
)


def muon(*tensors):
    third = len(tensors) // 3
    for p, g, m in zip(tensors[:third], tensors[third : 2 * third], tensors[2 * third :], strict=True):
        m.lerp_(g, 0.05)
        x = torch.lerp(g, m, 0.95).bfloat16()
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            a = x @ x.mT
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        p.mul_(1 - 2e-4).add_(x.to(p.dtype), alpha=-0.02 * max(1, p.shape[0] / p.shape[1]) ** 0.5)


add(
    "Muon",
    muon,
    lambda h, w: [normal(h, w) for _ in range(6)],
    (16, 24),
    (96, 160),
    (500, 768),
    tolerance=1e-3,
)


def sophia(*tensors):
    quarter = len(tensors) // 4
    groups = (tensors[i * quarter : (i + 1) * quarter] for i in range(4))
    for p, g, m, h in zip(*groups, strict=True):
        m.mul_(0.965).add_(g, alpha=1 - 0.965)
        p.mul_(1 - 1e-4)
        ratio = (m.abs() / (0.04 * 5120 * h + 1e-15)).clamp(max=1)
        p.addcmul_(m.sign(), ratio, value=-1e-3)


add(
    "Sophia in place",
    sophia,
    lambda h, w: [*(normal(h, w + i) for _ in range(3) for i in range(3)), *(uniform(h, w + i) for i in range(3))],
    (16, 8),
    (200, 100),
    (1000, 900),
)


def adam_of_bytes(p, g, m_code, m_top, v_code, v_top):
    m = m_code.float() / 127 * m_top
    v = (v_code.float() / 255).square() * v_top
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    p = p - 1e-3 * m / (v.sqrt() + 1e-8)
    m_top = m.abs().amax(1, keepdim=True).clamp(min=1e-12)
    v_top = v.amax(1, keepdim=True).clamp(min=1e-12)
    m_code = (m / m_top * 127).round().to(torch.int8)
    return p, m_code, m_top, ((v / v_top).sqrt() * 255).round().to(torch.uint8), v_top


add(
    "Adam with states of bytes",
    adam_of_bytes,
    lambda n: [
        normal(n, 256),
        normal(n, 256),
        integers(255, n, 256).sub(127).to(torch.int8),
        uniform(n, 1),
        integers(256, n, 256, dtype=torch.uint8),
        uniform(n, 1),
    ],
    (4,),
    (256,),
    (6000,),
)


def document_masks(tokens):
    _, t = tokens.shape
    at = torch.arange(t, device=tokens.device)
    end = tokens == 0
    document = end.cumsum(1) - end.long()
    start = F.pad(end[:, :-1], (1, 0), value=True)
    position = at - torch.where(start, at, 0).cummax(1).values
    same = document[:, :, None] == document[:, None]
    bias = torch.where(same & (at[:, None] >= at), 0.0, float("-inf")).to(torch.bfloat16)
    return bias[:, None], position, (~end & ~start).float()


add("masks of documents", document_masks, lambda b, t: [integers(20, b, t)], (1, 24), (2, 130), (4, 1000))


def repeats_forbidden(logits, tokens):
    grams = tokens.unfold(1, 3, 1)
    again = (grams[..., :2] == tokens[:, None, -2:]).all(-1)
    counts = torch.zeros_like(logits, dtype=torch.int32).scatter_add(1, grams[..., 2], again.int())
    logits = logits.float().masked_fill(counts > 0, float("-inf"))
    return torch.log_softmax(logits, -1).topk(8, -1)


add(
    "repeated trigrams forbidden",
    repeats_forbidden,
    lambda b, t, v: [normal(b, v).half(), integers(v // 20, b, t)],
    (1, 12, 40),
    (4, 128, 3000),
    (32, 500, 50257),
)


def typical_sample(logits, noise):
    chance = logits.log_softmax(-1)
    entropy = -(chance.exp() * chance).sum(-1, keepdim=True)
    _, order = (-chance - entropy).abs().sort(-1)
    mass = chance.gather(-1, order).exp().cumsum(-1)
    drop = mass > 0.9
    drop = torch.cat([torch.zeros_like(drop[:, :1]), drop[:, :-1]], -1)
    drop = torch.zeros_like(drop).scatter(-1, order, drop)
    return (logits.masked_fill(drop, float("-inf")) - (-noise.log()).log()).argmax(-1)


add(
    "typical sampling",
    typical_sample,
    lambda b, v: [normal(b, v) * 2, uniform(b, v, low=1e-3, high=0.999)],
    (1, 41),
    (8, 2000),
    (32, 32000),
)


def words_of_pieces(hidden, starts, real):
    b, t, d = hidden.shape
    word = (starts | ~real).cumsum(1) - 1
    index = (word.clamp(min=0) + t * torch.arange(b, device=hidden.device)[:, None]).flatten()
    weight = real.flatten().to(hidden.dtype)
    total = hidden.new_zeros(b * t, d).index_add(0, index, hidden.flatten(0, 1) * weight[:, None])
    count = hidden.new_zeros(b * t).index_add(0, index, weight)
    return (total / count.clamp(min=1)[:, None]).view(b, t, d), (count > 0).view(b, t)


both(
    "means of pieces of words",
    words_of_pieces,
    lambda b, t, d: [normal(b, t, d), integers(3, b, t) > 0, torch.arange(t) < integers(t, b, 1) + 1],
    (1, 12, 8),
    (4, 60, 64),
    (16, 500, 200),
)
