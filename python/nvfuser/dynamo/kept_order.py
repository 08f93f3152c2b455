"""Copies and sums between views whose results keep the order of memory of what they are made of.

    view(clone(expand(x)))   →   view(permute(clone(permute(expand(x)))))     x repeated along some axes
    sum(view(x), [3, 5])     →   permute(sum(permute(view(x)), [2, 4]))       its gradient

PyTorch's own results are contiguous. Where x has its channels innermost, the next convolution would copy them.
"""

import torch

aten = torch.ops.aten

_VIEWS = {aten.view.default, aten._unsafe_view.default, aten.reshape.default}


def _clone(call, node, source):
    """Arguments of the permute that stands for the copy; None where one of its views would not exist."""
    if source.dim() <= 4 or not all(user.target in _VIEWS for user in node.users):
        return None
    order = _order_in_memory(source)
    back = _inverse(order)
    copy = source.permute(order).contiguous().permute(back)
    try:
        for user in node.users:
            copy.view(user.args[1])
    except RuntimeError:
        return None
    made = call(aten.permute.default, node.args[0], order)
    return call(aten.clone.default, made, memory_format=torch.contiguous_format), back


def _sum(call, node, source):
    """Arguments of the permute that stands for the sum; None where no image is left."""
    reduced = {dim % source.dim() for dim in node.args[1] or range(source.dim())}
    if source.dim() - len(reduced) < 4 or any(node.args[2:3]):
        return None
    order = _order_in_memory(source)
    kept = [axis for axis in range(source.dim()) if axis not in reduced]
    left = [kept.index(axis) for axis in order if axis not in reduced]
    made = call(aten.permute.default, node.args[0], order)
    return call(node.target, made, [order.index(axis) for axis in sorted(reduced)], **node.kwargs), _inverse(left)


KEEP_ORDER = {aten.clone.default: _clone, aten.sum.dim_IntList: _sum}


def _inverse(order):
    return sorted(range(len(order)), key=order.__getitem__)


def _order_in_memory(tensor):
    """Its axes from the outermost on; one that it is expanded along stays behind the axis in front of it."""
    steps = list(tensor.stride())
    for axis in range(1, len(steps)):
        steps[axis] = steps[axis] or steps[axis - 1]
    return sorted(range(len(steps)), key=lambda axis: (-steps[axis], axis))
