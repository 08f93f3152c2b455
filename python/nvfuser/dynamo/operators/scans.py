"""Rules of running sums, products and extremes. Half precision is carried in float32, integers in int64, as in PyTorch;
a dtype that is asked for is what elements are cast to first. The place of a running extreme is the last one up to there
whose element is the extreme of those before it: a running maximum of places."""

import torch

from nvfuser._C import DataType
from nvfuser._C.direct import ops

from .table import is_symbolic, meta, overload, rule

# Elements of a single line that one block of a GPU walks about as fast as a library does with all of them.
_LONGEST_WALKED = 65536


def _one_long_line(node):
    value = meta(node.args[0])
    if value.device.type != "cuda" or is_symbolic(*value.shape):
        return None
    if max(value.shape, default=0) == value.numel() > _LONGEST_WALKED:
        return "one long line, which a GPU's library shares among blocks"
    return None


def _scanned(scope, x, dim, dtype, operation, backward=False):
    tensor = scope.value(x) if dtype in (None, meta(x).dtype) else scope.rounded(scope.value(x), dtype)
    dtype = dtype or meta(x).dtype
    wide = scope.dtype(dtype) if dtype.is_floating_point else DataType.Int
    tensor = tensor if tensor.dtype() == wide else ops.cast(tensor, wide)
    rank = meta(x).dim()
    return operation(tensor, dim % rank, backward=backward) if rank else ops.set(tensor)


@rule("cumsum", refuse=_one_long_line)
def _cumsum(scope, node, x, dim, *, dtype=None):
    return _scanned(scope, x, dim, dtype, ops.cumsum)


@rule("cumprod", refuse=_one_long_line)
def _cumprod(scope, node, x, dim, *, dtype=None):
    return _scanned(scope, x, dim, dtype, ops.cumprod)


def _no_line_of_numbers(node):
    return "an extreme of truths" if meta(node.args[0]).dtype is torch.bool else _one_long_line(node)


def _running_extreme(scope, x, dim, operation):
    value, rank = meta(x), meta(x).dim()
    tensor = scope.value(x)
    if rank == 0:
        return ops.set(tensor), ops.full([], 0, DataType.Int)
    dim %= rank
    floating = value.dtype.is_floating_point
    wide = scope.dtype(value.dtype) if floating else DataType.Int
    tensor = tensor if tensor.dtype() == wide else ops.cast(tensor, wide)
    extremes = operation(tensor, dim)
    leads = ops.eq(tensor, extremes)
    leads = ops.logical_or(leads, ops.isnan(tensor)) if floating else leads
    places = ops.iota(scope.extent_of(x, dim), 0, 1, DataType.Int)
    places = ops.broadcast(places, [axis != dim for axis in range(rank)])
    found = ops.cummax(ops.where(leads, places, 0), dim)
    return extremes if floating else ops.cast(extremes, scope.dtype(value.dtype)), found


@rule("cummax", refuse=_no_line_of_numbers)
def _cummax(scope, node, x, dim):
    return _running_extreme(scope, x, dim, ops.cummax)


@rule("cummin", refuse=_no_line_of_numbers)
def _cummin(scope, node, x, dim):
    return _running_extreme(scope, x, dim, ops.cummin)


_SCANS = {overload("cumsum"): ops.cumsum, overload("cumprod"): ops.cumprod}
_FLIP = overload("flip")


def backward_scan(scope, x, dims):
    """What flip(x, dims) is where x scans flip(y, dims) along that axis, as gradients of scans do: y scanned from its
    end. None: it is something else."""
    operation = None if scope.is_given(x) else _SCANS.get(x.target)
    source = x.args[0] if operation is not None else None
    if getattr(source, "target", None) is not _FLIP or scope.is_given(source) or len(dims) != 1:
        return None
    rank = meta(x).dim()
    axes = {dim % rank for dim in (*dims, x.args[1], *source.args[1])}
    if len(axes) != 1 or len(source.args[1]) != 1:
        return None
    return _scanned(scope, source.args[0], x.args[1], x.kwargs.get("dtype"), operation, backward=True)
