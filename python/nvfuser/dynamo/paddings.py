"""Paddings by mode as joins and sums of parts, axis by axis, which kernels read in vectors. PyTorch writes the circular
one part after the other into memory without values, and reads the others at an index, their gradients under a mask for
each corner.

    pad(x, (1, 2), "circular")     cat([x[-1:], x, x[:2]])
    pad(x, (1, 2), "reflect")      cat([x[1:2], x, x[-3:-1].flip(-1)])
    pad(x, (1, 2), "replicate")    cat([x[:1], x, x[-1:].expand(2)])

On a GPU, whose threads read single elements as well, those of several axes by mirrors and ends are reads at an index of
each axis, which parts of them (shifted copies, stencils) share; of joins of joins each part would have nine places:

    pad(x, (1, 1, 1, 1), "reflect")     x[..., rows[:, None], columns], rows and columns 1, 0, 1, ..., n - 1, n - 2

    gradient of the reflected one      the middle of `grad`, and its borders turned, where they were read
    gradient of the replicated one     the middle of `grad`, and the sums of its borders at the ends
"""

import functools

import torch
from torch._prims_common import suggest_memory_format

aten = torch.ops.aten

_PADS = (torch.nn.functional.pad, torch._C._nn.pad)

DEVICES_OF_INDICES = ("cuda",)  # where borders are read at an index

_MOST_SUMMED = 8  # elements of a border that are added one by one


def join_circular(graph):
    """Changes a graph of Dynamo's, before it is traced: widths that are known numbers, and no wider than the tensor (of
    changing sizes that is checked before each call)."""
    for node in graph.nodes:
        if node.op != "call_function" or node.target not in _PADS:
            continue
        given = dict(zip(("input", "pad", "mode", "value"), node.args, strict=False)) | node.kwargs
        if given.get("mode") == "circular" and _are_within(given["input"], given["pad"]):
            node.target, node.args, node.kwargs = _circular, (given["input"], list(given["pad"])), {}


def _are_within(x, widths):
    x = x.meta.get("example_value") if isinstance(x, torch.fx.Node) else None
    if not isinstance(x, torch.Tensor) or not all(isinstance(width, int) for width in widths):
        return False
    return all(width >= 0 and bool(width <= x.shape[axis]) for axis, both in _by_axis(x, widths) for width in both)


def _circular(x, widths):
    return _joined(x, widths, _other_end).contiguous()  # in whatever order x lies


def _joined(x, widths, border):
    """`border(x, axis, first, count)`: `count` elements in front of x, or behind it."""
    for axis, (before, after) in _by_axis(x, widths):
        front = [border(x, axis, True, before)] if before else []
        behind = [border(x, axis, False, after)] if after else []
        x = torch.cat([*front, x, *behind], axis) if front or behind else x
    return x


def _other_end(x, axis, first, count):
    return x.narrow(axis, x.shape[axis] - count if first else 0, count)


def padding_decompositions():
    table = {}
    for rank in (1, 2, 3):
        for name, border, places, gradient in (
            ("reflection", _turned, _mirrored, _reflected),
            ("replication", _stretched, _nearest, _replicated),
        ):
            table[getattr(aten, f"{name}_pad{rank}d").default] = functools.partial(
                _padded, border=border, places=places
            )
            table[getattr(aten, f"{name}_pad{rank}d_backward").default] = gradient
    return table


def _padded(x, widths, border, places):
    if any(not isinstance(width, int) or width < 0 for width in widths):
        return NotImplemented
    reads = x.device.type in DEVICES_OF_INDICES and sum(any(both) for _, both in _by_axis(x, widths)) > 1
    result = _read(x, widths, places) if reads else _joined(x, widths, border)
    order = suggest_memory_format(x) if x.device.type == "cpu" else torch.contiguous_format
    return result.contiguous(memory_format=order) if result is not x else x.clone(memory_format=order)


def _read(x, widths, places):
    """x at `places(count, before, after)` of its axes, from the first one that is padded on."""
    axes = [(axis, both) for axis, both in reversed(_by_axis(x, widths))]
    while not any(axes[0][1]):
        del axes[0]
    indices = [places(x.shape[axis], before, after, x.device) for axis, (before, after) in axes]
    shaped = [index.view(-1, *[1] * (len(axes) - 1 - i)) for i, index in enumerate(indices)]
    return aten.index.Tensor(x, [None] * axes[0][0] + shaped)


def _mirrored(count, before, after, device):
    place = torch.arange(-before, count + after, device=device)
    return (count - 1) - ((count - 1) - place.abs()).abs()


def _nearest(count, before, after, device):
    return torch.arange(-before, count + after, device=device).clamp(0, count - 1)


def _turned(x, axis, first, count):
    return x.narrow(axis, 1 if first else x.shape[axis] - 1 - count, count).flip(axis)


def _stretched(x, axis, first, count):
    sizes = list(x.shape)
    sizes[axis] = count
    return x.narrow(axis, 0 if first else x.shape[axis] - 1, 1).expand(sizes)


def _reflected(grad, x, widths):
    def ends(first, last, axis, size):
        before, after = first.shape[axis], last.shape[axis]
        yield first.flip(axis), 1, size - 1 - before
        yield last.flip(axis), size - 1 - after, 1

    return _folded(grad, x, widths, ends)


def _replicated(grad, x, widths):
    def ends(first, last, axis, size):
        yield _total(first, axis), 0, size - 1
        yield _total(last, axis), size - 1, 0

    return _folded(grad, x, widths, ends)


def _folded(grad, x, widths, ends):
    """`ends(first, last, axis, size)`: what borders give along an axis, with the zeros before and behind it."""
    if grad.device.type != "cpu" or any(not isinstance(n, int) for n in (*widths, *x.shape)) or min(widths) < 0:
        return NotImplemented
    wide = grad.float() if grad.dtype in (torch.float16, torch.bfloat16) else grad
    for axis, (before, after) in _by_axis(x, widths):
        size = x.shape[axis]
        total = wide.narrow(axis, before, size)
        first, last = wide.narrow(axis, 0, before), wide.narrow(axis, before + size, after)
        for part, zeros_before, zeros_behind in ends(first, last, axis, size):
            if part.shape[axis]:
                others = [0, 0] * (x.dim() - 1 - axis)
                total = total + aten.constant_pad_nd(part, [*others, zeros_before, zeros_behind])
        wide = total
    return wide.to(grad.dtype)


def _total(border, axis):
    """The sum along an axis, which stays."""
    count = border.shape[axis]
    if not 0 < count <= _MOST_SUMMED:
        return border if count == 0 else border.sum(axis, keepdim=True)
    total = border.narrow(axis, 0, 1)
    for i in range(1, count):
        total = total + border.narrow(axis, i, 1)
    return total


def _by_axis(x, widths):
    return [(x.dim() - 1 - i // 2, (widths[i], widths[i + 1])) for i in range(0, len(widths), 2)]
