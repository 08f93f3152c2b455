"""Outputs that are written to inputs: everything is computed from the arguments as they were, then written."""

import copy

import numpy as np
import pytest
import torch
from in_place_programs import PROGRAMS
from nvfuser_direct import FusionDefinition, pytorch_utils

OVERLAPS = "more than one element of the written-to tensor refers to a single memory location"


def defined(define, arguments):
    with FusionDefinition() as fd:
        inputs = []
        for x in arguments:
            one = [size == 1 for size in x.shape]
            inputs.append(
                fd.define_tensor(
                    shape=[1 if is_one else -1 for is_one in one],
                    contiguity=[None if is_one else False for is_one in one],
                    dtype=pytorch_utils.torch_dtype_to_nvfuser_dtype(x.dtype),
                )
            )
        define(fd, *inputs)
    return fd


def check(fd, meaning, arguments, calls=3):
    """Calls with the same numbers: the first one makes kernels, the others repeat it."""
    before = copy.deepcopy(arguments)
    for _ in range(calls):
        for x, was in zip(arguments, before, strict=True):
            x.untyped_storage().copy_(was.untyped_storage())
        expected = copy.deepcopy(arguments)  # what shares memory does so in the copy
        written, outputs = meaning(*[x.clone() for x in arguments])
        for position, value in written:
            expected[position].copy_(value)
        results = fd.execute(arguments)
        assert len(results) == len(outputs)
        for result, output in zip(results, outputs, strict=True):
            assert torch.equal(result, output)
        for is_now, should_be in zip(arguments, expected, strict=True):
            assert torch.equal(is_now, should_be)


def numbers(shape, dtype=torch.float32, seed=0):
    """Small whole numbers: no order of sums matters."""
    drawn = torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed))
    return drawn > 0 if dtype == torch.bool else drawn.to(dtype)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program = PROGRAMS[name]
    arguments = [numbers(shape, program.dtype, i) for i, shape in enumerate(program.shapes)]
    check(defined(program.define, arguments), program.meaning, arguments)


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.dtype == torch.float32])
def test_programs_with_gaps(name):
    program = PROGRAMS[name]
    arguments = []
    for i, shape in enumerate(program.shapes):
        wide = numbers((*shape[:-1], 2 * shape[-1]) if shape else (2,), seed=i)
        arguments.append(wide[..., ::2] if shape else wide[1])
    check(defined(program.define, arguments), program.meaning, arguments)


# ---- arguments that share memory ----


def _add(fd, a, b):
    fd.add_output(fd.ops.add(a, b), a)
    fd.add_output(fd.ops.neg(b))


def _added(a, b):
    return [(0, a + b)], [-b]


def _both(fd, a, b):
    fd.add_output(fd.ops.add(a, b), a)
    fd.add_output(fd.ops.mul(a, b), b)
    fd.add_output(b)
    fd.add_output(fd.ops.permute(b, [1, 0]) if b.ndim == 2 else fd.ops.set(b))


def _to_both(a, b):
    return [(0, a + b), (1, a * b)], [b, b.T if b.dim() == 2 else b]


def _shown(fd, a, b):
    fd.add_output(fd.ops.add(a, 1.0), a)
    fd.add_output(b)
    fd.add_output(fd.ops.permute(b, [1, 0]))


def _twice(x):
    return [x, x]


SHARED = {
    "one tensor twice": lambda: _twice(numbers((7,))),
    "one matrix twice": lambda: _twice(numbers((33, 65))),
    "one number twice": lambda: _twice(numbers(())),
    "overlapping slices": lambda: (lambda x: [x[:6], x[2:]])(numbers((8,))),
    "overlapping slices, the later one first": lambda: (lambda x: [x[3:], x[:-3]])(numbers((5000,))),
    "overlapping rows": lambda: (lambda x: [x[:-1], x[1:]])(numbers((9, 33))),
    "overlapping columns": lambda: (lambda x: [x[:, :-1], x[:, 1:]])(numbers((9, 33))),
    "even and odd elements": lambda: (lambda x: [x[::2], x[1::2]])(numbers((16,))),
    "a matrix and itself transposed": lambda: (lambda x: [x, x.T])(numbers((16, 16))),
    "a matrix transposed and itself": lambda: (lambda x: [x.T, x])(numbers((16, 16))),
    "a row of a matrix, expanded": lambda: (lambda x: [x, x[1:2].expand(5, 6)])(numbers((5, 6))),
    "no elements": lambda: _twice(numbers((0, 3))),
    "one memory, apart": lambda: (lambda x: [x[:4], x[4:]])(numbers((8,))),
}


@pytest.mark.parametrize("name", SHARED)
def test_arguments_that_share_memory(name):
    arguments = SHARED[name]()
    check(defined(_add, arguments), _added, arguments)
    if "expanded" not in name:
        check(defined(_both, arguments), _to_both, arguments)
    if arguments[0].dim() == 2:
        check(defined(_shown, arguments), lambda a, b: ([(0, a + 1)], [b, b.T]), arguments)


def test_one_fusion_for_shared_and_separate_memory():
    x = numbers((64,))
    fd = defined(_add, [x, x])
    for _ in range(3):
        check(fd, _added, [numbers((64,)), numbers((64,), seed=1)], calls=2)
        check(fd, _added, [x, x], calls=2)
        base = numbers((96,))
        check(fd, _added, [base[16:80], base[:64]], calls=2)


