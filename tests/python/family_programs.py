"""The families of fusions that models are made of, each with its formula in PyTorch, for all sizes.

A definition gets tensors that are cast to Float, and what it gives is cast to the dtype of the inputs; a formula gets
the same numbers in float64. Both give a list, in the same order. Here: what is computed element by element, and what
goes elsewhere; family_rows.py has reductions, norms, softmax and losses.
"""

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F

FLOAT, LABELS, MASK = "float", "labels", "mask"  # what an input is that is not of the family's dtype


@dataclasses.dataclass
class Given:
    """An input: its sizes, what it is if not of the family's dtype, and the count that labels are below."""

    sizes: tuple
    what: str = ""
    below: int = 0


@dataclasses.dataclass
class Family:
    name: str
    inputs: Callable  # (batch, hidden) -> list of Given
    define: Callable  # (ops, tensors) -> list of tensors
    formula: Callable  # (tensors) -> list of tensors; with `from_results`: (results, tensors)
    floor: float = 0.0  # errors are relative to the result's size, and to this at least
    raw: bool = False  # the definition gets tensors as they are, and its results are not cast
    from_results: bool = False  # random masks are read off the results


FAMILIES = []


def family(name, inputs, **more):
    """Adds a class with `define` and `formula` to the table."""

    def add(one):
        FAMILIES.append(Family(name, inputs, one.define, one.formula, **more))
        return one

    return add


def simple(name, inputs, define, formula, **more):
    FAMILIES.append(Family(name, inputs, define, formula, **more))


def matrices(count, rows=0, columns=0, others=()):
    """`count` matrices, then `columns` tensors of one number a column, `rows` of one a row (Float), and others."""

    def inputs(batch, hidden):
        given = [Given((batch, hidden))] * count + [Given((hidden,))] * columns + [Given((batch, 1), FLOAT)] * rows
        return given + [Given((batch, hidden), what) for what in others]

    return inputs


def row(ops, vector, axes=1):
    return ops.broadcast(vector, [True] * axes + [False])


simple(
    "multiply",
    matrices(2),
    lambda ops, x, y: [ops.mul(x, y)],
    lambda x, y: [x * y],
)

simple(
    "bias and tanh gelu",
    matrices(1, columns=1),
    lambda ops, x, bias: [ops.tanh_gelu(ops.add(x, row(ops, bias)))],
    lambda x, bias: [F.gelu(x + bias, approximate="tanh")],
)


@family("bias and tanh gelu, gradients of both", matrices(2, columns=1))
class BiasGeluGradients:
    def define(ops, dy, x, bias):
        dx = ops.tanh_gelu_backward(dy, ops.add(x, row(ops, bias)))
        return [dx, ops.sum(dx, [0])]

    def formula(dy, x, bias):
        dx = torch.ops.aten.gelu_backward(dy, x + bias, approximate="tanh")
        return [dx, dx.sum(0)]


@family("activations", matrices(2))
class Activations:
    def define(ops, x, dy):
        slopes = [ops.gelu_backward(dy, x), ops.tanh_backward(dy, ops.tanh(x))]
        return [ops.gelu(x), ops.leaky_relu(x, 0.1), ops.softplus(x), *slopes]

    def formula(x, dy):
        slopes = [torch.ops.aten.gelu_backward(dy, x), dy * (1 - x.tanh() ** 2)]
        return [F.gelu(x), F.leaky_relu(x, 0.1), F.softplus(x), *slopes]


@family("silu and multiply, gradients", matrices(3))
class SiluMultiplyGradients:
    def define(ops, dy, x, y):
        s = ops.sigmoid(x)
        slope = ops.mul(s, ops.add(1.0, ops.mul(x, ops.sub(1.0, s))))
        return [ops.mul(ops.silu(x), y), ops.mul(ops.mul(dy, y), slope), ops.mul(dy, ops.silu(x))]

    def formula(dy, x, y):
        return [F.silu(x) * y, torch.ops.aten.silu_backward(dy * y, x), dy * F.silu(x)]


simple(
    "scale, bias and relu",
    matrices(1, columns=2),
    lambda ops, x, scale, bias: [ops.relu(ops.add(ops.mul(x, row(ops, scale)), row(ops, bias)))],
    lambda x, scale, bias: [(x * scale + bias).relu()],
)

simple(
    "one value a row",
    matrices(1, rows=1),
    lambda ops, x, value: [ops.add(x, value)],
    lambda x, value: [x + value],
)

simple(
    "upper triangle",
    matrices(1),
    lambda ops, x: [ops.triu(x)],
    lambda x: [x.triu()],
)

simple(
    "transpose of a sum, relu",
    matrices(2),
    lambda ops, x, y: [ops.transpose(ops.relu(ops.add(x, y)), 0, 1)],
    lambda x, y: [(x + y).relu().T],
)


def of_three(batch, hidden):
    outer = 2 if batch % 2 == 0 else 1
    return [Given((outer, batch // outer, hidden))]


simple(
    "transpose in three dimensions",
    of_three,
    lambda ops, x: [ops.permute(ops.sin(x), [0, 2, 1])],
    lambda x: [x.sin().permute(0, 2, 1)],
)


def of_rotary(batch, hidden):
    numbers, heads = hidden + hidden % 2, 4 if batch % 4 == 0 else 1
    return [Given((heads, batch // heads, numbers)), *[Given((batch // heads, numbers))] * 2]


def turned_of(x, ops):
    """(-second half, first half) of the last axis."""
    first, second = ops.chunk(x, 2, -1)
    return ops.cat([ops.neg(second), first], -1)


@family("rotary embedding", of_rotary)
class Rotary:
    def define(ops, x, cosines, sines):
        by = lambda v: ops.broadcast(v, [True, False, False])  # noqa: E731
        return [ops.add(ops.mul(x, by(cosines)), ops.mul(turned_of(x, ops), by(sines)))]

    def formula(x, cosines, sines):
        first, second = x.chunk(2, -1)
        return [x * cosines + torch.cat([-second, first], -1) * sines]


simple(
    "join and pad",
    matrices(2),
    lambda ops, x, y: [ops.cat([ops.sin(x), y], 1), ops.exp(ops.pad(ops.cos(x), [2, 1], 3.0))],
    lambda x, y: [torch.cat([x.sin(), y], 1), F.pad(x.cos(), [2, 1], value=3.0).exp()],
)


def of_table(batch, hidden):
    return [Given((hidden, 16)), Given((batch,), LABELS, hidden)]


simple(
    "table of rows",
    of_table,
    lambda ops, table, index: [ops.mul(ops.index_select(table, index, 0), 2.0)],
    lambda table, index: [table[index] * 2],
)


def of_product(batch, hidden):
    return [Given((batch, hidden)), Given((8, hidden)), Given((8,))]


simple(
    "product with bias",
    of_product,
    lambda ops, x, w, b: [ops.linear(x, w, b)],
    lambda x, w, b: [F.linear(x, w, b)],
    raw=True,
)
