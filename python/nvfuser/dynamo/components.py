"""Products along axes of few elements, component by component:

    cross(a, b)      stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], dim)
    x.prod(-1)       x0 * x1, of two components

PyTorch's decomposition reads the components at an index, which a kernel cannot do of what it computes itself. A place
of a computed tensor is computed from its operands at that place (pass `hoist-selections`), so products of products are
one kernel. What is no reduction is computed again for the gradient, if that saves storing it.
"""

import torch

aten = torch.ops.aten

_MOST_FACTORS = 4


def component_decompositions():
    return {aten.linalg_cross.default: _cross, aten.prod.dim_int: _product}


def _cross(a, b, *, dim=-1):
    if a.dim() != b.dim() or a.shape[dim] != 3 or b.shape[dim] != 3 or a.dtype != b.dtype:
        return NotImplemented  # PyTorch says what is wrong
    a0, a1, a2 = a.unbind(dim)
    b0, b1, b2 = b.unbind(dim)
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return torch.stack(parts, dim % a.dim())


def _product(x, dim, keepdim=False, *, dtype=None):
    if x.dim() == 0 or x.dtype not in (torch.float32, torch.float64) or dtype not in (None, x.dtype):
        return NotImplemented
    size = x.shape[dim]
    if not isinstance(size, int) or not 1 < size <= _MOST_FACTORS:
        return NotImplemented
    result, *others = x.unbind(dim)
    for factor in others:
        result = result * factor
    result = result.contiguous()  # as eager's reduction is, whatever the layout of x
    return result.unsqueeze(dim % x.dim()) if keepdim else result
