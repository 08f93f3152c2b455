"""Rules of tensors that are made from numbers. Whoever reads one computes it."""

import torch

from nvfuser._C import DataType
from nvfuser._C.direct import ops

from ..placement import Kind
from .sizes import minus, steps
from .table import has_not, meta, rule

_FREE = {"kind": Kind.FREE}


def _beyond_dtype(node):
    """The value is the last argument."""
    return has_not(node.meta["val"].dtype, meta(node.args[-1]))


@rule("full", refuse=_beyond_dtype, **_FREE)
def _full(scope, node, size, value, **_):
    dtype = node.meta["val"].dtype
    return ops.full(scope.sizes(size, node), scope.operand(value, dtype), scope.dtype(dtype))


@rule("scalar_tensor", refuse=_beyond_dtype, **_FREE)
def _scalar_tensor(scope, node, value, **_):
    dtype = node.meta["val"].dtype
    return ops.full([], scope.operand(value, dtype), scope.dtype(dtype))


@rule("full_like", refuse=_beyond_dtype)
def _full_like(scope, node, x, value, **_):
    """Of sizes that are only known in a call; prepare.py has made a `full` of the others."""
    dtype = node.meta["val"].dtype
    return ops.full(ops.shape(scope.value(x)), scope.operand(value, dtype), scope.dtype(dtype))


def _odd_range(node):
    bounds = [meta(bound) for bound in node.args]
    if isinstance(node.meta["val"].shape[0], int):
        return None
    if not all(isinstance(bound, int | torch.SymInt) for bound in bounds):
        return "as many elements as fractions say"
    return "steps of unknown sign" if len(bounds) > 2 and not isinstance(bounds[2], int) else None


@rule("arange.start_step", refuse=_odd_range, **_FREE)
def _arange(scope, node, start, end, step=1, **_):
    value = node.meta["val"]
    start, end, step = (scope.scalar(bound) for bound in (start, end, step))
    length = value.shape[0]
    if not isinstance(length, int):
        way = minus(end, start) if step > 0 else minus(start, end)
        length = steps(way, abs(step))
    dtype = _counts_in(scope, value)
    if value.dtype.is_floating_point:
        start, step = (float(x) if isinstance(x, int | float) else ops.cast(x, dtype) for x in (start, step))
    return ops.iota(length, start, step, dtype)


def _counts_in(scope, value):
    """PyTorch counts in double on the host, unless it is half precision, and in the dtype itself on a GPU."""
    if value.dtype is torch.float32 and value.device.type == "cpu":
        return DataType.Double
    return scope.dtype(value.dtype)
