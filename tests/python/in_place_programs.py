"""Fusions that write to their inputs, each beside what it means: what is written to which input, in order, and what
comes out, all computed from the arguments as they were."""

from typing import NamedTuple

import torch
from nvfuser_direct import DataType


class Program(NamedTuple):
    shapes: list  # of the arguments
    define: object  # (fd, *inputs) -> None
    meaning: object  # (*arguments) -> ([(position of an input, what is written to it)], [outputs])
    dtype: torch.dtype = torch.float32


def _swap(fd, a, b):
    fd.add_output(fd.ops.set(b), a)
    fd.add_output(fd.ops.set(a), b)


def _swap_and_add(fd, a, b):
    fd.add_output(fd.ops.set(b), a)
    fd.add_output(fd.ops.add(a, 5.0), b)


def _swap_inputs(fd, a, b):
    fd.add_output(b, a)
    fd.add_output(a, b)


def _rotate(fd, *inputs):
    for i, x in enumerate(inputs):
        fd.add_output(fd.ops.set(inputs[(i + 1) % len(inputs)]), x)


def _rotated(*inputs):
    return [(i, inputs[(i + 1) % len(inputs)]) for i in range(len(inputs))], []


def _rotate_inputs(fd, *inputs):
    for i, x in enumerate(inputs):
        fd.add_output(inputs[(i + 1) % len(inputs)], x)


def _rotate_and_compute(fd, a, b, c):
    fd.add_output(fd.ops.add(b, a), a)
    fd.add_output(fd.ops.mul(c, b), b)
    fd.add_output(fd.ops.sub(a, c), c)


def _to_itself(fd, a):
    fd.add_output(a, a)


def _shown_before(fd, a):
    fd.add_output(a)
    fd.add_output(fd.ops.add(a, 1.0), a)


def _shown_after(fd, a):
    y = fd.ops.add(a, 1.0)
    fd.add_output(y)
    fd.add_output(y, a)


def _shown_after_it_was_hidden(fd, a):
    y = fd.ops.add(a, 1.0)
    fd.add_output(y, a)
    fd.add_output(fd.ops.neg(a))
    fd.add_output(y)


def _chain_of_new(fd, a, b):
    y = fd.ops.add(a, 1.0)
    fd.add_output(y, a)
    fd.add_output(fd.ops.mul(y, 2.0), b)


def _chain_of_old(fd, a, b, c):
    fd.add_output(fd.ops.add(a, 1.0), a)
    fd.add_output(fd.ops.mul(a, b), b)
    fd.add_output(fd.ops.sub(a, b), c)


def _to_two(fd, a, b):
    y = fd.ops.add(a, b)
    fd.add_output(y, a)
    fd.add_output(fd.ops.set(y), b)


def _views_of_old(fd, a):
    fd.add_output(fd.ops.permute(a, [1, 0]))
    fd.add_output(fd.ops.slice(a, [1, 1], [3, 5]))
    fd.add_output(fd.ops.reshape(a, [24]))
    fd.add_output(fd.ops.add(a, 1.0), a)


def _view_written_elsewhere(fd, a, b):
    fd.add_output(fd.ops.set(fd.ops.permute(a, [1, 0])), b)
    fd.add_output(fd.ops.set(fd.ops.permute(b, [1, 0])), a)


def _reshaped_elsewhere(fd, a, b):
    fd.add_output(fd.ops.reshape(a, [6]), b)
    fd.add_output(fd.ops.neg(a), a)


def _slices_rolled(fd, a):
    fd.add_output(fd.ops.cat([fd.ops.slice(a, [1], [8]), fd.ops.slice(a, [0], [1])], 0), a)


def _padded(fd, a):
    fd.add_output(fd.ops.pad(fd.ops.slice(a, [1], [8]), [0, 1]), a)


def _to_sum(fd, a, s):
    fd.add_output(fd.ops.sum(a, [0]), s)
    fd.add_output(fd.ops.sub(a, s), a)


def _minus_maximum(fd, a):
    top = fd.ops.broadcast(fd.ops.max(a, [1]), [False, True])
    fd.add_output(fd.ops.sub(a, top), a)


def _column_sums(fd, a, s):
    fd.add_output(fd.ops.add(fd.ops.sum(a, [0]), s), s)
    fd.add_output(fd.ops.mul(a, 2.0), a)


def _minus_first_row(fd, a):
    first = fd.ops.broadcast(fd.ops.select(a, 0, 0), [True, False])
    fd.add_output(fd.ops.sub(a, first), a)


