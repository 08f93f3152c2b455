"""Cells over eight steps, written by hand."""

import torch

from .program import Table, normal

TABLE = Table("recurrent")
STEPS = 8


def lstm(x, h, c, w, u, b):
    out = []
    for step in range(STEPS):
        gates = x[step] @ w + h @ u + b
        i, f, g, o = gates.chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        out.append(h)
    return torch.stack(out), c


def gru(x, h, w, u, b):
    for step in range(STEPS):
        a, s = (x[step] @ w + b).chunk(3, -1), (h @ u).chunk(3, -1)
        r, z = torch.sigmoid(a[0] + s[0]), torch.sigmoid(a[1] + s[1])
        h = (1 - z) * torch.tanh(a[2] + r * s[2]) + z * h
    return h


def minimal_gates(x, forget, h):
    """A recurrence without products, as of state spaces."""
    out = []
    for step in range(STEPS):
        h = torch.sigmoid(forget[step]) * h + (1 - torch.sigmoid(forget[step])) * torch.tanh(x[step])
        out.append(h)
    return torch.stack(out)


def _lstm(n, w):
    return [normal(STEPS, n, w), normal(n, w), normal(n, w), normal(w, 4 * w) / w, normal(w, 4 * w) / w, normal(4 * w)]


def _gru(n, w):
    return [normal(STEPS, n, w), normal(n, w), normal(w, 3 * w) / w, normal(w, 3 * w) / w, normal(3 * w)]


SMALL, MIDDLE, LARGE = (4, 32), (64, 256), (1024, 512)
TABLE.add("LSTM", lstm, _lstm, SMALL, MIDDLE, LARGE)
TABLE.add("LSTM, trained", lstm, _lstm, SMALL, MIDDLE, LARGE, trained=True)
TABLE.add("GRU", gru, _gru, SMALL, MIDDLE, LARGE)
TABLE.add("GRU, trained", gru, _gru, SMALL, MIDDLE, LARGE, trained=True)
TABLE.add(
    "gates without products, trained",
    minimal_gates,
    lambda n, w: [normal(STEPS, n, w), normal(STEPS, n, w), normal(n, w)],
    SMALL,
    MIDDLE,
    LARGE,
    trained=True,
)
