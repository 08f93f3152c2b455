"""Products of matrices with vectors, on the CPU: sums and products that kernels compute with their neighbours.

Such a product reads each number of its matrix once, so a library computes it at the speed of memory, and no faster. As
part of a kernel it costs no call, and what its operands are made of need not be stored: a decoding step's scores over
a cache that a new row is joined to, a head of one number, a gradient of a weight with one column.

    (b, m, k) x (b, k, 1)   sums along the rows of the matrix
    (b, 1, k) x (b, k, n)   sums down its columns, in batches; a single one stays the library's, whose threads share it
    (b, m, 1) x (b, 1, n)   products of all pairs, no sum

Half precision is multiplied and summed in float32, as by the library.
"""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten

_HALF = (torch.float16, torch.bfloat16)
_FLOATS = (*_HALF, torch.float32, torch.float64)


def vector_product_decompositions():
    return {aten.mm.default: _mm, aten.bmm.default: _bmm, aten.addmm.default: _addmm}


def _mm(a, b):
    if not (_is_fused(a, b) and (_is_one(b.shape[1]) or _is_one(a.shape[1]))):
        return NotImplemented
    return _product(a, b)


def _bmm(a, b):
    if not (_is_fused(a, b) and any(_is_one(size) for size in (a.shape[1], a.shape[2], b.shape[2]))):
        return NotImplemented
    return _product(a, b)


def _addmm(bias, a, b, beta=1, alpha=1):
    product = _mm(a, b) if beta == alpha == 1 and bias.dtype not in _HALF else NotImplemented
    return product if product is NotImplemented else bias + product


def _is_fused(a, b):
    return a.device.type == b.device.type == "cpu" and a.dtype in _FLOATS


def _is_one(size):
    return statically_known_true(size == 1)


def _product(a, b):
    """Rows after rows in memory, as a library lays them out."""
    wide = torch.float32 if a.dtype in _HALF else a.dtype
    left, right = a.to(wide), b.to(wide)
    if _is_one(b.shape[-1]):
        return (left * right.transpose(-2, -1)).sum(-1).to(a.dtype).contiguous().unsqueeze(-1)
    if _is_one(a.shape[-2]):
        return (left.transpose(-2, -1) * right).sum(-2).to(a.dtype).contiguous().unsqueeze(-2)
    return (left * right).to(a.dtype).contiguous()
