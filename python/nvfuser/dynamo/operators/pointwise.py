"""Rules of pointwise operations: PyTorch's promotion of dtypes, then one operation of the fusion or a few.

Numbers beside half precision: PyTorch makes a tensor of the operands' dtype of each, which rounds it: 0.1 as bfloat16
is 0.10009765625, and `x == 0.1` is true for that. Some of its kernels read the number as float32 instead (`exact`
below):

    mul (the second factor), div (the divisor), lerp (the weight),
    addcmul, addcdiv (the value)                                      everywhere
    mul (both factors), add, sub, rsub, and their alpha               on a GPU

Comparisons compare what is rounded, on both sides: what PyTorch would find equal is equal.

On a GPU, PyTorch multiplies by the reciprocal of a number (or of a tensor of the host without axes) instead of dividing
by it; so do we.
"""

import math

import torch
import torch._inductor.inductor_prims  # prims.fma is defined there
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Promotion
from torch._prims_common import elementwise_dtypes, get_computation_dtype

from nvfuser._C.direct import ops

from .table import add, has_not, meta, rule

_DEFAULT = Promotion.DEFAULT
_TO_FLOAT = Promotion.INT_TO_FLOAT
_TO_BOOL = Promotion.ALWAYS_BOOL


def compute_dtype(promotion, *arguments):
    """What PyTorch computes in, half precision as such: integers in float where the operation wants it."""
    computed, result = elementwise_dtypes(*(meta(a) for a in arguments), type_promotion_kind=promotion)
    return result if get_computation_dtype(result) != result else computed


def operands(scope, promotion, *arguments, exact=()):
    """`exact`: positions of those that are read as they are."""
    dtype = compute_dtype(promotion, *arguments)
    return [scope.operand(argument, dtype, position in exact) for position, argument in enumerate(arguments)]


def direct_rule(names, operation, promotion=_DEFAULT, exact=()):
    """Overloads whose operands are those of one operation of ours."""
    add(names, lambda scope, node, *args: operation(*operands(scope, promotion, *args, exact=exact)))


# One operand --------------------------------------------------------------------------------------

for _name in [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "reciprocal",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "erfinv",
    "lgamma",
]:
    direct_rule(_name, getattr(ops, _name), _TO_FLOAT)
for _name in ["abs", "neg", "sign"]:
    direct_rule(_name, getattr(ops, _name))
direct_rule("sgn", ops.sign)
direct_rule("silu", ops.silu)
direct_rule("isnan", ops.isnan, _TO_BOOL)
direct_rule("isinf", ops.isinf, _TO_BOOL)


def _rounding(names, operation):
    """Of an integer it is the number itself."""

    def define(scope, node, x):
        operand = scope.operand(x, compute_dtype(_DEFAULT, x))
        return operation(operand) if meta(x).dtype.is_floating_point else ops.set(operand)

    add(names, define)


_rounding("ceil", ops.ceil)
_rounding("floor", ops.floor)
_rounding("round", ops.round)
_rounding("trunc", ops.trunc)


@rule("relu")
def _relu(scope, node, x):
    if scope.exactly:  # eager keeps -0
        return _clamped(scope, node, x, 0, None)
    return ops.relu(scope.operand(x, compute_dtype(_DEFAULT, x)))


@rule("signbit")
def _signbit(scope, node, x):
    return ops.signbit(scope.operand(x, compute_dtype(_DEFAULT, x)))


@rule("logical_not")
def _logical_not(scope, node, x):
    return ops.logical_not(scope.operand(x, torch.bool))


@rule("gelu")
def _gelu(scope, node, x, *, approximate="none"):
    operation = ops.gelu if approximate == "none" else ops.tanh_gelu
    return operation(scope.operand(x, compute_dtype(_DEFAULT, x)))


@rule("gelu_backward")
def _gelu_backward(scope, node, grad, x, *, approximate="none"):
    operation = ops.gelu_backward if approximate == "none" else ops.tanh_gelu_backward
    return operation(*operands(scope, _DEFAULT, grad, x))


# Two operands -------------------------------------------------------------------------------------


def _scaled(scope, dtype, b, alpha, exact):
    second = scope.operand(b, dtype, exact)
    return second if alpha == 1 else ops.mul(second, scope.operand(alpha, dtype, exact))


