"""Pointwise operations on operands of one dtype, each with its rule of dtypes and its reference in PyTorch."""

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from nvf import DType
from operation_dtypes import (
    BITS,
    BOOL,
    CLASSES,
    INTEGERS,
    full_precision,
    narrowed,
    real_of,
    sample,
    widened,
)


@dataclass
class Pointwise:
    rule: str  # below
    classes: str  # of operands that it takes: of CLASSES
    reference: Any  # on tensors of the compute dtype; integers and Bool come as int64
    domains: tuple = ("any", "any", "any")
    arity: int = 1
    tolerance: Any = None


def dtypes_of(rule, dtype):
    """(compute, result) for operands of one dtype.

    N: as it is. K: the operand's, reduced precision computed in Float and cast back. D: reduced precision becomes
    Float. F: so do integers and Bool. P: as it is, gives Bool. C: as D, gives Bool. L: operands become Bool.
    M: as K, complex gives real. R: a part of a complex number.
    """
    full = full_precision(dtype)
    if rule == "F" and dtype in BOOL + INTEGERS:
        full = DType.Float
    result = {"N": dtype, "K": dtype, "P": DType.Bool, "C": DType.Bool, "L": DType.Bool, "M": real_of(dtype)}
    result |= {"R": real_of(dtype)}
    return (dtype if rule in "NPR" else DType.Bool if rule == "L" else full), result.get(rule, full)


def real_or_complex(real, complex_):
    return lambda *x: complex_(*x) if x[0].is_complex() else real(*x)


def integer_or_real(integer, real):
    return lambda *x: real(*x) if x[0].is_floating_point() or x[0].is_complex() else integer(*x)


def same(x):
    return x


def rounding(function):
    return integer_or_real(same, function)


def wide(function):
    """Computed in double precision, where PyTorch's own way loses digits."""
    return lambda *x: function(*(v.double() for v in x)).to(x[0].dtype)


def exact(function):
    """By NumPy: PyTorch's vectors give NaN where the quotient is large."""
    return lambda a, b: torch.from_numpy(np.atleast_1d(function(a.numpy(), b.numpy()))).reshape(a.shape)


def gcd(a, b):
    """By Python: PyTorch's is negative where the least integer is among the operands. 2^63 wraps."""
    values = [math.gcd(x, y) for x, y in zip(a.flatten().tolist(), b.flatten().tolist(), strict=True)]
    return torch.tensor([v if v < 2**63 else v - 2**64 for v in values], dtype=torch.int64).reshape(a.shape)


def shift_right_logical(dtype):
    mask = {8: 0xFF, 16: 0xFFFF, 32: 0xFFFFFFFF}.get(BITS[dtype])
    if mask:
        return lambda a, b: (a & mask) >> b
    return lambda a, b: torch.where(b == 0, a, (a >> b) & ~(torch.full_like(a, -1) << (64 - b).clamp(max=63)))


def log1p(x):
    """PyTorch 2.4 gives infinity for the largest numbers, where one more changes nothing."""
    return torch.log1p(x) if x.is_complex() else torch.where(x > 1e30, torch.log(x), torch.log1p(x))


def power(a, b):
    """PyTorch 2.4 gives infinity for the largest numbers to the power of one."""
    return torch.where(b == 1, a, torch.pow(a, b)) if a.is_floating_point() else torch.pow(a, b)


