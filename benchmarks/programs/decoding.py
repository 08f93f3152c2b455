"""Steps that make tokens: caches, rotary positions, sampling."""

import torch
import torch.nn.functional as F

from .program import Table, integers, normal, uniform

TABLE = Table("decoding")


def turned(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def rotary_positions(q, k, cos, sin):
    return turned(q, cos, sin), turned(k, cos, sin)


def interleaved_rotary(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def cached_step(x, wq, wk, wv, keys, values, position, cos, sin):
    """One token: keys and values are written into the caches [heads, length, width], then attended."""
    heads, length, width = keys.shape
    q, k, v = ((x @ w).view(heads, 1, width) for w in (wq, wk, wv))
    q, k = turned(q, cos[position], sin[position]), turned(k, cos[position], sin[position])
    keys.index_copy_(1, position, k)
    values.index_copy_(1, position, v)
    score = (q @ keys.transpose(1, 2)) * width**-0.5
    seen = torch.arange(length, device=x.device) <= position
    return (torch.where(seen, score, -torch.inf).softmax(-1) @ values).view(1, -1)


def top_p(logits, noise):
    share, order = logits.softmax(-1).sort(-1, descending=True)
    kept = torch.where(share.cumsum(-1) - share < 0.9, share, 0.0)
    place = (kept / kept.sum(-1, keepdim=True) / noise).argmax(-1, keepdim=True)
    return order.gather(-1, place)


def penalized_logits(logits, seen, penalty, temperature):
    logits = torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)
    return F.log_softmax(logits / temperature, -1)


def _rotary(n, heads, length, w):
    return [normal(n, heads, length, w), normal(n, heads, length, w), normal(length, w), normal(length, w)]


def _step(heads, length, w):
    model = heads * w
    weights = [normal(model, model) / model**0.5 for _ in range(3)]
    caches = [normal(heads, length, w), normal(heads, length, w)]
    return [normal(1, model), *weights, *caches, torch.tensor([length // 2]), normal(length, w), normal(length, w)]


SMALL, MIDDLE, LARGE = (1, 2, 16, 16), (2, 8, 128, 64), (8, 16, 1024, 128)
TABLE.add("rotary positions", rotary_positions, _rotary, SMALL, MIDDLE, LARGE)
TABLE.add("rotary positions, trained", rotary_positions, _rotary, SMALL, MIDDLE, LARGE, trained=True)
TABLE.add(
    "interleaved rotary",
    interleaved_rotary,
    lambda n, heads, length, w: [normal(n, heads, length, w), normal(length, w // 2), normal(length, w // 2)],
    SMALL,
    MIDDLE,
    LARGE,
)
TABLE.add("step with a cache", cached_step, _step, (2, 32, 16), (8, 256, 64), (16, 4096, 128), tolerance=1e-4)
TABLE.add(
    "sampling by top-p",
    top_p,
    lambda n, words: [normal(n, words) * 3, uniform(n, words, low=0.1)],
    (1, 512),
    (8, 8000),
    (64, 32000),
    tolerance=0.1,
)
TABLE.add(
    "penalised logits",
    penalized_logits,
    lambda n, words: [normal(n, words) * 3, integers(2, n, words).bool(), uniform(1) + 1, uniform(1) + 0.5],
    (1, 512),
    (8, 8000),
    (64, 32000),
)
