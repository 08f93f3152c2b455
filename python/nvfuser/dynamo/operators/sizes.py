"""Arithmetic of sizes: numbers where both are, scalars of the fusion otherwise."""

import sys

from nvfuser._C.direct import ops


def plus(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b if _is(a, 0) else a if _is(b, 0) else ops.add(a, b)


def minus(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if _is(b, 0) else ops.sub(a, b)


def times(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return b if _is(a, 1) else a if _is(b, 1) else ops.mul(a, b)


def steps(length, step):
    """length / step, rounded up, for a step above 0."""
    return -(-length // step) if isinstance(length, int) else ops.div(plus(length, step - 1), step)


def least(a, b):
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else ops.minimum(a, b)


def greatest(a, b):
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else ops.maximum(a, b)


def bound(given, size, default):
    """The position within an axis that a bound of a slice means: negative ones count from the end."""
    if given is None:
        return default
    if isinstance(given, int):
        if given >= sys.maxsize:
            return size
        position = plus(size, given) if given < 0 else given
    else:
        position = ops.where(ops.lt(given, 0), ops.add(given, size), given)
    return greatest(least(position, size), 0)


def extent(known, tensor, axis):
    """The extent of a tensor's axis, of which `known` is known."""
    return known if isinstance(known, int) else tensor.size(axis)


def _is(value, number):
    return isinstance(value, int) and value == number
