"""torch.compile of running sums and products: within kernels, with what is around them, forward and backward."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser import dynamo
from nvfuser.dynamo.backend import observing


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_sums_beside_other_operations(dim, dtype):
    def beside(x, y):
        return (x * y).cumsum(dim) * torch.sigmoid(y)

    x, y = (torch.rand(5, 33, 7, dtype=dtype) for _ in range(2))  # nothing cancels out
    with observing() as seen:
        ours = compiled(beside)(x, y)
    assert ours.dtype is dtype and not failures(seen.graphs)
    torch.testing.assert_close(ours.double(), beside(x.double(), y.double()), rtol=4 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_whole_numbers_are_added_in_64_bits(dtype):
    x = torch.randint(0, 2, (9, 40)).to(dtype)
    assert_as_eager(
        lambda x: (x.cumsum(0) - 1, x.cumsum(1, dtype=torch.int32), x.cumsum(1, dtype=torch.float32)), x, exact=True
    )


def test_products_of_one_element_and_of_none():
    for sizes in ((4, 9), (3, 1), (0, 5), (5, 0), ()):
        x = torch.rand(sizes) + 0.5
        dims = range(len(sizes)) if sizes else (0,)
        assert_as_eager(lambda x, dims=dims: [x.cumprod(dim) + 1 for dim in dims], x)


def test_the_gradient_of_a_running_sum_is_one_kernel():
    def weighted(x, y):
        return (x * y).cumsum(1).tanh()

    x, y = (torch.randn(6, 50, requires_grad=True) for _ in range(2))
    assert_as_eager(weighted, x, y)
    text = dynamo.explain(weighted, x, y)
    assert text.count("left to PyTorch: 0 operations") == 2, text
    backward = text.partition("(backward)")[2]
    assert "in 1 region" in backward and "runs in 1 kernel" in backward, text


def test_parts_of_sums_from_the_end():
    """A part of a scan is read from memory, which a library may have written."""

    def written(x, y):
        y[:1].copy_(x[:1])
        return y.cumsum(-1) * torch.arange(4.0), x.flip(0).cumsum(0).flip(0)[1:3] * 2

    assert_as_eager(written, torch.arange(1.0, 5.0, requires_grad=True), torch.ones(4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.int8, torch.bool])
def test_lone_sums_from_the_end(dtype):
    x = torch.tensor([[1, 0, 3], [2, 1, 0]]).to(dtype)
    assert_as_eager(lambda x: x.flip(1).cumsum(1).flip(1), x, exact=True)
    assert_as_eager(lambda x: x.flip(0).cumprod(0).flip(0)[:1], x, exact=True)


def test_flips_that_only_look_like_a_gradient():
    def flips(x):
        return (
            x.flip(1).cumsum(1).flip(1) * 2,
            x.flip(0).cumsum(1).flip(1),
            x.flip(1).cumsum(0).flip(1),
            x.flip(0, 1).cumsum(1).flip(1),
            x.cumsum(1).flip(1),
        )

    assert_as_eager(flips, torch.randn(6, 9))


def test_places_in_queues():
    def places(chosen):
        mask = torch.nn.functional.one_hot(chosen, 8)
        return ((mask.cumsum(0) - 1) * mask).sum(-1)

    assert_as_eager(places, torch.randint(0, 8, (300,)), exact=True)


def test_a_moving_average():
    def average(x):
        total = torch.nn.functional.pad(x.cumsum(-1), (1, 0))
        return (total[..., 16:] - total[..., :-16]) / 16

    assert_as_eager(average, torch.randn(4, 200))


@pytest.mark.parametrize("sizes", [(17, 5, 5), (9, 3, 4), (4, 33, 2)])
def test_a_sum_whose_elements_are_shared_by_many(sizes):
    """The gradient of the mean stretches that of the running sum along an axis inside of it."""
    x = torch.randn(*sizes, requires_grad=True)
    weights = torch.linspace(-1, 1, sizes[0] * sizes[1]).view(sizes[:2])
    assert_as_eager(lambda x: (x.mean(2).cumsum(0) * weights, x.cumsum(0).amax(2)), x)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8]
)
def test_extremes_and_the_last_places_that_have_them(dtype):
    x = torch.randint(0, 6, (5, 33, 7)).to(dtype)

    def extremes(x):
        return [part for dim in (0, 1, -1) for part in (*x.cummax(dim), *x.cummin(dim))]

    assert_as_eager(extremes, x, exact=True)
    assert_as_eager(lambda x: (x.cummax(1).values * 2, x.cummin(0).indices + 1), x.transpose(0, 2), exact=True)


def test_extremes_of_nan_and_of_few():
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1, nan, 3, nan, 5], [-inf, inf, inf, -inf, 0.0], [-0.0, 0.0, -0.0, 0.0, 0.0]])
    assert_as_eager(lambda x: (*x.cummax(1), *x.cummin(1), *x.cummin(0)), x, exact=True)
    for sizes in ((4, 1), (0, 5), (5, 0), ()):
        assert_as_eager(lambda x: [y + 1 for y in (*x.cummax(0), *x.cummin(-1))], torch.rand(sizes), exact=True)


def test_extremes_have_gradients():
    def drawdown(x):
        wealth = (1 + x).cumprod(1)
        return (1 - wealth / wealth.cummax(1).values).amax(1)

    assert_as_eager(drawdown, (torch.randn(4, 24) / 100).requires_grad_())


def test_extremes_along_axes_of_changing_sizes():
    function = compiled(lambda x: x.cummax(0), dynamic=True)
    for rows in (3, 8, 21):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(tuple(function(x)), tuple(x.cummax(0)), rtol=0, atol=0)
