"""Products of vectors with three components, component by component:

    cross(a, b)      stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], dim)

PyTorch's decomposition reads the components at an index, which a kernel cannot do of what it computes itself. A place
of a computed tensor is computed from its operands at that place (pass `hoist-selections`), so products of products are
one kernel.
"""

import torch

aten = torch.ops.aten


def component_decompositions():
    return {aten.linalg_cross.default: _cross}


def _cross(a, b, *, dim=-1):
    if a.dim() != b.dim() or a.shape[dim] != 3 or b.shape[dim] != 3 or a.dtype != b.dtype:
        return NotImplemented  # PyTorch says what is wrong
    a0, a1, a2 = a.unbind(dim)
    b0, b1, b2 = b.unbind(dim)
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return torch.stack(parts, dim % a.dim())