def _row_and_matrix(fd, a, row):
    fd.add_output(fd.ops.add(a, fd.ops.broadcast(row, [True, False])), a)
    fd.add_output(fd.ops.sum(a, [0]), row)


def _plus_transposed(fd, a):
    fd.add_output(fd.ops.add(a, fd.ops.permute(a, [1, 0])), a)


def _product_between(fd, a, b):
    y = fd.ops.matmul(a, b)
    fd.add_output(fd.ops.add(a, y), a)
    fd.add_output(fd.ops.sub(b, y), b)


def _product_to_operand(fd, a, b):
    fd.add_output(fd.ops.matmul(a, b), a)
    fd.add_output(fd.ops.matmul(b, a), b)


def _product_of_what_is_written(fd, a, b):
    fd.add_output(fd.ops.set(b), a)
    fd.add_output(fd.ops.relu(fd.ops.matmul(fd.ops.neg(a), a)), b)


def _sorted_between(fd, a, b):
    values, _ = fd.ops.topk(a, 8, 0, True, True)
    fd.add_output(fd.ops.add(values, b), a)
    fd.add_output(fd.ops.set(a), b)


def _running_sum(fd, a, b):
    fd.add_output(fd.ops.cumsum(a, 0), b)
    fd.add_output(fd.ops.neg(b), a)


def _two_sizes(fd, a, b):
    fd.add_output(fd.ops.add(a, 1.0), a)
    fd.add_output(fd.ops.mul(fd.ops.slice(a, [1], [4]), b), b)


def _masked(fd, a, b):
    fd.add_output(fd.ops.where(fd.ops.gt(a, b), b, a), a)
    fd.add_output(fd.ops.where(fd.ops.gt(a, b), a, b), b)


def _momentum(fd, *inputs):
    for p, g, m in zip(inputs[0::3], inputs[1::3], inputs[2::3], strict=True):
        step = fd.ops.add(fd.ops.mul(m, 0.5), g)
        fd.add_output(step, m)
        fd.add_output(fd.ops.sub(p, fd.ops.mul(step, 2.0)), p)


def _momenta(*inputs):
    written = []
    for i in range(0, len(inputs), 3):
        p, g, m = inputs[i : i + 3]
        step = m * 0.5 + g
        written += [(i + 2, step), (i, p - step * 2)]
    return written, []


def _shared_row(fd, a, row, x):
    """The update has a column that meets a wider tensor."""
    fd.add_output(fd.ops.add(a, row), a)
    fd.add_output(fd.ops.add(x, fd.ops.add(row, row)))


def _halves(fd, a, b):
    wide = fd.ops.add(fd.ops.cast(a, dtype=DataType.Float), fd.ops.cast(b, dtype=DataType.Float))
    fd.add_output(fd.ops.cast(wide, dtype=DataType.Half), a)
    fd.add_output(fd.ops.set(a), b)


def _integers(fd, a, b):
    fd.add_output(fd.ops.add(a, b), a)
    fd.add_output(fd.ops.sub(a, b), b)


def _flags(fd, a, b):
    fd.add_output(fd.ops.logical_not(b), a)
    fd.add_output(fd.ops.logical_or(a, b), b)


def _maxima(x):
    return x.max(1, keepdim=True).values


