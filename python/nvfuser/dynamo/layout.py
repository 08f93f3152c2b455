"""How tensors lie in memory: the order of their axes, and which are contiguous with the next."""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true


def same_sizes(a, b):
    """Whether two tensors have the same shape, as far as it is known."""
    return a.dim() == b.dim() and all(statically_known_true(x == y) for x, y in zip(a.shape, b.shape, strict=True))


def hint(size):
    """The size of the call that was traced; 2 for a size that only the data will tell."""
    if isinstance(size, torch.SymInt):
        return size.node.hint if size.node.has_hint() else 2
    return size


def order_of(shape, strides, holds):
    """(axes, outermost first; for each in this order whether it is contiguous with the next, None for broadcast ones).

    `holds(condition)` tells whether a condition on symbolic sizes is known to be true.
    """
    rank = len(shape)
    hints = [hint(stride) for stride in strides]
    # Axes without a stride of their own keep their place between the others.
    moving = [axis for axis in range(rank) if hints[axis] != 0]
    by_stride = iter(sorted(moving, key=lambda axis: (-hints[axis], axis)))
    order = [next(by_stride) if hints[axis] != 0 else axis for axis in range(rank)]
    contiguity = [None] * rank
    expected = 1
    for place in reversed(range(rank)):
        axis = order[place]
        size, stride = shape[axis], strides[axis]
        if (isinstance(size, int) and size == 1) or (isinstance(stride, int) and stride == 0):
            continue
        contiguity[place] = bool(holds(stride == expected))
        expected = stride * size
    return order, contiguity


def is_dense(tensor, holds):
    """Whether its elements fill its memory without gaps and overlaps: an own tensor, not a part of another one."""
    if any(isinstance(size, int) and size == 0 for size in tensor.shape):
        return True
    expected = 1
    order, _ = order_of(tensor.shape, tensor.stride(), holds)
    for axis in reversed(order):
        size = tensor.shape[axis]
        if isinstance(size, int) and size == 1:
            continue
        if not holds(tensor.stride(axis) == expected):
            return False
        expected = expected * size
    return True
