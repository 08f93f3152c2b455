"""Rules of pointwise operations: PyTorch's promotion of dtypes, then one operation of the fusion or a few.

Numbers beside half precision: PyTorch makes a tensor of the operands' dtype of each, which rounds it: 0.1 as bfloat16
is 0.10009765625, and `x == 0.1` is true for that. Some of its kernels read the number as float32 instead (`exact`
below):

    mul, div (the divisor), lerp (the weight), addcmul, addcdiv (the value)    everywhere
    add, sub, rsub, and their alpha                                            on a GPU

Comparisons compare what is rounded, on both sides: what PyTorch would find equal is equal.
"""

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Promotion
from torch._prims_common import elementwise_dtypes, get_computation_dtype

from nvfuser._C import DataType
from nvfuser._C.direct import ops

from .table import LIKE, LOOPS, RULES, add, meta, overload, rule

_DEFAULT = Promotion.DEFAULT
_TO_FLOAT = Promotion.INT_TO_FLOAT
_TO_BOOL = Promotion.ALWAYS_BOOL


def compute_dtype(promotion, *arguments):
    """What PyTorch computes in, half precision as such: integers in float where the operation wants it."""
    computed, result = elementwise_dtypes(*(meta(a) for a in arguments), type_promotion_kind=promotion)
    return result if get_computation_dtype(result) != result else computed


def _operands(scope, promotion, *arguments, exact=()):
    """`exact`: positions of those that are read as they are."""
    dtype = compute_dtype(promotion, *arguments)
    return [scope.operand(argument, dtype, position in exact) for position, argument in enumerate(arguments)]


def _direct(names, operation, promotion=_DEFAULT, exact=()):
    """Overloads whose operands are those of one operation of ours."""
    add(names, lambda scope, node, *args: operation(*_operands(scope, promotion, *args, exact=exact)))


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
    _direct(_name, getattr(ops, _name), _TO_FLOAT)
for _name in ["abs", "neg", "relu", "sign", "bitwise_not"]:
    _direct(_name, getattr(ops, _name))
_direct("sgn", ops.sign)
_direct("silu", ops.silu)
_direct("isnan", ops.isnan, _TO_BOOL)
_direct("isinf", ops.isinf, _TO_BOOL)


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
    return operation(*_operands(scope, _DEFAULT, grad, x))


# Two operands -------------------------------------------------------------------------------------


def _scaled(scope, dtype, b, alpha, exact):
    second = scope.operand(b, dtype, exact)
    return second if alpha == 1 else ops.mul(second, scope.operand(alpha, dtype, exact))


def _sum(operation, scope, node, a, b, alpha):
    """operation(a, b * alpha)"""
    dtype = compute_dtype(_DEFAULT, a, b)
    exact = node.meta["val"].device.type != "cpu"
    return operation(scope.operand(a, dtype, exact), _scaled(scope, dtype, b, alpha, exact))


@rule("add.Tensor add.Scalar")
def _add(scope, node, a, b, alpha=1):
    return _sum(ops.add, scope, node, a, b, alpha)


@rule("sub.Tensor sub.Scalar")
def _sub(scope, node, a, b, alpha=1):
    return _sum(ops.sub, scope, node, a, b, alpha)


@rule("rsub.Tensor rsub.Scalar")
def _rsub(scope, node, a, b, alpha=1):
    return _sum(ops.sub, scope, node, b, a, alpha)


_direct("mul.Tensor mul.Scalar", ops.mul, exact=(0, 1))
_direct("div.Tensor div.Scalar true_divide.Tensor", ops.truediv, _TO_FLOAT, exact=(1,))
_direct("atan2", ops.atan2, _TO_FLOAT)
_direct("maximum", ops.maximum)
_direct("minimum", ops.minimum)
_direct("nextafter", ops.nextafter)


def _comparison(names, operation):
    def define(scope, node, a, b):
        dtype = compute_dtype(_DEFAULT, a, b)
        operands = [scope.operand(argument, dtype) for argument in (a, b)]
        return operation(*(scope.rounded(x, dtype) if hasattr(x, "dtype") else x for x in operands))

    add(names, define)


