"""Extremes with their positions, as two reductions: the value, then the first place that has it.

    values, places = x.max(-1)      values = x.amax(-1)
                                    places = where(x == values, 0 … n - 1, n).amin(-1)

Both are reductions of one row, which a kernel holds. A row with NaN has the first of these, as in eager.
"""

import torch

aten = torch.ops.aten

_MOST_INT32 = 2**31 - 1


def extreme_decompositions():
    return {
        aten.max.dim: _along(aten.amax),
        aten.min.dim: _along(aten.amin),
        aten.argmax.default: _place_alone(aten.amax),
        aten.argmin.default: _place_alone(aten.amin),
    }


def _along(extreme):
    def with_place(x, dim, keepdim=False):
        if _has_no_place(x):
            return NotImplemented
        values = extreme(x, [dim], True)
        places = _first_place(x, values, dim % x.dim(), keepdim)
        return values if keepdim else values.squeeze(dim), places

    return with_place


def _place_alone(extreme):
    def place(x, dim=None, keepdim=False):
        if _has_no_place(x) or x.dtype is torch.bool:
            return NotImplemented
        if dim is None:
            flat = x.reshape(-1)
            found = _first_place(flat, extreme(flat, [0], True), 0, False)
            return found.view([1] * x.dim()) if keepdim else found
        return _first_place(x, extreme(x, [dim], True), dim % x.dim(), keepdim)

    return place


def _has_no_place(x):
    return x.dim() == 0 or any(isinstance(size, int) and size == 0 for size in x.shape)


def _first_place(x, values, dim, keepdim):
    size = x.shape[dim]
    dtype = torch.int32 if isinstance(size, int) and size <= _MOST_INT32 else torch.int64
    places = torch.arange(size, dtype=dtype, device=x.device).view([-1] + [1] * (x.dim() - dim - 1))
    has = x == values
    if x.is_floating_point():
        has = has | x.isnan()
    return torch.where(has, places, size).amin(dim, keepdim).to(torch.int64)
