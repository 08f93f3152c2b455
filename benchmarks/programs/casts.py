"""8-bit numbers with scales."""

import torch
import torch.nn.functional as F

from .program import Table, integers, normal, uniform

TABLE = Table("casts")
FP8 = torch.float8_e4m3fn
MOST = 448.0


def scaled_to_fp8_and_back(x):
    scale = x.abs().amax() / MOST
    return (x / scale).clamp(-MOST, MOST).to(FP8).to(x.dtype) * scale


def rows_to_fp8(x, bias):
    y = F.gelu(x + bias)
    scale = y.abs().amax(-1, keepdim=True) / MOST + 1e-12
    return (y / scale).to(FP8), scale


def bytes_with_zero_points(x):
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    scale = (high - low) / 255 + 1e-12
    return ((x - low) / scale).round().to(torch.uint8), scale, low


def weights_from_bytes(x, weight, scale):
    return x @ (weight.to(x.dtype) * scale[:, None]).t()


def mixed_precision_gate(x, y):
    return F.silu(x.to(torch.bfloat16)) * y.to(torch.bfloat16)


SMALL, MIDDLE, LARGE = (16, 64), (256, 1024), (4096, 4096)
TABLE.add(
    "scaled to fp8 and back", scaled_to_fp8_and_back, lambda n, m: [normal(n, m)], SMALL, MIDDLE, LARGE, tolerance=1e-2
)
TABLE.add("rows to fp8", rows_to_fp8, lambda n, m: [normal(n, m), normal(m)], SMALL, MIDDLE, LARGE, tolerance=1e-2)
TABLE.add(
    "bytes with zero points", bytes_with_zero_points, lambda n, m: [normal(n, m)], SMALL, MIDDLE, LARGE, tolerance=1e-3
)
TABLE.add(
    "weights from bytes",
    weights_from_bytes,
    lambda n, m: [normal(8, m), (integers(255, n, m) - 127).to(torch.int8), uniform(n)],
    SMALL,
    MIDDLE,
    LARGE,
)
TABLE.add(
    "gate in bfloat16",
    mixed_precision_gate,
    lambda n, m: [normal(n, m), normal(n, m)],
    SMALL,
    MIDDLE,
    LARGE,
    tolerance=1e-2,
)
