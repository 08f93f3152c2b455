"""Reductions and normalisations over no elements: PyTorch's results, whether a size is a constant 0 or only a call has
it, on cold and warm calls, between calls of other sizes.
"""

import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")

SHAPES_2 = [(3, 4), (3, 0), (0, 4), (0, 0), (2, 1), (1, 0)]
SHAPES_3 = [(2, 3, 4), (2, 0, 4), (0, 3, 2), (2, 3, 0), (0, 3, 0), (1, 0, 1)]


def run(fd, inputs, reference):
    expected = reference(*inputs)
    for _ in range(2):
        results = fd.execute(list(inputs))
        for result, wanted in zip(results, expected, strict=True):
            assert result.shape == wanted.shape and result.dtype == wanted.dtype
            torch.testing.assert_close(result, wanted, equal_nan=True)


def numbers(shape, dtype=torch.float32):
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def check(define, shapes, dtype=torch.float32, fd_dtype=DataType.Float):
    """`define(fd, t)` gives outputs and PyTorch's. One definition for all calls, then constant sizes."""
    with FusionDefinition() as fd:
        outs, reference = define(fd, fd.define_tensor(shape=[-1] * len(shapes[0]), contiguity=True, dtype=fd_dtype))
        for out in outs:
            fd.add_output(out)
    for shape in shapes + shapes[::-1]:
        run(fd, [numbers(shape, dtype)], reference)
    for shape in shapes:
        with FusionDefinition() as fixed:
            outs, reference = define(
                fixed,
                fixed.define_tensor(
                    shape=list(shape), contiguity=[None if n == 1 else True for n in shape], dtype=fd_dtype
                ),
            )
            for out in outs:
                fixed.add_output(out)
        run(fixed, [numbers(shape, dtype)], reference)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_var_mean(axes, correction, keepdim):
    def define(fd, t):
        return fd.ops.var_mean(t, axes, correction, keepdim), lambda x: torch.var_mean(
            x, axes, correction=correction, keepdim=keepdim
        )

    check(define, SHAPES_2)


@pytest.mark.parametrize("axes", [[0, 2], [1], [1, 2], [0, 1]])
def test_var_mean_of_three_axes(axes):
    def define(fd, t):
        var, mean = fd.ops.var_mean(t, axes, 1, True)
        return [fd.ops.sub(t, mean), var], lambda x: (
            x - x.mean(axes, keepdim=True),
            x.var(axes, correction=1, keepdim=True),
        )

    check(define, SHAPES_3)


def test_var_mean_of_double_and_of_complex():
    def define(fd, t):
        return fd.ops.var_mean(t, [1], 1, False), lambda x: torch.var_mean(x, [1], correction=1)

    check(define, SHAPES_2, torch.float64, DataType.Double)
    check(define, SHAPES_2, torch.complex64, DataType.ComplexFloat)


@pytest.mark.parametrize("dtype, fd_dtype", [(torch.float16, DataType.Half), (torch.bfloat16, DataType.BFloat16)])
def test_var_mean_of_reduced_precision(dtype, fd_dtype):
    def define(fd, t):
        var, mean = fd.ops.var_mean(fd.ops.cast(t, dtype=DataType.Float), [1], 0, False)
        return [fd.ops.cast(mean, dtype=fd_dtype), fd.ops.cast(var, dtype=fd_dtype)], lambda x: (
            x.float().mean(1).to(x.dtype),
            x.float().var(1, correction=0).to(x.dtype),
        )

    check(define, SHAPES_2, dtype, fd_dtype)


@pytest.mark.parametrize("correction", [3, 4, 9])
def test_more_correction_than_elements(correction):
    def define(fd, t):
        return [fd.ops.var(t, [1], correction), fd.ops.var_mean(t, [1], correction, False)[0]], lambda x: (
            x.var(1, correction=correction),
            x.var(1, correction=correction),
        )

    check(define, [(2, 3), (2, 0), (2, 1), (2, 3)])


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_welford(axes):
    def define(fd, t):
        def reference(x):
            count = torch.full((), 1)
            for axis in axes:
                count = count * x.shape[axis]
            mean = x.mean(axes)
            deviations = ((x - x.mean(axes, keepdim=True)) ** 2).sum(axes)
            return mean, deviations, count.expand(mean.shape)

        return fd.ops.welford(t, axes), reference

    check(define, SHAPES_2)


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
@pytest.mark.parametrize(
    "dtype, fd_dtype",
    [(torch.float32, DataType.Float), (torch.float64, DataType.Double), (torch.complex64, DataType.ComplexFloat)],
)
def test_sum_product_mean_and_variance(axes, dtype, fd_dtype):
    def define(fd, t):
        def reference(x):
            product = x
            for axis in reversed(axes):
                product = product.prod(axis)
            return x.sum(axes), product, x.mean(axes), x.var(axes, correction=1)

        return [fd.ops.sum(t, axes), fd.ops.prod(t, axes), fd.ops.mean(t, axes), fd.ops.var(t, axes, 1)], reference

    check(define, SHAPES_2, dtype, fd_dtype)