UNARY = {
    "abs": Pointwise("M", "bifc", torch.abs),
    "acos": Pointwise("F", "bifc", torch.acos),
    "acosh": Pointwise("F", "bifc", torch.acosh),
    "asin": Pointwise("F", "bifc", torch.asin),
    "asinh": Pointwise("F", "bifc", torch.asinh),
    "atan": Pointwise("F", "bifc", torch.atan),
    "atanh": Pointwise("F", "bifc", torch.atanh),
    "bitceil": Pointwise("D", "i", lambda x: 2 ** torch.ceil(torch.log2(x.double())).long(), ("positive",)),
    "bitwise_not": Pointwise("D", "bi", torch.bitwise_not),  # of Bool: see reference_of
    "ceil": Pointwise("K", "bif", rounding(torch.ceil)),
    "cos": Pointwise("F", "bifc", torch.cos),
    "cosh": Pointwise("F", "bifc", torch.cosh),
    "erf": Pointwise("F", "bif", torch.erf),
    "erfc": Pointwise("F", "bif", torch.erfc),
    "erfcinv": Pointwise("F", "bif", wide(lambda x: torch.special.ndtri(x / 2) * -(0.5**0.5))),
    "erfinv": Pointwise("F", "bif", torch.erfinv),
    "exp": Pointwise("F", "bifc", torch.exp),
    "exp2": Pointwise("F", "bifc", real_or_complex(torch.exp2, lambda x: torch.exp(x * 0.6931471805599453))),
    "expm1": Pointwise("F", "bif", torch.expm1),
    "floor": Pointwise("K", "bif", rounding(torch.floor)),
    "frac": Pointwise("K", "f", torch.frac),
    "imag": Pointwise("R", "c", torch.imag),
    "isfinite": Pointwise("P", "bifc", torch.isfinite),
    "isinf": Pointwise("P", "bifc", torch.isinf),
    "isnan": Pointwise("P", "bifc", torch.isnan),
    "isneginf": Pointwise("P", "bif", torch.isneginf),
    "isposinf": Pointwise("P", "bif", torch.isposinf),
    "isreal": Pointwise("P", "bifc", torch.isreal),
    "lgamma": Pointwise("F", "bif", torch.lgamma),
    "log": Pointwise("F", "bifc", torch.log),
    "log10": Pointwise("F", "bifc", torch.log10),
    "log1p": Pointwise("F", "bifc", log1p),
    "log2": Pointwise("F", "bifc", torch.log2),
    "logical_not": Pointwise("L", "bifc", lambda x: x == 0),
    "neg": Pointwise("D", "bifc", torch.neg),
    "print": Pointwise("N", "bifc", same),
    "real": Pointwise("R", "bifc", torch.real),
    "reciprocal": Pointwise("F", "bifc", torch.reciprocal),
    "relu": Pointwise("K", "bif", torch.relu),
    "round": Pointwise("K", "bif", rounding(torch.round)),
    "rsqrt": Pointwise("F", "bifc", torch.rsqrt),
    "segment_set": Pointwise("N", "bifc", same),
    "set": Pointwise("N", "bifc", same),
    "sigmoid": Pointwise("F", "bifc", torch.sigmoid),
    "sign": Pointwise("K", "bif", torch.sign),
    "signbit": Pointwise("P", "bif", torch.signbit),
    "silu": Pointwise("K", "fc", real_or_complex(torch.nn.functional.silu, lambda x: x * torch.sigmoid(x))),
    "sin": Pointwise("F", "bifc", torch.sin),
    "sinh": Pointwise("F", "bifc", torch.sinh),
    "sqrt": Pointwise("F", "bifc", torch.sqrt),
    "tan": Pointwise("F", "bifc", torch.tan),
    "tanh": Pointwise("F", "bifc", torch.tanh),
    "trunc": Pointwise("K", "bif", rounding(torch.trunc)),
}


def binary(rule, classes, reference, second="any", first="any", tolerance=None):
    return Pointwise(rule, classes, reference, (first, second), 2, tolerance)


truncated = integer_or_real(lambda a, b: torch.div(a, b, rounding_mode="trunc"), torch.div)

