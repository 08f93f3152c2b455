"""Rules of views. They are free: whoever reads one computes it."""

import sys

import torch

from nvfuser._C import DataType
from nvfuser._C.direct import ops

from ..placement import Kind
from .sizes import extent, least, minus, plus, steps, times
from .table import is_symbolic, meta, rule

_FREE = {"kind": Kind.FREE}


# Other axes of the same elements --------------------------------------------------------------------


@rule("view _unsafe_view reshape", **_FREE)
def _view(scope, node, x, size):
    tensor = scope.value(x)
    if not meta(x).dim() and not size:
        return tensor
    return ops.reshape(tensor, scope.sizes(size, node))


def _is_reshape(node):
    source, value = meta(node.args[0]), node.meta["val"]
    if is_symbolic(*source.shape, *value.shape) or source.numel() != value.numel():
        return "of other elements than its input has"
    in_order = source.is_contiguous() and value.is_contiguous()
    same_place = len(node.args) < 4 or node.args[3] in (None, source.storage_offset())
    return None if in_order and same_place else "strides of its own"


@rule("as_strided", refuse=_is_reshape, **_FREE)
def _as_strided(scope, node, x, size, stride, offset=None):
    return ops.reshape(scope.value(x), list(size))


@rule("alias detach lift_fresh", **_FREE)
def _alias(scope, node, x):
    return scope.value(x)


@rule("permute", **_FREE)
def _permute(scope, node, x, dims):
    rank = len(dims)
    return ops.permute(scope.value(x), [dim % rank for dim in dims]) if rank else scope.value(x)


@rule("t", **_FREE)
def _t(scope, node, x):
    return ops.permute(scope.value(x), [1, 0]) if meta(x).dim() == 2 else scope.value(x)


@rule("transpose.int", **_FREE)
def _transpose(scope, node, x, dim0, dim1):
    rank = meta(x).dim()
    order = list(range(rank))
    if rank:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return ops.permute(scope.value(x), order) if rank else scope.value(x)


@rule("unsqueeze", **_FREE)
def _unsqueeze(scope, node, x, dim):
    rank = meta(x).dim() + 1
    return ops.unsqueeze(scope.value(x), dim % rank)


@rule("squeeze squeeze.dim squeeze.dims", **_FREE)
def _squeeze(scope, node, x, dim=None):
    rank = meta(x).dim()
    dims = range(rank) if dim is None else [dim] if isinstance(dim, int) else dim
    drop = [d % rank for d in dims if rank and not is_symbolic(meta(x).shape[d]) and meta(x).shape[d] == 1]
    return ops.squeeze(scope.value(x), sorted(drop)) if drop else scope.value(x)


@rule("expand", **_FREE)
def _expand(scope, node, x, size, implicit=False):
    tensor = scope.value(x)
    if not size:
        return tensor
    return ops.expand(tensor, scope.sizes(size, node))


def _other_kind(node):
    source, wanted = meta(node.args[0]).dtype, node.meta["val"].dtype
    if source.itemsize != wanted.itemsize:
        return "elements of another size"
    return "truth values made of bits" if torch.bool in (source, wanted) else None


@rule("view.dtype", refuse=_other_kind, **_FREE)
def _view_bits(scope, node, x, dtype):
    return ops.bitcast(scope.stored(x), scope.exact_dtype(dtype))


# Parts ----------------------------------------------------------------------------------------------


def part(tensor, rank, dim, start, end):
    """tensor[start:end] along an axis, with Python's meaning of bounds: numbers, scalars of the fusion or None."""
    starts, ends = [0] * rank, [tensor.size(axis) for axis in range(rank)]
    if isinstance(start, int) and isinstance(end, int) and 0 <= end < start:
        end = start  # nothing

    def from_front(bound):
        """Constant bounds of a slice count from the front."""
        is_from_end = isinstance(bound, int) and bound < 0
        return ops.maximum(ops.add(tensor.size(dim), bound), 0) if is_from_end else bound

    starts[dim] = 0 if start is None else from_front(start)
    if end is not None and not (isinstance(end, int) and end >= sys.maxsize):
        ends[dim] = from_front(end)
    return ops.slice(tensor, starts, ends)


def along(tensor, index, dim, rank, index_rank=1):
    """Elements of `tensor` along an axis, at the positions that `index` holds: its axes stand in the axis' place.

    The index gets the tensor's other axes, as broadcast ones: it is computed where it is read.
    """
    flags = [not dim <= axis < dim + index_rank for axis in range(rank + index_rank - 1)]
    if index_rank > 1:
        tensor = ops.broadcast(tensor, [dim < axis < dim + index_rank for axis in range(rank + index_rank - 1)])
    return ops.take_along_axis(tensor, ops.broadcast(index, flags), dim)


def counted(length, start=0, step=1):
    """start, start + step, … as indices."""
    return ops.iota(length, start, step, DataType.Int)


def every(tensor, rank, dim, start, length, step):
    """Elements start, start + step, … of an axis, `length` of them."""
    starts, sizes, strides = [0] * rank, [tensor.size(axis) for axis in range(rank)], [1] * rank
    starts[dim], sizes[dim], strides[dim] = start, length, step
    return ops.strided_slice(tensor, starts, sizes, strides)


