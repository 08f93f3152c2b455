"""Sizes that only a call knows (csrc/settling/): results are PyTorch's where an axis turns out to have one element or
none, and sizes that do not fit are refused with one error.

Each program is defined once, with symbolic sizes, and called with all of its inputs in turn, forwards and backwards, so
that sizes change to and from 1 and 0 while plans are kept.
"""

import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition

torch.manual_seed(0)


def tensor(fd, rank, contiguity=True, dtype=DataType.Float):
    return fd.define_tensor(shape=[-1] * rank, contiguity=contiguity, dtype=dtype)


def sizes(fd, t, rank):
    return [fd.ops.size(t, i) for i in range(rank)]


# name: (ranks of the inputs, definition, PyTorch's, shapes of each call's inputs)
PROGRAMS = {}


def program(*ranks, calls):
    def add(define):
        PROGRAMS[define.__name__] = (ranks, define, calls)
        return define

    return add


ROWS = [[(3, 4)], [(1, 4)], [(5, 1)], [(2, 7)], [(1, 1)]]


@program(2, calls=ROWS)
def row_times(fd, t):
    return fd.ops.mul(t, fd.ops.slice(t, [0, 0], [1, fd.ops.size(t, 1)])), lambda x: x * x[:1]


@program(2, calls=[[(3, 4)], [(2, 4)], [(9, 2)], [(1000, 4)]])
def relu_of_second_row(fd, t):
    row = fd.ops.relu(fd.ops.slice(t, [1, 0], [2, fd.ops.size(t, 1)]))
    return fd.ops.mul(t, row), lambda x: x * x[1:2].relu()


@program(2, calls=ROWS)
def last_row(fd, t):
    rows, columns = sizes(fd, t, 2)
    return fd.ops.add(t, fd.ops.slice(t, [fd.ops.sub(rows, 1), 0], [rows, columns])), lambda x: x + x[-1:]


@program(2, calls=[*ROWS, [(0, 4)]])
def part_times_part(fd, t):
    columns = fd.ops.size(t, 1)
    first = fd.ops.slice(t, [0, 0], [2, columns])
    return fd.ops.mul(fd.ops.slice(first, [0, 0], [1, columns]), first), lambda x: x[:2][:1] * x[:2]


@program(2, calls=ROWS)
def row_sum(fd, t):
    row = fd.ops.slice(t, [0, 0], [1, fd.ops.size(t, 1)])
    return fd.ops.sub(t, fd.ops.sum(row, [1], keepdim=True)), lambda x: x - x[:1].sum(1, keepdim=True)


@program(2, 1, calls=[[(2, 3), (6,)], [(2, 3), (1,)], [(1, 1), (5,)], [(1, 4), (4,)], [(0, 3), (1,)]])
def flat_times(fd, t, u):
    return fd.ops.mul(fd.ops.reshape(t, [-1]), u), lambda x, y: x.reshape(-1) * y


@program(2, 2, calls=[[(3, 4), (3, 4)], [(3, 4), (1, 4)], [(1, 4), (3, 4)], [(3, 1), (1, 5)], [(1, 1), (0, 2)]])
def declared_sizes_that_are_one(fd, t, u):
    return fd.ops.add(t, u), lambda x, y: x + y


@program(1, calls=[[(1,)], [(5,)], [(1,)]])
def expanded(fd, t):
    return fd.ops.expand(t, [5]), lambda x: x.expand(5)


@program(1, calls=[[(1,)], [(5,)], [(1,)]])
def broadcast_in_dim(fd, t):
    return fd.ops.broadcast_in_dim(t, [4, 5], [1]), lambda x: x.expand(4, 5)


@program(2, calls=[[(2, 4)], [(3, 1)], [(7, 3)]])
def squeezed_slice(fd, t):
    return fd.ops.squeeze(fd.ops.slice(t, [1, 0], [2, fd.ops.size(t, 1)]), [0]), lambda x: x[1]


@program(1, calls=[[(2,)], [(2,)]])
def squeezed_reshape(fd, t):
    return fd.ops.squeeze(fd.ops.reshape(t, [1, 2]), [0]), lambda x: x.reshape(1, 2).squeeze(0)


