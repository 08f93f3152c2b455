"""Tensors for random programs, made from a seed: dtype, shape, layout, and values that are ordinary or special."""

import math
from dataclasses import dataclass

import torch

MISSING = [math.nan, math.inf, -math.inf, 0.0, -0.0]
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 1e-30, 1e-40, 2e4, 3e38, -3e38, 7.0]


@dataclass(frozen=True)
class Input:
    """A tensor: what is needed to make it again. `values`: "special", "missing" (NaN, infinities and zeros among
    ordinary ones, nothing that overflows by the order of operations), "ordinary" (normal numbers of many sizes),
    "positive", "probability" or "index:N" (integers below N)."""

    seed: int
    dtype: torch.dtype
    shape: tuple
    layout: str = "contiguous"
    values: str = "ordinary"
    requires_grad: bool = False

    def make(self, device="cpu"):
        with torch.device("cpu"):  # the same numbers for each device
            elements = _laid_out(_elements(self), self.layout)
        elements = elements.to(device)
        return elements.requires_grad_() if self.requires_grad else elements


def _elements(of):
    draw = torch.Generator().manual_seed(of.seed)
    count = math.prod(of.shape)
    if of.values.startswith("index:"):
        return torch.randint(int(of.values[6:]), of.shape, generator=draw, dtype=of.dtype)
    if of.dtype is torch.bool:
        return torch.rand(of.shape, generator=draw) < 0.5
    if of.dtype.is_complex:
        return torch.randn(of.shape, generator=draw, dtype=torch.complex128).to(of.dtype)
    if not of.dtype.is_floating_point:
        ends = torch.iinfo(of.dtype)
        low, high = (ends.min, ends.max) if of.values == "special" else (max(ends.min, -50), 50)
        return torch.randint(low, high, of.shape, generator=draw, dtype=of.dtype)
    numbers = torch.randn(count, generator=draw, dtype=torch.float64)
    if of.values in ("special", "missing"):
        others = SPECIAL if of.values == "special" else MISSING
        if others is SPECIAL:
            numbers *= 10 ** (torch.rand(count, generator=draw, dtype=torch.float64) * 8 - 4)
        chosen = torch.randint(len(others), (count,), generator=draw)
        is_special = torch.rand(count, generator=draw) < (0.25 if others is SPECIAL else 0.1)
        numbers = torch.where(is_special, torch.tensor(others, dtype=torch.float64)[chosen], numbers)
    if of.values == "positive":
        numbers = numbers.abs() + 0.125
    if of.values == "probability":
        numbers = 0.1 + 0.8 * numbers.sigmoid()
    return numbers.to(of.dtype).view(of.shape)


def _turned(x):
    return x.movedim(0, -1).contiguous().movedim(-1, 0) if x.dim() > 1 else x


def _sliced(x):
    return torch.stack([x, x], -1).flatten(-2)[..., ::2] if x.dim() else x


def _expanded(x):
    return x[:1].expand(x.shape) if x.dim() and x.shape[0] else x


def _offset(x):
    memory = torch.cat([x.flatten()[:1], x.flatten()]) if x.numel() else x.flatten()
    return memory[1 if x.numel() else 0 :].view(x.shape)


def _channels_last(x):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return x.contiguous(memory_format=formats[x.dim()]) if x.dim() in formats else _turned(x)


def _overlapping(x):
    """Windows: each row begins one element behind the one before."""
    if x.dim() < 2 or not x.numel():
        return x
    memory = torch.cat([x.flatten(0, -2)[0], x.flatten()[: x.shape[-2]]])
    return memory.unfold(0, x.shape[-1], 1)[: x.shape[-2]].expand(x.shape)


def _padded(x):
    """Rows with gaps behind each."""
    wide = torch.cat([x, x[..., :1]], -1) if x.dim() and x.shape[-1] else x
    return wide[..., : x.shape[-1]] if x.dim() else x


LAYOUTS = {
    "contiguous": lambda x: x, "turned": _turned, "sliced": _sliced, "expanded": _expanded, "offset": _offset,
    "channels last": _channels_last, "overlapping": _overlapping, "padded": _padded,
}  # fmt: skip


def _laid_out(x, layout):
    return LAYOUTS[layout](x)
