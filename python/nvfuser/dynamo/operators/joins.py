"""Rules of what puts tensors together, or the same elements in another order, in memory of its own."""

from torch.fx.experimental.symbolic_shapes import statically_known_true

from nvfuser._C.direct import ops

from .scans import backward_scan
from .sizes import bound, extent, minus, plus, times
from .table import has_not, meta, rule
from .views import along, counted, part


def _odd_parts(node):
    parts = [meta(part) for part in node.args[0]]
    if any(part.dim() != node.meta["val"].dim() for part in parts):
        return "an empty tensor of another rank"
    return None


@rule("cat", refuse=_odd_parts, moves_only=True)
def _cat(scope, node, tensors, dim=0):
    dtype = node.meta["val"].dtype
    return ops.cat([scope.rounded(scope.operand(t, dtype), dtype) for t in tensors], dim % node.meta["val"].dim())


def _beyond_dtype(node):
    return has_not(node.meta["val"].dtype, *map(meta, node.args[2:]))


@rule("constant_pad_nd", refuse=_beyond_dtype, moves_only=True)
def _pad(scope, node, x, widths, value=0):
    """Negative widths cut: those that are numbers by slices, outside of which there is nothing to look for."""
    dtype, rank = node.meta["val"].dtype, meta(x).dim()
    tensor = scope.rounded(scope.operand(x, dtype), dtype)
    widths = [scope.scalar(width) for width in widths]
    for dim, size in enumerate(meta(x).shape):
        at = 2 * (rank - 1 - dim)
        pair = widths[at : at + 2]
        known = len(pair) == 2 and all(isinstance(number, int) for number in (size, *pair))
        cut = [max(0, -width) for width in pair] if known else [0, 0]
        if 0 < sum(cut) < size:
            tensor = part(tensor, rank, dim, cut[0], size - cut[1])
            widths[at : at + 2] = [max(0, width) for width in pair]
    if not any(not isinstance(width, int) or width for width in widths):
        return ops.set(tensor)
    return ops.pad(tensor, widths, scope.number(value, dtype))


@rule("repeat", moves_only=True)
def _repeat(scope, node, x, repeats):
    """An axis of its own for each count, stretched, then one with the axis behind it."""
    tensor, rank, added = scope.value(x), len(repeats), len(repeats) - meta(x).dim()
    counts = [scope.scalar(count) for count in repeats]
    if rank == 0:
        return ops.set(tensor)
    sizes = [1] * added + [extent(size, tensor, axis) for axis, size in enumerate(meta(x).shape)]
    spread = ops.broadcast(tensor, [True] * (2 * added) + [True, False] * meta(x).dim())
    pairs = [size for pair in zip(counts, sizes, strict=True) for size in pair]
    wanted = [times(count, size) for count, size in zip(counts, sizes, strict=True)]
    return ops.reshape(ops.expand(spread, pairs), wanted)


@rule("flip", moves_only=True)
def _flip(scope, node, x, dims):
    scanned = backward_scan(scope, x, dims)
    if scanned is not None:
        return scanned
    return ops.flip(scope.value(x), [dim % meta(x).dim() for dim in dims])


@rule("copy", moves_only=True)
def _copy(scope, node, x, source, non_blocking=False):
    """`source` in the dtype and sizes of x."""
    wanted = node.meta["val"]
    tensor = ops.set(scope.rounded(scope.value(source), wanted.dtype))
    same = meta(source).dim() == wanted.dim() and all(
        statically_known_true(a == b) for a, b in zip(meta(source).shape, wanted.shape, strict=True)
    )
    if same:
        return tensor
    return ops.expand(tensor, [scope.extent_of(x, axis) for axis in range(wanted.dim())])


@rule("slice_scatter", moves_only=True)
def _slice_scatter(scope, node, x, source, dim=0, start=None, end=None, step=1):
    """x, but for each step-th element of a part."""
    dtype, rank = meta(x).dtype, meta(x).dim()
    dim %= rank
    size = scope.extent_of(x, dim)
    start, end = bound(scope.scalar(start), size, 0), bound(scope.scalar(end), size, size)
    tensor = scope.rounded(scope.value(x), dtype)
    source_tensor, count = scope.rounded(scope.operand(source, dtype), dtype), scope.extent_of(source, dim)
    place = counted(size)
    if step == 1:
        inside = ops.logical_and(ops.ge(place, start), ops.lt(place, plus(start, count)))
        widths = [0, 0] * (rank - 1 - dim) + [start, minus(size, plus(start, count))]
        placed = ops.pad(source_tensor, widths)
    else:
        inside = ops.logical_and(ops.ge(place, start), ops.lt(place, end))
        offset = ops.sub(place, start)
        inside = ops.logical_and(inside, ops.eq(ops.mod(offset, step), 0))
        offset = ops.minimum(ops.maximum(ops.div(offset, step), 0), plus(count, -1))
        placed = along(source_tensor, offset, dim, rank)
    return ops.where(ops.broadcast(inside, [axis != dim for axis in range(rank)]), placed, tensor)


@rule("select_scatter", moves_only=True)
def _select_scatter(scope, node, x, source, dim, index):
    """x, but for one place of an axis."""
    dtype, rank = meta(x).dtype, meta(x).dim()
    dim %= rank
    size = scope.extent_of(x, dim)
    index = scope.scalar(index)
    if isinstance(index, int):
        index = plus(size, index) if index < 0 else index
    else:
        index = ops.where(ops.lt(index, 0), ops.add(index, size), index)
    inside = ops.broadcast(ops.eq(counted(size), index), [axis != dim for axis in range(rank)])
    placed = ops.unsqueeze(scope.rounded(scope.operand(source, dtype), dtype), dim)
    return ops.where(inside, placed, scope.rounded(scope.value(x), dtype))