@program(2, calls=[[(2, 3)], [(4, 0)], [(0, 4)], [(0, 0)], [(2, 1)], [(1, 2)]])
def reshaped_to_two_rows(fd, t):
    return fd.ops.reshape(t, [2, -1]), lambda x: x.reshape(2, x.numel() // 2)


@program(3, calls=[[(2, 3, 5)], [(2, 3, 0)], [(0, 3, 2)], [(1, 3, 1)], [(2, 0, 0)]])
def reshaped_and_back(fd, t):
    a, b, c = sizes(fd, t, 3)
    flat = fd.ops.reshape(t, [a, fd.ops.mul(b, c)])
    return fd.ops.add(fd.ops.reshape(flat, [a, b, c]), t), lambda x: x + x


@program(2, calls=[[(3, 4)], [(3, 1)], [(1, 1)]])
def var_mean(fd, t):
    return fd.ops.var_mean(t, [1], 0, False)[1], lambda x: x.mean(1)


@program(2, calls=[[(3, 4)], [(1, 4)], [(2, 1)], [(0, 4)]])
def padded(fd, t):
    return fd.ops.pad(t, [1, 0]), lambda x: torch.nn.functional.pad(x, (1, 0))


@program(2, 2, calls=[[(3, 4), (2, 4)], [(1, 4), (0, 4)], [(0, 4), (1, 4)], [(0, 4), (0, 4)], [(1, 1), (1, 1)]])
def joined(fd, t, u):
    both = fd.ops.cat([t, u], 0)
    return fd.ops.add(
        both, fd.ops.sum(both, [0], keepdim=True)
    ), lambda x, y: torch.cat([x, y]) + torch.cat([x, y]).sum(0, keepdim=True)


@program(2, calls=[[(3, 4)], [(1, 4)], [(4, 1)], [(0, 3)]])
def ones_of_a_size(fd, t):
    ones = fd.ops.full([fd.ops.size(t, 0), 1], fd.define_scalar(1.0), DataType.Float)
    return fd.ops.add(t, ones), lambda x: x + 1


@program(2, calls=[[(3, 4)], [(1, 4)], [(4, 1)], [(5, 5)]])
def softmax_of_few(fd, t):
    peak = fd.ops.max(t, [1], keepdim=True)
    e = fd.ops.exp(fd.ops.sub(t, peak))
    return fd.ops.div(e, fd.ops.sum(e, [1], keepdim=True)), lambda x: x.softmax(1)


@program(2, 2, calls=[[(3, 4), (4, 2)], [(1, 4), (4, 1)], [(3, 1), (1, 5)], [(2, 3), (3, 2)]])
def product_and_sum(fd, t, u):
    out = fd.ops.matmul(t, u)
    return fd.ops.add(out, fd.ops.sum(out, [0], keepdim=True)), lambda x, y: x @ y + (x @ y).sum(0, keepdim=True)


LINEAR = [[(4, 3), (5, 3), (5,)], [(4, 3), (5, 3), (1,)], [(2, 6), (1, 6), (1,)], [(0, 3), (5, 3), (1,)]]


@program(2, 2, 1, calls=LINEAR)
def bias_of_one_number(fd, x, w, b):
    return fd.ops.linear(x, w, b), torch.nn.functional.linear


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch(name):
    ranks, define, calls = PROGRAMS[name]
    with FusionDefinition() as fd:
        out, reference = define(fd, *(tensor(fd, rank) for rank in ranks))
        fd.add_output(out)
    for shapes in calls + calls[::-1]:
        inputs = [torch.randn(shape) for shape in shapes]
        (result,) = fd.execute(inputs)
        expected = reference(*inputs)
        assert result.shape == expected.shape, shapes
        torch.testing.assert_close(result, expected, equal_nan=True, msg=f"{name} of {shapes}")


REFUSED = {
    "flat_times": [[(2, 3), (4,)], "axis 0 of T1 has size 4"],
    "declared_sizes_that_are_one": [[(3, 4), (2, 4)], "and they meet in add"],
    "expanded": [[(3,)], "axis 0 of T0 has size 3, but 5 is needed"],
    "broadcast_in_dim": [[(3,)], "has size 3, but 5 is needed"],
    "joined": [[(3, 4), (3, 1)], "they meet in cat"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_sizes_are_refused_and_the_next_call_works(name):
    ranks, define, calls = PROGRAMS[name]
    shapes, words = REFUSED[name]
    with FusionDefinition() as fd:
        out, reference = define(fd, *(tensor(fd, rank) for rank in ranks))
        fd.add_output(out)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=words):
            fd.execute([torch.randn(shape) for shape in shapes])
        inputs = [torch.randn(shape) for shape in calls[0]]
        torch.testing.assert_close(fd.execute(inputs)[0], reference(*inputs))


def test_the_size_of_a_stretched_axis():
    """Either operand may be stretched: the size of their sum is that of the longer one."""
    with FusionDefinition() as fd:
        t, u = tensor(fd, 1), tensor(fd, 1)
        both = fd.ops.relu(fd.ops.add(t, u))
        fd.add_output(fd.ops.full([fd.ops.size(both, 0), 2], fd.define_scalar(1.0), DataType.Float))
        fd.add_output(fd.ops.reshape(both, [1, fd.ops.size(both, 0)]))
        fd.add_output(fd.ops.var_mean(both, [0], 0, False)[1])
        fd.add_output(fd.ops.slice(both, [0], [fd.ops.size(both, 0)]))
    for first, second in ((3, 3), (3, 1), (1, 3), (1, 1), (5, 5), (1, 4)):
        x, y = torch.rand(first), torch.rand(second)
        ones, row, mean, part = fd.execute([x, y])
        assert ones.shape == (len(x + y), 2)
        torch.testing.assert_close(row, (x + y).reshape(1, -1))
        torch.testing.assert_close(mean, (x + y).mean(), equal_nan=True)
        torch.testing.assert_close(part, x + y)


def test_a_squeeze_is_of_one_element(capfd):
    """A computed axis may be dropped where a call leaves one element of it; by a kernel, without a fallback."""
    with FusionDefinition() as fd:
        t = tensor(fd, 2)
        rows, columns = sizes(fd, t, 2)
        fd.add_output(fd.ops.neg(fd.ops.squeeze(fd.ops.slice(t, [2, 0], [rows, columns]), [0])))
    x = torch.randn(3, 5)
    torch.testing.assert_close(fd.execute([x])[0], -x[2])
    with pytest.raises(RuntimeError, match="squeeze: axis 0 of T1 has size 2"):
        fd.execute([torch.randn(4, 5)])
    torch.testing.assert_close(fd.execute([x])[0], -x[2])
    assert "another way" not in capfd.readouterr().err


UNIT_STRIDES = [
    ((3, 1, 2), (2, 6, 1), [True, False, True]),
    ((3, 1, 2), (6, 6, 1), [True, False, True]),
    ((30, 1, 1), (1, 10**12, 1), [True, True, True]),
    ((1, 5), (0, 1), [True, True]),
    ((1, 1, 4), (7, 10**9, 1), [False, True, True]),
    ((5, 1), (1, 3), [True, True]),
    ((2, 1, 1, 3), (3, 5, 11, 1), [True, False, False, True]),
]


@pytest.mark.parametrize("shape, strides, contiguity", UNIT_STRIDES)
def test_strides_of_axes_of_one_element(shape, strides, contiguity):
    with FusionDefinition() as fd:
        t = tensor(fd, len(shape), contiguity)
        fd.add_output(fd.ops.mul(t, fd.ops.add(t, fd.define_scalar(1.0))))
    x = torch.as_strided(torch.randn(64), shape, strides)
    torch.testing.assert_close(fd.execute([x])[0], x * (x + 1))


def test_many_shapes_share_their_plans():
    with FusionDefinition() as fd:
        t = tensor(fd, 2)
        fd.add_output(fd.ops.mul(t, fd.ops.slice(t, [0, 0], [1, fd.ops.size(t, 1)])))
    for rows in range(1, 12):
        for columns in range(1, 12):
            x = torch.randn(rows, columns)
            torch.testing.assert_close(fd.execute([x])[0], x * x[:1])