def windows(tensor, rank, dim, size, first, step, count, width=1):
    """`width` elements from `first` on, then from `first + step`, … `count` times: an axis of windows and one within,
    as a split of the axis. None where sizes are no numbers, windows overlap, or the axis ends before the last step."""
    numbers = (size, first, step, count, width)
    if not all(isinstance(number, int) for number in numbers) or not 0 < width <= step or count <= 0:
        return None
    before = max(0, first + count * step - size)  # elements of each step in front of its window
    if before > min(first, step - width):
        return None
    begin = first - before
    if count * step != size:
        tensor = part(tensor, rank, dim, begin, begin + count * step)
    sizes = [tensor.size(axis) for axis in range(rank)]
    split = ops.reshape(tensor, [*sizes[:dim], count, step, *sizes[dim + 1 :]])
    return part(split, rank + 1, dim + 1, before, before + width)


def _odd_step(node):
    step = node.args[4] if len(node.args) > 4 else 1
    return None if isinstance(step, int) else "a step of unknown size"


@rule("slice.Tensor", refuse=_odd_step, **_FREE)
def _slice(scope, node, x, dim=0, start=None, end=None, step=1):
    rank = meta(x).dim()
    dim, size = dim % rank, meta(x).shape[dim]
    start, end = scope.scalar(start), scope.scalar(end)
    if isinstance(size, int) and all(bound is None or isinstance(bound, int) for bound in (start, end)):
        start, end, _ = slice(start, end).indices(size)
        if (start, end, step) == (0, size, 1):
            return scope.value(x)
    length = node.meta["val"].shape[dim]
    if step == 1:
        return part(scope.value(x), rank, dim, start, end)
    if isinstance(start, int) and isinstance(length, int):
        return every(scope.value(x), rank, dim, start, length, step)
    found = part(scope.value(x), rank, dim, start, end)
    return every(found, rank, dim, 0, length if isinstance(length, int) else steps(found.size(dim), step), step)


@rule("select.int", **_FREE)
def _select(scope, node, x, dim, index):
    rank = meta(x).dim()
    dim, size = dim % rank, meta(x).shape[dim]
    index = scope.scalar(index)
    if isinstance(index, int) and isinstance(size, int):
        index %= size
    if isinstance(index, int) and index >= 0:
        return ops.squeeze(part(scope.value(x), rank, dim, index, index + 1), [dim], squeeze_expanded=True)
    return ops.select(scope.value(x), index, dim)


@rule("split.Tensor split_with_sizes", **_FREE)
def _split(scope, node, x, lengths, dim=0):
    rank = meta(x).dim()
    dim %= rank
    count = len(node.meta["val"])
    if not isinstance(lengths, list | tuple):
        lengths = [lengths] * count
    tensor, start, parts = scope.value(x), 0, []
    for position, length in enumerate(lengths):
        end = plus(start, scope.scalar(length))
        is_last = position == count - 1
        parts.append(part(tensor, rank, dim, start, None if is_last else end))
        start = end
    return parts


def _known_axis(node):
    dim = node.args[1] if len(node.args) > 1 else 0
    return "an axis of unknown size" if is_symbolic(meta(node.args[0]).shape[dim]) else None


@rule("unbind.int", refuse=_known_axis, **_FREE)
def _unbind(scope, node, x, dim=0):
    rank = meta(x).dim()
    dim %= rank
    tensor = scope.value(x)
    return [ops.squeeze(part(tensor, rank, dim, i, i + 1), [dim]) for i in range(meta(x).shape[dim])]


@rule("diagonal", **_FREE)
def _diagonal(scope, node, x, offset=0, dim1=0, dim2=1):
    """Of rows and columns as one axis, each (columns + 1)-th element."""
    rank = meta(x).dim()
    dim1, dim2 = dim1 % rank, dim2 % rank
    order = [axis for axis in range(rank) if axis not in (dim1, dim2)] + [dim1, dim2]
    tensor = ops.permute(scope.value(x), order)
    before = [tensor.size(axis) for axis in range(rank - 2)]
    columns = extent(meta(x).shape[dim2], tensor, rank - 1)
    flat = ops.reshape(tensor, [*before, -1])
    length = node.meta["val"].shape[-1]
    if not isinstance(length, int):
        rows = extent(meta(x).shape[dim1], tensor, rank - 2)
        length = least(plus(rows, min(offset, 0)), plus(columns, -max(offset, 0)))
    first = offset if offset >= 0 else times(columns, -offset)
    return along(flat, counted(length, first, plus(columns, 1)), rank - 2, rank - 1)


@rule("unfold", **_FREE)
def _unfold(scope, node, x, dim, size, step):
    """Windows that may overlap: their elements one after the other, then as an axis of their own."""
    rank = meta(x).dim()
    tensor = scope.value(x)
    if rank == 0:
        return ops.unsqueeze(tensor, 0)
    dim %= rank
    count = node.meta["val"].shape[dim]
    if not isinstance(count, int):
        count = plus(ops.div(minus(tensor.size(dim), size), step), 1)
    found = windows(tensor, rank, dim, meta(x).shape[dim], 0, step, count, size)
    if found is None:
        first = ops.mul(ops.unsqueeze(counted(count), 1), step)
        found = along(tensor, ops.add(first, ops.unsqueeze(counted(size), 0)), dim, rank, 2)
    order = [axis for axis in range(rank + 1) if axis != dim + 1] + [dim + 1]
    return ops.permute(found, order)