def test_greatest_and_least_of_nothing_are_the_neutral_elements():
    with FusionDefinition() as fd:
        t = fd.define_tensor(shape=[-1, -1], contiguity=True, dtype=DataType.Float)
        fd.add_output(fd.ops.max(t, [1]))
        fd.add_output(fd.ops.min(t, [1]))
    greatest, least = fd.execute([torch.empty(3, 0)])
    assert greatest.tolist() == [-torch.inf] * 3 and least.tolist() == [torch.inf] * 3
    run(fd, [torch.randn(3, 4)], lambda x: (x.amax(1), x.amin(1)))


def test_statistics_of_a_slice_that_a_call_leaves_empty():
    with FusionDefinition() as fd:
        t = fd.define_tensor(shape=[-1, -1], contiguity=True, dtype=DataType.Float)
        rest = fd.ops.slice(t, [0, 2], [fd.ops.size(t, 0), fd.ops.size(t, 1)])
        var, mean = fd.ops.var_mean(rest, [1], 1, True)
        fd.add_output(fd.ops.add(t, mean))
        fd.add_output(var)
    for shape in ((3, 5), (3, 2), (3, 1), (3, 3), (0, 5), (3, 2)):
        run(fd, [torch.randn(shape)], lambda x: (x + x[:, 2:].mean(1, keepdim=True), x[:, 2:].var(1, keepdim=True)))


def test_statistics_read_by_another_kernel():
    with FusionDefinition() as fd:
        t = fd.define_tensor(shape=[-1, -1], contiguity=True, dtype=DataType.Float)
        mean = fd.ops.segment_set(fd.ops.var_mean(fd.ops.segment_set(fd.ops.exp(t)), [1], 0, False)[1])
        fd.add_output(fd.ops.relu(fd.ops.neg(mean)))
    for shape in SHAPES_2:
        run(fd, [torch.randn(shape)], lambda x: ((-x.exp().mean(1)).relu(),))


def test_layer_norm():
    """(PyTorch's own statistics of nothing are 0 and NaN; here the mean of nothing is NaN, as torch.mean says.)"""
    with FusionDefinition() as fd:
        t = fd.define_tensor(shape=[-1, -1], contiguity=True, dtype=DataType.Float)
        var, mean = fd.ops.var_mean(t, [1], 0, True)
        rstd = fd.ops.rsqrt(fd.ops.add(var, fd.define_scalar(1e-5)))
        fd.add_output(fd.ops.mul(fd.ops.sub(t, mean), rstd))
        fd.add_output(rstd)
    for shape in SHAPES_2:
        run(
            fd,
            [torch.randn(shape)],
            lambda x: (
                torch.nn.functional.layer_norm(x, x.shape[1:]),
                (x.var(1, correction=0, keepdim=True) + 1e-5).rsqrt(),
            ),
        )


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics(name):
    """PyTorch's: no elements teach nothing, but an instance norm of no samples learns NaN."""
    torch.manual_seed(0)  # two numbers that are nearly alike have a variance of few digits
    with FusionDefinition() as fd:
        t = fd.define_tensor(shape=[-1, -1, -1], contiguity=True, dtype=DataType.Float)
        mean, var = (fd.define_tensor(shape=[-1], contiguity=True, dtype=DataType.Float) for _ in range(2))
        norm = fd.ops.batch_norm if name == "batch_norm" else fd.ops.instance_norm
        fd.add_output(norm(t, None, None, mean, var, True, 0.1, 1e-5)[0])
    for shape in [(2, 3, 4), (0, 3, 4), (2, 3, 0), (2, 3, 4), (0, 3, 0), (4, 3, 2)]:
        x = torch.randn(shape)
        ours, theirs = ([torch.zeros(3), torch.ones(3)] for _ in range(2))
        for _ in range(2):
            (got,) = fd.execute([x, *ours])
            if name == "batch_norm":
                expected = torch.nn.functional.batch_norm(x, *theirs, training=True)
            else:
                expected = torch.nn.functional.instance_norm(x, *theirs)
            torch.testing.assert_close(got, expected)
            torch.testing.assert_close(ours, theirs, equal_nan=True, msg=f"statistics of {shape}")
