"""Steps that are unrolled and stacked, tables that codes of bytes are looked up in, and pictures of bytes."""

import math

import torch
from torch.nn import functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("further unrolled", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def advantages(rewards, values, ends, last):
    steps, state, found = rewards.shape[0], torch.zeros_like(last), []
    for t in reversed(range(steps)):
        after = last if t == steps - 1 else values[t + 1]
        goes_on = 1 - ends[t].to(values.dtype)
        state = rewards[t] + 0.99 * after * goes_on - values[t] + 0.99 * 0.95 * goes_on * state
        found.append(state)
    all_ = torch.stack(found[::-1])
    return (all_ - all_.mean()) / (all_.std() + 1e-8), all_ + values


add(
    "advantages of runs",
    advantages,
    lambda t, n: [normal(t, n), normal(t, n), torch.rand(t, n) > 0.97, normal(n)],
    (20, 211),
    (32, 10007),
    (32, 100003),
)


def smoothed(x):
    state, states = x[0], [x[0]]
    for row in x[1:]:
        state = 0.9 * state + 0.1 * row
        states.append(state)
    stacked = torch.stack(states)
    return ((x - stacked) ** 2).mean(0), stacked - stacked.mean()


both("residuals of smoothed series", smoothed, lambda t, n: [normal(t, n)], (16, 200), (24, 10007), (24, 200003))


def heston(price, variance, noise):
    dt = 1 / 252
    for step in noise:
        positive = variance.clamp(min=0)
        root = (positive * dt).sqrt()
        other = -0.7 * step[0] + math.sqrt(1 - 0.49) * step[1]
        price = price * torch.exp((0.02 - 0.5 * positive) * dt + root * step[0])
        variance = variance + 2.0 * (0.04 - positive) * dt + 0.3 * root * other
    return price, variance, torch.relu(price - 100).mean()


add(
    "prices and variances by steps",
    heston,
    lambda n: [torch.full((n,), 100.0), torch.full((n,), 0.04), normal(8, 2, n)],
    (1003,),
    (100003,),
    (2000003,),
)


def four_bits(packed, scales, codes, x):
    parts = torch.stack([codes[(packed >> 4).long()], codes[(packed & 15).long()]], -1)
    weight = parts.view(-1, 64) * scales[:, None]
    return F.linear(x, weight.view(-1, x.shape[1]))


def quantised(rows, columns):
    packed = integers(256, rows * columns // 2, dtype=torch.uint8)
    return [packed, uniform(rows * columns // 64), torch.linspace(-1, 1, 16), normal(3, columns)]


add("linear of codes of four bits", four_bits, quantised, (128, 512), (2048, 1024), (8192, 4096))


def trees(x, features, thresholds, leaves):
    bits = (x[:, features] > thresholds).long()
    place = (bits << torch.arange(bits.shape[-1], device=x.device)).sum(-1)
    return leaves[torch.arange(leaves.shape[0], device=x.device), place].sum(1).sigmoid()


add(
    "oblivious trees",
    trees,
    lambda n, d, t: [normal(n, d), integers(d, t, 6), normal(t, 6), normal(t, 64)],
    (151, 20, 60),
    (8011, 40, 100),
    (100003, 40, 100),
)


def harmonics(pitch, amplitudes):
    phase = torch.cumsum(2 * math.pi * pitch / 16000, 1)
    number = torch.arange(1, amplitudes.shape[-1] + 1, device=pitch.device)
    shares = amplitudes.softmax(-1) * (pitch[..., None] * number < 8000)
    shares = shares / (shares.sum(-1, keepdim=True) + 1e-7)
    return (torch.sin(phase[..., None] * number) * shares).sum(-1)


add(
    "harmonics of a pitch",
    harmonics,
    lambda b, t, h: [uniform(b, t, low=200.0, high=300.0), normal(b, t, h)],
    (1, 500, 20),
    (4, 8000, 20),
    (16, 64000, 40),
    tolerance=1e-3,
)


def peaks(heat):
    score = heat.sigmoid()
    return score * (F.max_pool2d(score, 3, 1, 1) == score)


add("peaks of scores", peaks, lambda b, c, h: [normal(b, c, h, h + 3)], (1, 5, 48), (2, 20, 200), (16, 80, 256))


def patterns(picture):
    wide = picture.to(torch.int16)
    centre = wide[:, 1:-1, 1:-1]
    rows, columns = centre.shape[1:]
    found = torch.zeros_like(centre, dtype=torch.uint8)
    for bit, (y, x) in enumerate([(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]):
        found = found | ((wide[:, y : y + rows, x : x + columns] >= centre).to(torch.uint8) << bit)
    return found


add(
    "binary patterns of a picture",
    patterns,
    lambda n, h: [integers(256, n, h, h + 2, dtype=torch.uint8)],
    (1, 161),
    (4, 640),
    (32, 1080),
)


def gradient_of_bytes(picture):
    dark = torch.minimum(torch.minimum(picture[:, :-2], picture[:, 1:-1]), picture[:, 2:])
    bright = torch.maximum(torch.maximum(picture[:, :-2], picture[:, 1:-1]), picture[:, 2:])
    return bright - dark


add(
    "range of bytes in columns",
    gradient_of_bytes,
    lambda n, h: [integers(256, n, h, h + 2, dtype=torch.uint8)],
    (1, 161),
    (4, 640),
    (32, 1080),
)


def features(x):
    each = [x, x * x, x.sin(), x.cos(), x.abs(), x.exp(), -x, x.tanh()]
    return torch.stack(each)


add("stacked features", features, lambda n, m: [normal(n, m)], (30, 40), (400, 1000), (4000, 4000))


def mixture(x, mean, variance, weight):
    each = ((x[:, None] - mean) ** 2 / variance + variance.log()).sum(-1)
    return each - 2 * (weight.softmax(0)).log()


add(
    "terms of components",
    mixture,
    lambda n, k, d: [normal(n, d), normal(k, d), uniform(k, d, low=0.5, high=1.5), normal(k)],
    (60, 8, 4),
    (20000, 16, 16),
    (200000, 32, 16),
)
