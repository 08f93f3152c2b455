"""Rules of reductions. Half precision is summed in float32, integers in int64, as in PyTorch; a dtype that is asked for
is what elements are cast to first."""

import math

import torch
from torch._prims_common import get_computation_dtype

from nvfuser._C import DataType
from nvfuser._C.direct import ops

from .sizes import times
from .table import meta, rule


def _axes(x, dims):
    """`dims` as positions from the left; all of them for none."""
    rank = meta(x).dim()
    if dims is None or (isinstance(dims, list | tuple) and not dims):
        return list(range(rank))
    dims = [dims] if isinstance(dims, int) else dims
    return [dim % rank if rank else 0 for dim in dims]


def _bool_of(scope, x):
    """A tensor as truth values."""
    return ops.cast(scope.stored(x), DataType.Bool)


def _over(scope, x, dtype, dims, reduce):
    """reduce(tensor, axes); a tensor without axes is its own sum."""
    return _reduced(x, scope.operand(x, dtype), dims, reduce)


def _reduced(x, tensor, dims, reduce):
    return reduce(tensor, _axes(x, dims)) if meta(x).dim() else ops.set(tensor)


def _summed(scope, x, dtype, dims, reduce):
    """The same of what is summed up: elements in `dtype`, added in what PyTorch adds that in."""
    tensor = scope.value(x) if dtype in (None, meta(x).dtype) else scope.rounded(scope.value(x), dtype)
    dtype = dtype or meta(x).dtype
    wide = scope.dtype(dtype) if dtype.is_floating_point else DataType.Int
    return _reduced(x, tensor if tensor.dtype() == wide else ops.cast(tensor, wide), dims, reduce)


@rule("sum")
def _sum_all(scope, node, x, *, dtype=None):
    return _summed(scope, x, dtype, None, ops.sum)


@rule("sum.dim_IntList")
def _sum(scope, node, x, dim=None, keepdim=False, *, dtype=None):
    return _summed(scope, x, dtype, dim, lambda t, axes: ops.sum(t, axes, keepdim))


@rule("mean")
def _mean_all(scope, node, x, *, dtype=None):
    return _summed(scope, x, dtype, None, ops.mean)


@rule("mean.dim")
def _mean(scope, node, x, dim=None, keepdim=False, *, dtype=None):
    return _summed(scope, x, dtype, dim, lambda t, axes: ops.mean(t, axes, keepdim))


@rule("prod")
def _prod_all(scope, node, x, *, dtype=None):
    return _summed(scope, x, dtype, None, ops.prod)


@rule("prod.dim_int")
def _prod(scope, node, x, dim, keepdim=False, *, dtype=None):
    return _summed(scope, x, dtype, dim, lambda t, axes: ops.prod(t, axes, keepdim))


def _extreme(scope, node, x, dim, keepdim, operation):
    dtype = meta(x).dtype
    if dtype is torch.bool:  # the greatest truth value is whether any is true
        found = _over(scope, x, torch.int32, dim, lambda t, axes: operation(t, axes, keepdim))
        return ops.cast(found, DataType.Bool)
    return _over(scope, x, dtype, dim, lambda t, axes: operation(t, axes, keepdim))


@rule("amax")
def _amax(scope, node, x, dim=(), keepdim=False):
    return _extreme(scope, node, x, dim, keepdim, ops.max)


@rule("amin")
def _amin(scope, node, x, dim=(), keepdim=False):
    return _extreme(scope, node, x, dim, keepdim, ops.min)


@rule("max")
def _max_all(scope, node, x):
    return _extreme(scope, node, x, None, False, ops.max)


@rule("min")
def _min_all(scope, node, x):
    return _extreme(scope, node, x, None, False, ops.min)


def _truth(scope, x, dim, keepdim, operation):
    """Over all axes for none (None), over no axis for an empty list: sums, means, extremes take both for all axes."""
    truth = ops.cast(_bool_of(scope, x), DataType.Int32)
    if meta(x).dim() == 0 or (dim is not None and not isinstance(dim, int) and not dim):
        return ops.cast(truth, DataType.Bool)
    return ops.cast(operation(truth, _axes(x, dim), keepdim), DataType.Bool)


@rule("any any.dim any.dims")
def _any(scope, node, x, dim=None, keepdim=False):
    return _truth(scope, x, dim, keepdim, ops.max)


@rule("all all.dim all.dims")
def _all(scope, node, x, dim=None, keepdim=False):
    return _truth(scope, x, dim, keepdim, ops.min)


def _no_variance(node):
    of = meta(node.args[0])
    if not of.dtype.is_floating_point:
        return "PyTorch has variances of floating point alone"
    return "of a tensor without axes" if of.dim() == 0 else None


def _variance(scope, x, dim, correction, keepdim, operation):
    """A correction that is no whole number scales the variance without one."""
    tensor = scope.operand(x, get_computation_dtype(meta(x).dtype))
    correction = 1 if correction is None else correction
    axes = _axes(x, dim)
    if int(correction) == correction and correction >= 0:
        return operation(tensor, axes, int(correction), keepdim)
    count = 1
    for axis in axes:
        count = times(count, scope.extent_of(x, axis))
    if isinstance(count, int):
        factor = count / max(count - correction, 0) if count > correction else math.inf
    else:
        count = ops.cast(count, DataType.Double)
        factor = ops.truediv(count, ops.maximum(ops.sub(count, float(correction)), 0.0))
    found = operation(tensor, axes, 0, keepdim)
    scaled = ops.mul(found[0] if isinstance(found, tuple | list) else found, factor)
    return [scaled, *found[1:]] if isinstance(found, tuple | list) else scaled


@rule("var.correction", refuse=_no_variance)
def _var(scope, node, x, dim=None, *, correction=None, keepdim=False):
    """By the moments: 0 where all elements are equal, which the rounding of a mean's sum spoils."""
    return _variance(scope, x, dim, correction, keepdim, ops.var if scope.exactly else _second_moment)


def _second_moment(x, axes, correction, keepdim):
    return ops.var_mean(x, axes, correction, keepdim)[0]


@rule("var_mean.correction", refuse=_no_variance)
def _var_mean(scope, node, x, dim=None, *, correction=None, keepdim=False):
    return _variance(scope, x, dim, correction, keepdim, _moments_of_sums if scope.exactly else ops.var_mean)


def _moments_of_sums(x, axes, correction, keepdim):
    """Two sums, which are faster one by one than moments in one pass."""
    return [ops.var(x, axes, correction, keepdim), ops.mean(x, axes, keepdim)]