# ---- memory that cannot be written to ----


def _increment(fd, a):
    fd.add_output(fd.ops.add(a, 1.0), a)


@pytest.mark.parametrize(
    "make",
    [
        lambda: numbers((1,)).expand(3),
        lambda: numbers((1, 3)).expand(4, 3),
        lambda: numbers((4, 1)).expand(4, 3),
        lambda: numbers((6,)).as_strided((3, 2), (1, 1)),
        lambda: numbers((20,)).as_strided((3, 4), (2, 1)),
        lambda: numbers((20,)).as_strided((3, 4), (3, 2)),
    ],
)
def test_overlapping_memory_is_refused(make):
    x, other = make(), numbers((5,))

    def define(fd, a, b):
        fd.add_output(fd.ops.add(b, 1.0), b)
        _increment(fd, a)

    fd = defined(define, [x, other])
    before, other_before = x.clone(), other.clone()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=OVERLAPS) as error:
            fd.execute([x, other])
        for part in ("input 0", str(list(x.shape)), str(list(x.stride())), "clone() it before the call"):
            assert part in str(error.value)
        assert torch.equal(x, before) and torch.equal(other, other_before)
        check(fd, lambda a, b: ([(1, b + 1), (0, a + 1)], []), [x.clone(), other.clone()], calls=2)


def test_expanded_where_dense_was_promised():
    with FusionDefinition() as fd:
        _increment(fd, fd.define_tensor(shape=[-1], contiguity=[True]))
    x = numbers((1,)).expand(3)
    before = x.clone()
    with pytest.raises(RuntimeError):
        fd.execute([x])
    assert torch.equal(x, before)


def test_strides_that_do_not_overlap():
    for x in (
        numbers((20,)).as_strided((3, 2), (2, 3)),  # 0 3 2 5 4 7
        numbers((4,)).as_strided((4, 1), (1, 0)),
        numbers((4,)).as_strided((1, 4), (0, 1)),
        numbers((4,)).as_strided((1, 1), (0, 0)),
        numbers((4,)).as_strided((0, 3), (0, 0)),
        numbers((30,)).as_strided((3, 4), (1, 4)),
    ):
        check(defined(_increment, [x]), lambda a: ([(0, a + 1)], []), [x])


def test_expanded_tensors_may_be_read():
    x = numbers((1, 5)).expand(4, 5)
    check(defined(_add, [x, x]), _added, [numbers((4, 5), seed=2), x])


def test_sizes_that_differ():
    def define(fd, a, b):
        fd.add_output(fd.ops.neg(b), b)
        fd.add_output(fd.ops.add(b, 1.0), a)

    a, b = numbers((2,)), numbers((3,))
    fd = defined(define, [a, b])
    with pytest.raises(RuntimeError, match=r"of sizes \[3\] is written to .* has sizes \[2\]"):
        fd.execute([a, b])
    assert torch.equal(a, numbers((2,))) and torch.equal(b, numbers((3,)))


def test_one_output_for_two_inputs_is_refused():
    with pytest.raises(RuntimeError, match=r"is written to .* already; write set"), FusionDefinition() as fd:
        a, b = (fd.define_tensor(shape=[-1], contiguity=[True]) for _ in range(2))
        y = fd.ops.add(a, b)
        fd.add_output(y, a)
        fd.add_output(y, b)


def test_a_wrong_index_leaves_all_as_it_was():
    def define(fd, a, at):
        rows = fd.ops.index_select(a, at, 0)
        fd.add_output(fd.ops.add(a, rows), a)

    def meaning(a, at):
        return [(0, a + a[at])], []

    a, at = numbers((6, 5)), torch.tensor([5, 4, 3, 2, 1, 0])
    fd = defined(define, [a, at])
    check(fd, meaning, [a, at])
    before = a.clone()
    with pytest.raises(IndexError):
        fd.execute([a, torch.tensor([0, 1, 2, 3, 4, 6])])
    assert torch.equal(a, before)
    check(fd, meaning, [a, at])


# ---- NumPy ----


@pytest.mark.parametrize("step", [slice(None), slice(None, None, -1), slice(None, None, 2), slice(None, None, -3)])
def test_arrays(step):
    base = np.arange(12, dtype=np.float32)
    x, y = base[step], np.arange(12, dtype=np.float32)[step]
    with FusionDefinition() as fd:
        a, b = (fd.define_tensor(shape=[-1], contiguity=[False]) for _ in range(2))
        fd.add_output(fd.ops.add(a, b), a)
    for _ in range(3):
        expected, beside = base.copy(), y.copy()
        expected[step] += beside
        fd.execute([x, y])
        assert np.array_equal(base, expected) and np.array_equal(y, beside)


def test_arrays_that_overlap():
    for first, second in ((slice(0, 9), slice(3, 12)), (slice(None), slice(None, None, -1))):
        base = np.arange(12, dtype=np.float32)
        x, y = base[first], base[second]
        with FusionDefinition() as fd:
            a, b = (fd.define_tensor(shape=[-1], contiguity=[False]) for _ in range(2))
            fd.add_output(fd.ops.add(a, b), a)
        for _ in range(3):
            expected = base.copy()
            expected[first] = x + y
            fd.execute([x, y])
            assert np.array_equal(base, expected)
    with pytest.raises(RuntimeError, match=OVERLAPS):
        fd.execute([np.lib.stride_tricks.as_strided(base, (3,), (0,), writeable=True), base[:3]])
