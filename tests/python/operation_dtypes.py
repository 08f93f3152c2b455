"""Dtypes of operands and results, and operands to try operations on."""

import torch
from nvf import DTYPE_OF_TORCH, TORCH_DTYPES, DType

BOOL = (DType.Bool,)
SIGNED = (DType.Char, DType.Short, DType.Int32, DType.Int)
UNSIGNED = (DType.Byte, DType.UInt16, DType.UInt32, DType.UInt64)
INTEGERS = SIGNED + UNSIGNED
REDUCED = (DType.Half, DType.BFloat16, DType.Float8_e4m3fn, DType.Float8_e5m2)
WIDE = (DType.Float, DType.Double)
FLOATS = REDUCED + WIDE
COMPLEX = (DType.ComplexFloat, DType.ComplexDouble)
ALL = BOOL + INTEGERS + FLOATS + COMPLEX
CLASSES = {"b": BOOL, "i": INTEGERS, "f": FLOATS, "w": WIDE, "c": COMPLEX}
BITS = {DType.Char: 8, DType.Short: 16, DType.Int32: 32, DType.Int: 64}
BITS |= {DType.Byte: 8, DType.UInt16: 16, DType.UInt32: 32, DType.UInt64: 64}

assert set(ALL) == set(TORCH_DTYPES)


# Promotion, from its description -------------------------------------------------------------------


def full_precision(dtype):
    return DType.Float if dtype in REDUCED else dtype


def real_of(dtype):
    return {DType.ComplexFloat: DType.Float, DType.ComplexDouble: DType.Double}.get(dtype, dtype)


def join(a, b):
    """The common type of two operands of one tier, which holds the values of both; None where no integer type does."""
    if a == b:
        return a
    if a in COMPLEX or b in COMPLEX:
        return DType.ComplexDouble if join(real_of(a), real_of(b)) == DType.Double else DType.ComplexFloat
    if a in FLOATS and b in FLOATS:
        return DType.Double if DType.Double in (a, b) else DType.Float
    for one, other in ((a, b), (b, a)):
        if one in FLOATS or other in BOOL:
            return one
    if (a in UNSIGNED) == (b in UNSIGNED):
        return max(a, b, key=BITS.get)
    signed, unsigned = (b, a) if a in UNSIGNED else (a, b)
    if BITS[signed] > BITS[unsigned]:
        return signed
    return {8: DType.Short, 16: DType.Int32, 32: DType.Int}.get(BITS[unsigned])


def category(dtype):
    return next(rank for rank, group in enumerate((BOOL, INTEGERS, FLOATS, COMPLEX)) if dtype in group)


def lower_tier(higher, lower):
    """The type of a tensor with a 0-dim tensor or a scalar: a lower tier counts by its category alone."""
    lower = full_precision(lower)
    if category(higher) == 3 or category(lower) <= category(higher):
        return higher
    if category(lower) == 3:
        return (
            DType.ComplexDouble
            if (join(higher, real_of(lower)) == DType.Double and category(higher) < 2) or (higher == DType.Double)
            else DType.ComplexFloat
        )
    return join(higher, lower)


# Operands ----------------------------------------------------------------------------------------

SHAPE = (4, 6)
SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.5]


def sample(dtype, domain, position):
    """Operand number `position`. Domains: any (with infinities and NaN), finite, positive, small (for exponents and
    shifts: 0 to 6), unsigned small."""
    generator = torch.Generator().manual_seed(100 * int(dtype) + position)
    count = SHAPE[0] * SHAPE[1]
    theirs = TORCH_DTYPES[dtype]
    if dtype in BOOL:
        values = torch.randint(0, 2, (count,), generator=generator)
        values = torch.ones(count) if domain == "positive" else values
    elif dtype in INTEGERS:
        low, high = {"any": (-20, 40), "finite": (-20, 40), "positive": (1, 30), "small": (0, 7)}[domain]
        values = torch.randint(max(low, 0) if dtype in UNSIGNED else low, high, (count,), generator=generator)
    elif dtype in FLOATS:
        values = torch.randn(count, generator=generator, dtype=torch.float64) * 2
        values[: count // 3] = torch.rand(count // 3, generator=generator, dtype=torch.float64)  # where asin is defined
        if domain == "any":
            values[count - len(SPECIAL) :] = torch.tensor(SPECIAL, dtype=torch.float64).roll(position)
        if domain in ("positive", "small"):
            values = values.abs() + 0.25
    else:
        values = torch.randn(count, generator=generator, dtype=torch.complex128)
    return values.to(theirs).reshape(SHAPE)


def widened(tensor, compute):
    """An operand as the reference takes it."""
    if compute in BOOL:
        return (tensor != 0).to(torch.int64)
    return tensor.to(torch.int64 if compute in INTEGERS else TORCH_DTYPES[full_precision(compute)])


def narrowed(tensor, result):
    """What the reference gave, as the result's dtype; integers wrap."""
    if result in BOOL:
        return tensor != 0
    if result == DType.UInt64 and tensor.dtype == torch.int64:
        return tensor.view(torch.uint64)
    return tensor.to(TORCH_DTYPES[result])


def moved(function, *tensors):
    """For functions that only move elements: PyTorch has them for few of the dtypes, but for all integers of a size."""
    dtype = tensors[0].dtype
    if dtype.itemsize > 8 or dtype.is_complex:
        return function(*tensors)
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    return function(*(x.view(bits) if x.dtype == dtype else x for x in tensors)).view(dtype)


def in_full(x):
    """As operations compute that give Float for reduced precision."""
    return x.to(TORCH_DTYPES[full_precision(DTYPE_OF_TORCH[x.dtype])])
