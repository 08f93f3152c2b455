"""Rules of operations that read elements by index."""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from nvfuser._C import DataType
from nvfuser._C.direct import ops

from .sizes import extent, times
from .table import WITHIN, meta, rule
from .views import along


def _no_axes(node):
    return "of a tensor without axes" if meta(node.args[0]).dim() == 0 else None


@rule("embedding")
def _embedding(scope, node, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    rows = scope.value(indices)
    if meta(indices).dim() == 0:
        return ops.squeeze(along(scope.value(weight), ops.broadcast(rows, [True]), 0, 2), [0])
    return along(scope.value(weight), rows, 0, 2, meta(indices).dim())


@rule("index_select", refuse=_no_axes)
def _index_select(scope, node, x, dim, index):
    rank, positions = meta(x).dim(), scope.value(index)
    if meta(index).dim() == 0:
        positions = ops.broadcast(positions, [True])
    return along(scope.value(x), positions, dim % rank, rank)


@rule("gather", refuse=_no_axes)
def _gather(scope, node, x, dim, index, *, sparse_grad=False):
    dim %= meta(x).dim()
    # An index as large as the tensor, but along its axis, shares the tensor's axes: its kernel's loops, too.
    exact = all(
        statically_known_true(size == whole)
        for at, (size, whole) in enumerate(zip(meta(index).shape, meta(x).shape, strict=True))
        if at != dim
    )
    return (ops.take_along_axis if exact else ops.gather)(scope.value(x), scope.value(index), dim)


# x[i, …] --------------------------------------------------------------------------------------------


def _masks(node):
    indices = node.args[1]
    found = [meta(index) for index in indices if index is not None]
    if any(index.dtype in (torch.bool, torch.uint8) for index in found):
        return "as many elements as are true"
    return _no_axes(node)


@rule("index.Tensor _unsafe_index.Tensor", refuse=_masks, moves_only=True)
def _index(scope, node, x, indices):
    """The indexed axes as one, which is read at one index; negative indices count from the end.

    Axes that do not stand side by side go to the front, as PyTorch has it. What the index is made of is computed where
    it is read. An index beyond an axis that is one of several becomes one beyond them all, which is noticed.
    """
    tensor, rank = scope.value(x), meta(x).dim()
    axes = [axis for axis, index in enumerate(indices) if index is not None]
    shape = list(meta(x).shape)
    if axes != list(range(axes[0], axes[0] + len(axes))):
        order = axes + [axis for axis in range(rank) if axis not in axes]
        tensor, shape = ops.permute(tensor, order), [shape[axis] for axis in order]
        indices, axes = [indices[axis] for axis in axes], list(range(len(axes)))
    place = axes[0]
    sizes = [extent(shape[axis], tensor, axis) for axis in range(rank)]
    within = node.meta.get(WITHIN, False)
    given = [scope.value(indices[axis]) for axis in axes]
    wrapped = given if within else [_from_the_end(i, sizes[axis]) for i, axis in zip(given, axes, strict=True)]
    index = _as_one(wrapped, [sizes[axis] for axis in axes], within)
    if len(axes) > 1:
        tensor = ops.reshape(tensor, [*sizes[:place], -1, *sizes[axes[-1] + 1 :]])
    rank -= len(axes) - 1
    of_index = max(meta(i).dim() for i in indices if i is not None)
    if of_index == 0:
        return ops.squeeze(along(tensor, ops.broadcast(index, [True]), place, rank), [place])
    return along(tensor, index, place, rank, of_index)


def _from_the_end(index, size):
    index = ops.cast(index, DataType.Int)
    return ops.where(ops.lt(index, 0), ops.add(index, size), index)


def _as_one(indices, sizes, within):
    """The index of several axes as one, row by row. `within`: none is beyond its axis."""
    if len(indices) == 1:
        return indices[0]
    whole, total, inside = None, 1, None
    for index, size in zip(indices, sizes, strict=True):
        if not within:
            valid = ops.logical_and(ops.ge(index, 0), ops.lt(index, size))
            inside = valid if inside is None else ops.logical_and(inside, valid)
        whole = index if whole is None else ops.add(ops.mul(whole, size), index)
        total = times(total, size)
    return whole if within else ops.where(inside, whole, total)
