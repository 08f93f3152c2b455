"""Rules of what is written, or summed, where an index says: part of kernels. On the CPU elements that go to one place
are combined in their order, as eager PyTorch's are; on a GPU by atomic operations, in any order, as eager's are unless
deterministic algorithms are asked for. Half precision is summed in float32."""

import torch

from nvfuser._C.direct import ops

from .sizes import extent
from .table import is_symbolic, meta, rule

_WHERE = "indices decide where it writes"
_COMBINED = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64)
_REDUCTIONS = {"sum": ops.scatter, "prod": ops.scatter_mul, "amax": ops.scatter_max, "amin": ops.scatter_min}


def _refuse(node, combined=True):
    value, index = meta(node), meta(node.args[2])
    if value.device.type != "cpu" and torch.are_deterministic_algorithms_enabled():
        return "on a GPU kernels combine in any order, and algorithms have to be deterministic"
    if value.dim() == 0 or index.dim() == 0:
        return "a tensor without axes"
    if combined and value.dtype not in _COMBINED:
        return f"{str(value.dtype).removeprefix('torch.')} is combined at indices"
    if is_symbolic(*value.shape, *index.shape):
        return "its sizes change, and " + _WHERE
    return None


def _refuse_rows(node):
    """index_add: the other axes are those of the source."""
    reason = _refuse(node)
    x, source, dim = meta(node), meta(node.args[3]), node.args[1]
    if reason is None and source.dim() != x.dim():
        return "a source without axes"
    if reason is None and any(
        a != b for axis, (a, b) in enumerate(zip(x.shape, source.shape, strict=True)) if axis != dim % x.dim()
    ):
        return "a part of each row is written"
    return reason


def _refuse_elements(node, combined=True):
    reason = _refuse(node, combined)
    if reason is not None:
        return reason
    x, index, dim = meta(node), meta(node.args[2]), node.args[1]
    same = index.dim() == x.dim() and all(
        a == b for axis, (a, b) in enumerate(zip(x.shape, index.shape, strict=True)) if axis != dim % x.dim()
    )
    source = meta(node.args[3])
    if not same or (isinstance(source, torch.Tensor) and source.shape != index.shape):
        return "a part of each axis is written"
    return None


def _refuse_reduced(node):
    if node.args[4] not in _REDUCTIONS or node.kwargs.get("include_self", True) is not True:
        return "means, and reductions that leave out what is there, are PyTorch's"
    return _refuse_elements(node)


@rule("index_add", refuse=_refuse_rows)
def _index_add(scope, node, x, dim, index, source, *, alpha=1):
    dtype, dim = meta(x).dtype, dim % meta(x).dim()
    values = scope.operand(source, dtype)
    if alpha != 1:
        values = ops.mul(values, scope.number(alpha, dtype))
    sizes = [extent(size, values, axis) for axis, size in enumerate(meta(source).shape)]
    rows = ops.broadcast_in_dim(scope.value(index), sizes, [dim])
    return ops.scatter(scope.operand(x, dtype), rows, values, dim, accumulate=True)


@rule("scatter_add", refuse=_refuse_elements)
def _scatter_add(scope, node, x, dim, index, source):
    return ops.scatter(*_operands(scope, x, dim, index, source), accumulate=True)


@rule("scatter_reduce.two", refuse=_refuse_reduced)
def _scatter_reduce(scope, node, x, dim, index, source, reduce, *, include_self=True):
    if reduce == "sum":
        return _scatter_add(scope, node, x, dim, index, source)
    return _REDUCTIONS[reduce](*_operands(scope, x, dim, index, source))


@rule("scatter.src", refuse=lambda node: _refuse_elements(node, False))
def _scatter(scope, node, x, dim, index, source):
    return ops.scatter(*_operands(scope, x, dim, index, source))


def _operands(scope, x, dim, index, source):
    dtype = meta(x).dtype
    return scope.operand(x, dtype), scope.value(index), scope.operand(source, dtype), dim % meta(x).dim()