BINARY = {
    "add": binary("D", "bifc", torch.add),
    "atan2": binary("F", "bif", torch.atan2),
    "bitwise_and": binary("D", "bi", torch.bitwise_and),
    "bitwise_left_shift": binary("D", "i", torch.bitwise_left_shift, second="small"),
    "bitwise_or": binary("D", "bi", torch.bitwise_or),
    "bitwise_right_shift": binary("D", "i", torch.bitwise_right_shift, second="small"),
    "bitwise_xor": binary("D", "bi", torch.bitwise_xor),
    "ceilDiv": binary(
        "D", "if", integer_or_real(lambda a, b: -((-a) // b), lambda a, b: torch.ceil(a / b)), "positive", "positive"
    ),
    "div": binary("D", "bifc", truncated, second="positive"),
    "eq": binary("C", "bifc", torch.eq),
    "fmod": binary("D", "if", integer_or_real(torch.fmod, exact(np.fmod)), second="positive"),
    "gcd": binary("D", "i", gcd),
    "ge": binary("C", "bif", torch.ge),
    "gt": binary("C", "bif", torch.gt),
    "le": binary("C", "bif", torch.le),
    "logical_and": binary("L", "bifc", lambda a, b: a & b),
    "logical_or": binary("L", "bifc", lambda a, b: a | b),
    "logical_right_shift": binary("D", "i", None, second="small"),  # by width: see reference_of
    "lt": binary("C", "bif", torch.lt),
    "maximum": binary("D", "bif", torch.maximum),
    "minimum": binary("D", "bif", torch.minimum),
    "mod": binary("D", "if", integer_or_real(torch.fmod, exact(np.fmod)), second="positive"),
    "mul": binary("D", "bifc", torch.mul),
    "ne": binary("C", "bifc", torch.ne),
    "nextafter": binary("D", "f", torch.nextafter),
    "pow": binary("D", "bifc", power, second="small"),
    "remainder": binary("D", "if", integer_or_real(torch.remainder, exact(np.remainder)), second="positive"),
    "sub": binary("D", "bifc", torch.sub),
    "truediv": binary("F", "bifc", torch.div, second="positive"),
}

TERNARY = {
    "addcmul": Pointwise("D", "ifc", lambda a, b, c: a + b * c, ("finite",) * 3, 3),
    "lerp": Pointwise("D", "bifc", lambda a, b, w: a + w * (b - a), ("finite",) * 3, 3),
}


POINTWISE = UNARY | BINARY | TERNARY


def of_numbers(function):
    """Element by element on Python's integers, which do not wrap: int64 has no place for the upper half of UInt64."""

    def reference(*operands):
        numbers = zip(*([x % 2**64 for x in operand.flatten().tolist()] for operand in operands), strict=True)
        wrapped = [(int(function(*given)) + 2**63) % 2**64 - 2**63 for given in numbers]
        return torch.tensor(wrapped, dtype=torch.int64).reshape(operands[0].shape)

    return reference


# Where the upper half of UInt64 matters. Sums, products and bits are the same modulo 2^64.
OF_UINT64 = {
    "abs": int,
    "bitceil": lambda x: 1 << (x - 1).bit_length(),
    "bitwise_right_shift": operator.rshift,
    "ceilDiv": lambda a, b: -(-a // b),
    "div": operator.floordiv,
    "fmod": operator.mod,
    "gcd": math.gcd,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
    "maximum": max,
    "minimum": min,
    "mod": operator.mod,
    "relu": int,
    "remainder": operator.mod,
    "sign": bool,
    "signbit": lambda x: False,
}


def reference_of(name, dtype):
    if dtype == DType.UInt64 and name in OF_UINT64:
        return of_numbers(OF_UINT64[name])
    if name == "logical_right_shift":
        return shift_right_logical(dtype)
    if name == "bitwise_not" and dtype in BOOL:
        return lambda x: 1 - x
    return POINTWISE[name].reference


def pointwise_case(name, dtype):
    """Function of a Batch."""
    spec = POINTWISE[name]
    compute, result = dtypes_of(spec.rule, dtype)
    reference = reference_of(name, dtype)

    def case(batch):
        operands = [sample(dtype, spec.domains[i], i) for i in range(spec.arity)]
        value = batch.op(name, *(batch.input(x) for x in operands))
        expected = narrowed(reference(*(widened(x, compute) for x in operands)), result)
        batch.expect(value, expected, spec.tolerance)

    return case


def accepted(spec):
    return [dtype for letter in spec.classes for dtype in CLASSES[letter]]