for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    _comparison(f"{_name}.Tensor {_name}.Scalar", getattr(ops, _name))
for _name in ["and", "or", "xor"]:
    _direct(f"bitwise_{_name}.Tensor bitwise_{_name}.Scalar", getattr(ops, f"bitwise_{_name}"))


def _no_integers(node):
    a, b = node.args[:2]
    if not compute_dtype(_DEFAULT, a, b).is_floating_point:
        return "integers divided by zero are an error in PyTorch"
    return None


@rule("fmod.Tensor fmod.Scalar", refuse=_no_integers)
def _fmod(scope, node, a, b):
    return ops.fmod(*_operands(scope, _DEFAULT, a, b))


@rule("remainder.Tensor remainder.Scalar", refuse=_no_integers)
def _remainder(scope, node, a, b):
    return ops.remainder(*_operands(scope, _DEFAULT, a, b))


@rule("div.Tensor_mode div.Scalar_mode", refuse=_no_integers)
def _div_mode(scope, node, a, b, *, rounding_mode=None):
    dtype = compute_dtype(_DEFAULT, a, b)
    divisor = scope.operand(b, dtype, exact=True)
    dividend, zero, half, one = (scope.operand(value, dtype) for value in (a, 0, 0.5, 1))
    quotient = ops.truediv(dividend, divisor)
    if rounding_mode == "trunc":
        return ops.trunc(quotient)
    if rounding_mode is None:
        return quotient
    # Python's floor division, which is exact where the quotient is not.
    rest = ops.fmod(dividend, divisor)
    whole = ops.truediv(ops.sub(dividend, rest), divisor)
    below = ops.logical_and(ops.ne(rest, zero), ops.ne(ops.lt(rest, zero), ops.lt(divisor, zero)))
    whole = ops.where(below, ops.sub(whole, one), whole)
    floor = ops.floor(whole)
    nearest = ops.where(ops.gt(ops.sub(whole, floor), half), ops.add(floor, one), floor)
    return ops.where(ops.eq(divisor, zero), quotient, nearest)


@rule("logical_and")
def _logical_and(scope, node, a, b):
    return ops.logical_and(scope.operand(a, torch.bool), scope.operand(b, torch.bool))


@rule("logical_or")
def _logical_or(scope, node, a, b):
    return ops.logical_or(scope.operand(a, torch.bool), scope.operand(b, torch.bool))


@rule("logical_xor")
def _logical_xor(scope, node, a, b):
    return ops.ne(scope.operand(a, torch.bool), scope.operand(b, torch.bool))


def _integer_power(node):
    base, exponent = node.args[:2]
    dtype = compute_dtype(Promotion.BOOL_TO_LONG, base, exponent)
    return None if dtype.is_floating_point else "a power of integers may be an error in PyTorch"


@rule("pow.Tensor_Scalar", refuse=_integer_power)
def _pow_scalar(scope, node, base, exponent):
    dtype = compute_dtype(Promotion.BOOL_TO_LONG, base, exponent)
    x = scope.operand(base, dtype)
    small = {2: lambda: ops.mul(x, x), 3: lambda: ops.mul(ops.mul(x, x), x), 1: lambda: ops.set(x)}
    small[0.5] = lambda: ops.sqrt(x)
    small[-0.5] = lambda: ops.rsqrt(x)
    small[-1] = lambda: ops.reciprocal(x)
    if isinstance(exponent, int | float) and exponent in small:
        return small[exponent]()
    return ops.pow(x, scope.operand(exponent, dtype))


@rule("pow.Tensor_Tensor pow.Scalar", refuse=_integer_power)
def _pow(scope, node, base, exponent):
    return ops.pow(*_operands(scope, Promotion.BOOL_TO_LONG, base, exponent))


# Three and more -----------------------------------------------------------------------------------


