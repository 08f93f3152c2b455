"""Elements in another order or place: turned, padded by mode, in windows, stacked and summed, colours side by side."""

import pytest
import torch
from compile_support import assert_as_eager, failures, fresh  # noqa: F401
from torch.nn import functional as F


@pytest.mark.parametrize("size", [1, 7, 16, 37])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8, torch.int64])
def test_turned(size, dtype):
    def function(x):
        return x.flip(-1), x.flip(0) + x.flip(-2, -1), x.rot90(1, (-2, -1)), x.rot90(3, (-2, -1)) * 2

    assert_as_eager(function, torch.randint(0, 99, (3, size, size + 2)).to(dtype), exact=True)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_stencils_of_what_is_padded_by_mode(mode):
    def function(x):
        padded = F.pad(x, (1, 1, 1, 1), mode=mode)
        return (padded[..., :-2, 1:-1] - padded[..., 2:, 2:]).square() + padded[..., 1:-1, :-2]

    assert_as_eager(function, torch.randn(2, 1, 19, 35, requires_grad=True))


@pytest.mark.parametrize("size, step", [(9, 1), (4, 3), (5, 7)])
def test_extremes_of_windows(size, step):
    assert_as_eager(lambda x: x.unfold(-1, size, step).amax(-1), torch.randn(3, 50), exact=True)


def test_sums_over_what_is_stacked():
    def function(x, y, place):
        chosen = place[None] == torch.arange(6).view(-1, 1, 1)
        first = torch.stack([x, y, x * y, x - y, x, y]) * chosen
        return first.sum(0), torch.stack([x, y, x + y], -1) * 2, (torch.stack([y, x], 1) * 3).sum(1)

    assert_as_eager(function, torch.randn(5, 33), torch.randn(5, 33), torch.randint(6, (5, 33)))


def test_colours_side_by_side():
    def function(x):
        red, green, blue = x.float().div(255).unbind(-1)
        grey = 0.3 * red + 0.6 * green + 0.1 * blue
        return torch.stack([grey, (blue - grey) * 0.5, (red - grey) * 0.7], -1)

    assert_as_eager(function, torch.randint(0, 256, (2, 9, 21, 3), dtype=torch.uint8))


def test_numbers_become_bytes():
    def function(x):
        return (x.round(), x.floor(), x.ceil(), x.trunc(), x.clamp(-128, 127).round().to(torch.int8), x.long())

    assert_as_eager(function, torch.randn(131) * 90, exact=True)


@pytest.mark.parametrize("width", [4, 5, 8, 9, 12, 15])
def test_short_rows(width):
    assert_as_eager(lambda x: (x.softmax(-1), x.logsumexp(-1)), torch.randn(67, width, requires_grad=True))
