"""Rules of views, joins and constants. Those that are free are computed by whoever reads them."""

import torch

from nvfuser._C.direct import ops

from ..placement import Kind
from .table import is_symbolic, meta, rule

_FREE = {"kind": Kind.FREE}


# Views --------------------------------------------------------------------------------------------


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


def _part(scope, x, dim, start, end):
    """x[start:end] along an axis."""
    shape = meta(x).shape
    starts, ends = [0] * len(shape), [scope.extent_of(x, i) for i in range(len(shape))]
    starts[dim], ends[dim] = start, end
    return ops.slice(scope.value(x), starts, ends)


def _known_part(node):
    """Where it begins and how long it is has to be known."""
    x = node.args[0]
    dim = node.args[1] if len(node.args) > 1 else 0
    if is_symbolic(meta(x).shape[dim]) or any(isinstance(a, torch.fx.Node) for a in node.args[2:]):
        return "a part of an axis of unknown size"
    if len(node.args) > 4 and node.args[4] != 1:
        return "every n-th element"
    if node.meta["val"].numel() == 0 if not is_symbolic(*node.meta["val"].shape) else False:
        return "nothing is left"
    return None


@rule("slice.Tensor", refuse=_known_part, **_FREE)
def _slice(scope, node, x, dim=0, start=None, end=None, step=1):
    size = meta(x).shape[dim]
    first, last, _ = slice(start, end).indices(size)
    return _part(scope, x, dim % meta(x).dim(), first, last)


@rule("select.int", refuse=_known_part, **_FREE)
def _select(scope, node, x, dim, index):
    dim %= meta(x).dim()
    index %= meta(x).shape[dim]
    return ops.squeeze(_part(scope, x, dim, index, index + 1), [dim])


def _known_cut(node):
    x = node.args[0]
    dim = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    lengths = node.args[1] if isinstance(node.args[1], list | tuple) else [node.args[1]]
    if is_symbolic(meta(x).shape[dim]) or any(isinstance(a, torch.fx.Node) for a in lengths):
        return "a part of an axis of unknown size"
    return "an empty part" if any(part.shape[dim] == 0 for part in node.meta["val"]) else None


@rule("split.Tensor split_with_sizes", refuse=_known_cut, **_FREE)
def _split(scope, node, x, lengths, dim=0):
    dim %= meta(x).dim()
    parts, start = [], 0
    for part in node.meta["val"]:
        parts.append(_part(scope, x, dim, start, start + part.shape[dim]))
        start += part.shape[dim]
    return parts


def _known_axis(node):
    dim = node.args[1] if len(node.args) > 1 else 0
    return "an axis of unknown size" if is_symbolic(meta(node.args[0]).shape[dim]) else None


@rule("unbind.int", refuse=_known_axis, **_FREE)
def _unbind(scope, node, x, dim=0):
    dim %= meta(x).dim()
    return [ops.squeeze(_part(scope, x, dim, i, i + 1), [dim]) for i in range(meta(x).shape[dim])]


# Joins --------------------------------------------------------------------------------------------


def _odd_parts(node):
    parts = [meta(part) for part in node.args[0]]
    if any(part.dim() != node.meta["val"].dim() for part in parts):
        return "an empty tensor of another rank"
    if any(is_symbolic(size) for part in parts for size in part.shape):
        return "parts of unknown size"
    return "an empty part" if any(part.numel() == 0 for part in parts) else None


@rule("cat", refuse=_odd_parts, moves_only=True)
def _cat(scope, node, tensors, dim=0):
    dtype = node.meta["val"].dtype
    return ops.cat([scope.rounded(scope.operand(t, dtype), dtype) for t in tensors], dim % node.meta["val"].dim())


def _known_pad(node):
    widths = node.args[1]
    if any(isinstance(width, torch.fx.Node) for width in widths) or is_symbolic(*meta(node.args[0]).shape):
        return "a width of unknown size"
    return "cuts as well" if any(width < 0 for width in widths) else None


@rule("constant_pad_nd", refuse=_known_pad, moves_only=True)
def _pad(scope, node, x, widths, value=0):
    dtype = node.meta["val"].dtype
    return ops.pad(scope.rounded(scope.operand(x, dtype), dtype), list(widths), scope.number(value, dtype))


# Constants ----------------------------------------------------------------------------------------


@rule("full", **_FREE)
def _full(scope, node, size, value, **_):
    dtype = node.meta["val"].dtype
    return ops.full(scope.sizes(size, node), scope.operand(value, dtype), scope.dtype(dtype))


@rule("scalar_tensor", **_FREE)
def _scalar_tensor(scope, node, value, **_):
    dtype = node.meta["val"].dtype
    return ops.full([], scope.operand(value, dtype), scope.dtype(dtype))


def _known_size(node):
    return "of unknown size" if is_symbolic(*node.meta["val"].shape) else None


@rule("full_like")
def _full_like(scope, node, x, value, **_):
    """Of sizes that are only known in a call; prepare.py has made a `full` of the others."""
    dtype = node.meta["val"].dtype
    return ops.full(ops.shape(scope.value(x)), scope.operand(value, dtype), scope.dtype(dtype))


def _whole_steps(node):
    if node.meta["val"].dtype.is_floating_point:
        return "steps that are no integers"
    return _known_size(node)


@rule("arange.start_step", refuse=_whole_steps, **_FREE)
def _arange(scope, node, start, end, step=1, **_):
    dtype = node.meta["val"].dtype
    return ops.iota(node.meta["val"].shape[0], start, step, scope.dtype(dtype))