@rule("where.self where.ScalarSelf where.ScalarOther where.Scalar")
def _where(scope, node, condition, a, b):
    dtype = node.meta["val"].dtype
    return ops.where(scope.operand(condition, torch.bool), scope.operand(a, dtype), scope.operand(b, dtype))


@rule("masked_fill.Scalar masked_fill.Tensor")
def _masked_fill(scope, node, x, mask, value):
    dtype = node.meta["val"].dtype
    return ops.where(scope.operand(mask, torch.bool), scope.operand(value, dtype), scope.operand(x, dtype))


def _clamped(scope, node, x, low, high):
    bounds = [bound for bound in (low, high) if bound is not None]
    dtype = compute_dtype(_DEFAULT, x, *bounds)
    result = scope.operand(x, dtype)
    if low is not None:
        result = ops.maximum(result, scope.operand(low, dtype))
    if high is not None:
        result = ops.minimum(result, scope.operand(high, dtype))
    return result


@rule("clamp clamp.Tensor")
def _clamp(scope, node, x, min=None, max=None):
    return _clamped(scope, node, x, min, max)


@rule("clamp_min clamp_min.Tensor")
def _clamp_min(scope, node, x, min):
    return _clamped(scope, node, x, min, None)


@rule("clamp_max clamp_max.Tensor")
def _clamp_max(scope, node, x, max):
    return _clamped(scope, node, x, None, max)


def _float_only(node):
    return None if node.meta["val"].dtype.is_floating_point else "of integers"


@rule("addcmul", refuse=_float_only)
def _addcmul(scope, node, x, a, b, *, value=1):
    x, a, b, value = _operands(scope, _DEFAULT, x, a, b, value, exact=(3,))
    return ops.add(x, ops.mul(ops.mul(value, a), b))


@rule("addcdiv", refuse=_float_only)
def _addcdiv(scope, node, x, a, b, *, value=1):
    x, a, b, value = _operands(scope, _DEFAULT, x, a, b, value, exact=(3,))
    return ops.add(x, ops.mul(value, ops.truediv(a, b)))


@rule("lerp.Scalar lerp.Tensor")
def _lerp(scope, node, start, end, weight):
    return ops.lerp(*_operands(scope, _DEFAULT, start, end, weight, exact=(2,)))


LOOPS.update((operation, True) for operation, found in RULES.items() if found.define.__module__ == __name__)
_BY_NUMBER = "clamp clamp_min clamp_max pow.Tensor_Scalar lerp.Scalar masked_fill.Scalar masked_fill.Tensor"
LOOPS.update((overload(_name), False) for _name in _BY_NUMBER.split())

# Casts and copies ---------------------------------------------------------------------------------


def _same_device(node):
    source = node.args[0]
    if meta(source).device != node.meta["val"].device:
        return "a copy between devices"
    return None


LIKE.update(map(overload, ("_to_copy", "prims::convert_element_type", "clone", "flip", "full_like")))


@rule("_to_copy", refuse=_same_device, moves_only=True)
def _to_copy(scope, node, x, **_):
    return ops.set(scope.rounded(scope.value(x), node.meta["val"].dtype))


@rule("prims::convert_element_type", moves_only=True)
def _convert(scope, node, x, dtype):
    return ops.set(scope.rounded(scope.value(x), dtype))


def _stretched(node):
    """PyTorch writes each element of a stretched tensor, a fusion would stretch its result again."""
    source = node.args[0]
    while isinstance(source, torch.fx.Node) and source.args and isinstance(meta(source), torch.Tensor):
        if source.target is torch.ops.aten.expand.default:
            return "a copy of a stretched tensor"
        if source.target not in _MOVES:
            break
        source = source.args[0]
    return None


_MOVES = {getattr(torch.ops.aten, name).default for name in ("permute", "view", "unsqueeze", "squeeze", "alias")}


@rule("clone", moves_only=True, refuse=_stretched)
def _clone(scope, node, x, **_):
    return ops.set(scope.value(x))


def bool_of(scope, x):
    """A tensor as truth values."""
    return ops.cast(scope.value(x), DataType.Bool)