def _sum(operation, scope, node, a, b, alpha):
    """operation(a, b * alpha)"""
    dtype = compute_dtype(_DEFAULT, a, b)
    exact = node.meta["val"].device.type != "cpu"
    return operation(scope.operand(a, dtype, exact), _scaled(scope, dtype, b, alpha, exact))


def _odd_factor(node):
    alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
    return has_not(compute_dtype(_DEFAULT, *node.args[:2]), meta(alpha))


def _truth_values(node):
    a, b = map(meta, node.args[:2])
    if any(isinstance(x, bool) or getattr(x, "dtype", None) is torch.bool for x in (a, b)):
        return "PyTorch subtracts no truth values"
    return _odd_factor(node)


@rule("add.Tensor add.Scalar", refuse=_odd_factor)
def _add(scope, node, a, b, alpha=1):
    return _sum(ops.add, scope, node, a, b, alpha)


@rule("sub.Tensor sub.Scalar", refuse=_truth_values)
def _sub(scope, node, a, b, alpha=1):
    return _sum(ops.sub, scope, node, a, b, alpha)


@rule("rsub.Tensor rsub.Scalar", refuse=_truth_values)
def _rsub(scope, node, a, b, alpha=1):
    return _sum(ops.sub, scope, node, b, a, alpha)


@rule("mul.Tensor mul.Scalar")
def _mul(scope, node, a, b):
    on_cpu = node.meta["val"].device.type == "cpu"
    return ops.mul(*operands(scope, _DEFAULT, a, b, exact=(1,) if on_cpu else (0, 1)))


@rule("div.Tensor div.Scalar true_divide.Tensor")
def _div(scope, node, a, b):
    dtype = compute_dtype(_TO_FLOAT, a, b)
    return quotient(scope, node, scope.operand(a, dtype), b, dtype)


def quotient(scope, node, dividend, b, dtype):
    """dividend / b, as the kernels of the node's device compute it."""
    value = meta(b)
    is_tensor = isinstance(value, torch.Tensor)
    if node.meta["val"].device.type == "cpu" or (is_tensor and value.device.type != "cpu"):
        return ops.truediv(dividend, scope.operand(b, dtype, exact=True))
    if isinstance(value, bool | int | float):
        inverse = (1 / torch.tensor(value, dtype=get_computation_dtype(dtype), device="cpu")).item()
        return ops.mul(dividend, scope.operand(inverse, dtype, exact=True))
    return ops.mul(dividend, ops.reciprocal(scope.operand(b, dtype, exact=True)))


direct_rule("atan2", ops.atan2, _TO_FLOAT)
direct_rule("maximum", ops.maximum)
direct_rule("minimum", ops.minimum)


def _steps_of_half(node):
    dtype = compute_dtype(_DEFAULT, *node.args[:2])
    return None if dtype in (torch.float32, torch.float64) else "steps of half precision"


@rule("nextafter", refuse=_steps_of_half)
def _nextafter(scope, node, a, b):
    return ops.nextafter(*operands(scope, _DEFAULT, a, b))


def _but_nan(names, operation):
    """The other operand, where one is NaN."""

    def define(scope, node, a, b):
        a, b = operands(scope, _DEFAULT, a, b)
        if not node.meta["val"].dtype.is_floating_point:
            return operation(a, b)
        return ops.where(ops.isnan(a), b, ops.where(ops.isnan(b), a, operation(a, b)))

    add(names, define)


_but_nan("fmax", ops.maximum)
_but_nan("fmin", ops.minimum)


@rule("copysign.Tensor copysign.Scalar")
def _copysign(scope, node, a, b):
    magnitude, sign = operands(scope, _TO_FLOAT, a, b)
    magnitude = ops.abs(magnitude)
    below = ops.signbit(sign) if isinstance(meta(b), torch.Tensor) else math.copysign(1, b) < 0
    if isinstance(below, bool):
        return ops.neg(magnitude) if below else magnitude
    return ops.where(below, ops.neg(magnitude), magnitude)


@rule("hypot")
def _hypot(scope, node, a, b):
    """By the larger one, whose square may be too large; an infinity is one beside NaN, too."""
    a, b = (ops.abs(x) for x in operands(scope, _DEFAULT, a, b))
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    ratio = ops.truediv(small, large)
    length = ops.mul(large, ops.sqrt(ops.add(ops.mul(ratio, ratio), 1.0)))
    length = ops.where(ops.eq(large, 0.0), large, length)
    infinite = ops.logical_or(ops.isinf(a), ops.isinf(b))
    return ops.where(infinite, math.inf, length)


