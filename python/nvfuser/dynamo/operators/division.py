"""Rules of quotients, remainders and powers, of integers and of floating point."""

import functools

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Promotion
from torch.fx.experimental.symbolic_shapes import statically_known_true

from nvfuser._C.direct import ops

from .pointwise import compute_dtype, operands, quotient
from .table import lowest_bits, meta, rule

_DEFAULT = Promotion.DEFAULT


def _may_be_zero(node):
    a, b = node.args[:2]
    dtype = compute_dtype(_DEFAULT, a, b)
    if dtype.is_floating_point:
        return None
    divisor = meta(b)
    if isinstance(divisor, int) and dtype is not torch.bool:
        divisor = lowest_bits(divisor, dtype)
    if not isinstance(divisor, torch.Tensor) and statically_known_true(divisor != 0):
        return None
    return "integers divided by zero are an error in PyTorch"


@rule("fmod.Tensor fmod.Scalar", refuse=_may_be_zero)
def _fmod(scope, node, a, b):
    return ops.fmod(*operands(scope, _DEFAULT, a, b))


@rule("remainder.Tensor remainder.Scalar remainder.Scalar_Tensor", refuse=_may_be_zero)
def _remainder(scope, node, a, b):
    return ops.remainder(*operands(scope, _DEFAULT, a, b))


@rule("div.Tensor_mode div.Scalar_mode", refuse=_may_be_zero)
def _div_mode(scope, node, a, b, *, rounding_mode=None):
    dtype = compute_dtype(_DEFAULT, a, b)
    if rounding_mode is not None and not dtype.is_floating_point:
        return _of_integers(scope.operand(a, dtype), scope.operand(b, dtype), rounding_mode)
    divisor = scope.operand(b, dtype, exact=True)
    dividend, zero, half, one = (scope.operand(value, dtype) for value in (a, 0, 0.5, 1))
    whole = quotient(scope, node, dividend, b, dtype)
    if rounding_mode == "trunc":
        return ops.trunc(whole)
    if rounding_mode is None:
        return whole
    # Python's floor division, which is exact where the quotient is not.
    rest = ops.fmod(dividend, divisor)
    without_rest = quotient(scope, node, ops.sub(dividend, rest), b, dtype)
    below = ops.logical_and(ops.ne(rest, zero), ops.ne(ops.lt(rest, zero), ops.lt(divisor, zero)))
    below_rest = ops.where(below, ops.sub(without_rest, one), without_rest)
    floor = ops.floor(below_rest)
    nearest = ops.where(ops.gt(ops.sub(below_rest, floor), half), ops.add(floor, one), floor)
    nearest = ops.where(ops.eq(nearest, zero), ops.mul(whole, zero), nearest)  # with the quotient's sign
    return ops.where(ops.eq(divisor, zero), whole, nearest)


def _of_integers(dividend, divisor, rounding_mode):
    quotient = ops.div(dividend, divisor)
    if rounding_mode == "trunc":
        return quotient
    rest = ops.mod(dividend, divisor)
    below = ops.logical_and(ops.ne(rest, 0), ops.ne(ops.lt(rest, 0), ops.lt(divisor, 0)))
    return ops.where(below, ops.sub(quotient, 1), quotient)


def _below_zero(node):
    base, exponent = node.args[:2]
    dtype = compute_dtype(Promotion.BOOL_TO_LONG, base, exponent)
    if dtype.is_floating_point or statically_known_true(meta(exponent) >= 0):
        return None
    return "integers to a negative power are an error in PyTorch"


@rule("pow.Tensor_Scalar", refuse=_below_zero)
def _pow_scalar(scope, node, base, exponent):
    dtype = compute_dtype(Promotion.BOOL_TO_LONG, base, exponent)
    x = scope.operand(base, dtype)
    square = functools.cache(lambda: ops.mul(x, x))
    small = {2: square, 3: lambda: ops.mul(square(), x), 4: lambda: ops.mul(square(), square()), 1: lambda: ops.set(x)}
    small[0.5] = lambda: ops.sqrt(x)
    small[-0.5] = lambda: ops.rsqrt(x)
    small[-1] = lambda: ops.reciprocal(x)
    if isinstance(exponent, int | float) and exponent in small:
        return small[exponent]()
    return ops.pow(x, scope.operand(exponent, dtype))


@rule("pow.Tensor_Tensor pow.Scalar")
def _pow(scope, node, base, exponent):
    return ops.pow(*operands(scope, Promotion.BOOL_TO_LONG, base, exponent))