PROGRAMS = {
    "increment": Program([(7,)], lambda fd, a: fd.add_output(fd.ops.add(a, 1.0), a), lambda a: ([(0, a + 1)], [])),
    "swap": Program([(7,)] * 2, _swap, lambda a, b: ([(0, b), (1, a)], [])),
    "swap and add": Program([(7,)] * 2, _swap_and_add, lambda a, b: ([(0, b), (1, a + 5)], [])),
    "swap inputs as they are": Program([(7,)] * 2, _swap_inputs, lambda a, b: ([(0, b), (1, a)], [])),
    "swap matrices": Program([(33, 65)] * 2, _swap, lambda a, b: ([(0, b), (1, a)], [])),
    "rotate three": Program([(40,)] * 3, _rotate, _rotated),
    "rotate four": Program([(4, 5)] * 4, _rotate, _rotated),
    "rotate three inputs": Program([(40,)] * 3, _rotate_inputs, _rotated),
    "rotate and compute": Program(
        [(9,)] * 3, _rotate_and_compute, lambda a, b, c: ([(0, b + a), (1, c * b), (2, a - c)], [])
    ),
    "to itself": Program([(7,)], _to_itself, lambda a: ([], [])),
    "shown before": Program([(7,)], _shown_before, lambda a: ([(0, a + 1)], [a])),
    "shown after": Program([(7,)], _shown_after, lambda a: ([(0, a + 1)], [a + 1])),
    "shown after it was hidden": Program([(7,)], _shown_after_it_was_hidden, lambda a: ([(0, a + 1)], [-a, a + 1])),
    "a chain of new values": Program([(7,)] * 2, _chain_of_new, lambda a, b: ([(0, a + 1), (1, 2 * (a + 1))], [])),
    "a chain of old values": Program(
        [(7,)] * 3, _chain_of_old, lambda a, b, c: ([(0, a + 1), (1, a * b), (2, a - b)], [])
    ),
    "one result to two": Program([(7,)] * 2, _to_two, lambda a, b: ([(0, a + b), (1, a + b)], [])),
    "views of the old": Program([(4, 6)], _views_of_old, lambda a: ([(0, a + 1)], [a.T, a[1:3, 1:5], a.reshape(24)])),
    "transposed to each other": Program(
        [(4, 6), (6, 4)], _view_written_elsewhere, lambda a, b: ([(1, a.T), (0, b.T)], [])
    ),
    "reshaped to another": Program(
        [(2, 3), (6,)], _reshaped_elsewhere, lambda a, b: ([(1, a.reshape(6)), (0, -a)], [])
    ),
    "rolled": Program([(8,)], _slices_rolled, lambda a: ([(0, a.roll(-1))], [])),
    "shifted": Program([(8,)], _padded, lambda a: ([(0, torch.cat([a[1:], a.new_zeros(1)]))], [])),
    "a sum to a scalar": Program([(50,), ()], _to_sum, lambda a, s: ([(1, a.sum()), (0, a - s)], [])),
    "rows less their maxima": Program([(5, 70)], _minus_maximum, lambda a: ([(0, a - _maxima(a))], [])),
    "column sums": Program([(60, 9), (9,)], _column_sums, lambda a, s: ([(1, a.sum(0) + s), (0, a * 2)], [])),
    "rows less the first": Program([(40, 65)], _minus_first_row, lambda a: ([(0, a - a[0])], [])),
    "a row and a matrix": Program([(40, 65), (65,)], _row_and_matrix, lambda a, r: ([(0, a + r), (1, a.sum(0))], [])),
    "plus itself transposed": Program([(16, 16)], _plus_transposed, lambda a: ([(0, a + a.T)], [])),
    "a product between": Program([(8, 8)] * 2, _product_between, lambda a, b: ([(0, a + a @ b), (1, b - a @ b)], [])),
    "products to their operands": Program(
        [(8, 8)] * 2, _product_to_operand, lambda a, b: ([(0, a @ b), (1, b @ a)], [])
    ),
    "a product of what is written": Program(
        [(8, 8)] * 2, _product_of_what_is_written, lambda a, b: ([(0, b), (1, (-a @ a).relu())], [])
    ),
    "sorted between": Program(
        [(8,)] * 2, _sorted_between, lambda a, b: ([(0, a.sort(descending=True).values + b), (1, a)], [])
    ),
    "a running sum": Program([(20,)] * 2, _running_sum, lambda a, b: ([(1, a.cumsum(0)), (0, -b)], [])),
    "two sizes": Program([(7,), (3,)], _two_sizes, lambda a, b: ([(0, a + 1), (1, a[1:4] * b)], [])),
    "smaller and larger": Program([(30,)] * 2, _masked, lambda a, b: ([(0, a.minimum(b)), (1, a.maximum(b))], [])),
    "momentum": Program([(33,)] * 3 + [(4, 9)] * 3 + [()] * 3, _momentum, _momenta),
    "a column beside a matrix": Program(
        [(50, 1), (50, 1), (50, 70)], _shared_row, lambda a, r, x: ([(0, a + r)], [x + 2 * r])
    ),
    "halves": Program([(50,)] * 2, _halves, lambda a, b: ([(0, a + b), (1, a)], []), torch.float16),
    "integers": Program([(50,)] * 2, _integers, lambda a, b: ([(0, a + b), (1, a - b)], []), torch.int64),
    "flags": Program([(50,)] * 2, _flags, lambda a, b: ([(0, ~b), (1, a | b)], []), torch.bool),
    "complex numbers": Program([(9,)] * 2, _swap, lambda a, b: ([(0, b), (1, a)], []), torch.complex64),
    "no elements": Program([(0, 4)] * 2, _swap, lambda a, b: ([(0, b), (1, a)], [])),
    "single numbers": Program([()] * 2, _swap_and_add, lambda a, b: ([(0, b), (1, a + 5)], [])),
    "one element": Program([(1, 1)] * 2, _swap, lambda a, b: ([(0, b), (1, a)], [])),
}