def _comparison(names, operation):
    def define(scope, node, a, b):
        dtype = compute_dtype(_DEFAULT, a, b)
        operands = [scope.operand(argument, dtype) for argument in (a, b)]
        return operation(*(scope.rounded(x, dtype) if hasattr(x, "dtype") else x for x in operands))

    add(names, define)


for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    _comparison(f"{_name}.Tensor {_name}.Scalar", getattr(ops, _name))


@rule("logical_and")
def _logical_and(scope, node, a, b):
    return ops.logical_and(scope.operand(a, torch.bool), scope.operand(b, torch.bool))


@rule("logical_or")
def _logical_or(scope, node, a, b):
    return ops.logical_or(scope.operand(a, torch.bool), scope.operand(b, torch.bool))


@rule("logical_xor")
def _logical_xor(scope, node, a, b):
    return ops.ne(scope.operand(a, torch.bool), scope.operand(b, torch.bool))


# Three and more -----------------------------------------------------------------------------------


@rule("where.self where.ScalarSelf where.ScalarOther where.Scalar")
def _where(scope, node, condition, a, b):
    dtype = node.meta["val"].dtype
    return ops.where(scope.operand(condition, torch.bool), scope.operand(a, dtype), scope.operand(b, dtype))


def _beyond_dtype(node):
    return has_not(node.meta["val"].dtype, *map(meta, (*node.args[1:], *node.kwargs.values())))


@rule("masked_fill.Scalar masked_fill.Tensor", refuse=_beyond_dtype)
def _masked_fill(scope, node, x, mask, value):
    dtype = node.meta["val"].dtype
    return ops.where(scope.operand(mask, torch.bool), scope.operand(value, dtype), scope.operand(x, dtype))


def _clamped(scope, node, x, low, high):
    bounds = [bound for bound in (low, high) if bound is not None]
    dtype = compute_dtype(_DEFAULT, x, *bounds)
    result = scope.operand(x, dtype)
    if low is not None:
        result = _not_beyond(scope, result, scope.operand(low, dtype), ops.lt, ops.maximum)
    if high is not None:
        result = _not_beyond(scope, result, scope.operand(high, dtype), ops.gt, ops.minimum)
    return result


def _not_beyond(scope, x, bound, is_beyond, nearer):
    """Eager keeps the sign of a zero beside a bound of zero; ours are ordered."""
    return ops.where(is_beyond(x, bound), bound, x) if scope.exactly else nearer(x, bound)


@rule("clamp clamp.Tensor", refuse=_beyond_dtype)
def _clamp(scope, node, x, min=None, max=None):
    return _clamped(scope, node, x, min, max)


@rule("clamp_min clamp_min.Tensor", refuse=_beyond_dtype)
def _clamp_min(scope, node, x, min):
    return _clamped(scope, node, x, min, None)


@rule("clamp_max clamp_max.Tensor", refuse=_beyond_dtype)
def _clamp_max(scope, node, x, max):
    return _clamped(scope, node, x, None, max)


def _with_factor(scope, x, a, b, value):
    """Operands in the dtype of the tensors, as the factor is, too."""
    dtype = compute_dtype(_DEFAULT, x, a, b)
    return *(scope.operand(tensor, dtype) for tensor in (x, a, b)), scope.operand(value, dtype, exact=True)


@rule("addcmul")
def _addcmul(scope, node, x, a, b, *, value=1):
    x, a, b, value = _with_factor(scope, x, a, b, value)
    return ops.add(x, ops.mul(ops.mul(value, a), b))


@rule("prims::fma")
def _fma(scope, node, a, b, c):
    """Dynamo makes it of `addcmul_` and `addcdiv_` with a value; as PyTorch itself computes it, rounded twice."""
    a, b, c = operands(scope, _DEFAULT, a, b, c, exact=(1,))
    return ops.add(ops.mul(a, b), c)


@rule("addcdiv")
def _addcdiv(scope, node, x, a, b, *, value=1):
    x, a, b, value = _with_factor(scope, x, a, b, value)
    return ops.add(x, ops.mul(value, ops.truediv(a, b)))


@rule("lerp.Scalar lerp.Tensor")
def _lerp(scope, node, start, end, weight):
    return ops.lerp(*operands(scope, _DEFAULT, start, end, weight, exact=(2,)))
