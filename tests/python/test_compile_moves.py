"""Elements in another order or place: turned, padded by mode, in windows, stacked and summed, colours side by side."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo.backend import observing
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


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(2, 0), (3, 4, 1, 2), (0, 1, 0, 0), (1, 1, 2, 0, 0, 3)])
def test_paddings_by_mode_and_their_gradients(mode, widths):
    x = torch.randn(2, 3, *[5 + i for i in range(len(widths) // 2)], requires_grad=True)
    assert_as_eager(lambda x: F.pad(x * 2, widths, mode=mode).sin(), x)


def test_a_circular_padding_of_a_whole_axis():
    assert_as_eager(lambda x: F.pad(x, (5, 5), mode="circular") * 2, torch.randn(2, 5, requires_grad=True))


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_gradients_of_paddings_read_nothing_at_an_index(mode):
    x = torch.randn(1, 2, 9, 20, requires_grad=True)
    with observing() as seen:
        compiled(lambda x: F.pad(x, (2, 1, 1, 1), mode=mode).square())(x).sum().backward()
    graph = seen.graphs[-1]
    assert graph.direction == "backward" and len(graph.regions) == 1 and not graph.cut.reasons
    operations = {str(node.target) for node in graph.regions[0].region.nodes}
    assert not any("index" in name or "scatter" in name for name in operations)


@pytest.mark.parametrize("size, step", [(9, 1), (4, 3), (5, 7)])
def test_extremes_of_windows(size, step):
    assert_as_eager(lambda x: x.unfold(-1, size, step).amax(-1), torch.randn(3, 50), exact=True)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("reduce", [torch.amin, torch.sum, torch.mean])
def test_what_is_made_of_windows(reduce, dim):
    def function(x):
        windows = (x * 2).unfold(dim, 5, 2)
        return reduce(windows, -1), reduce(windows, (-1,), keepdim=True) * 3, reduce(windows, 0)

    x = torch.randn(9, 11, 13)
    x[4, 5, 6] = float("nan")
    assert_as_eager(function, x)
    assert_as_eager(lambda x: function(x)[0], torch.randn(9, 11, 13, requires_grad=True))


def test_windows_of_whole_numbers():
    assert_as_eager(lambda x: (x.unfold(0, 3, 1).sum(-1), x.unfold(0, 3, 1).amax(-1)), torch.randint(99, (40,)))


@pytest.mark.parametrize(
    "shape, other, dim", [((5, 3), (5, 3), -1), ((3, 1, 8), (3, 4, 8), 0), ((2, 3, 5), (2, 3, 5), 1)]
)
def test_products_of_directions(shape, other, dim):
    def function(a, b):
        return torch.linalg.cross(a * 2, b, dim=dim) * 3, torch.linalg.cross(b, a * 2, dim=dim).sum(dim)

    assert_as_eager(function, torch.randn(shape, requires_grad=True), torch.randn(other, requires_grad=True))


def test_corners_of_all_boxes():
    def function(boxes):
        low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
        high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
        return (high - low).clamp(min=0).prod(-1).triu(1).amax(0), boxes.t()[1:, None] * boxes[:, 0]

    assert_as_eager(function, torch.rand(23, 4))


def test_waves_side_by_side():
    def function(x, mask):
        waves = [wave(x * 2**k) for k in range(4) for wave in (torch.sin, torch.cos)]
        return torch.cat(waves, -1), torch.stack([x.exp() * 2, x.tanh() + 1, torch.where(mask, x.sin(), x)], -1)

    assert_as_eager(function, torch.randn(37, 5, 3, requires_grad=True), torch.rand(5, 1) > 0.5)


def test_flipped_colours_and_their_grey():
    def function(x, flips):
        x = x.permute(0, 3, 1, 2).float() / 255
        x = torch.where(flips[:, None, None, None], x.flip(-1), x)
        return (x - x.sum(1, keepdim=True) / 3).clamp(0, 1)

    assert_as_eager(
        function, torch.randint(0, 256, (3, 9, 21, 3), dtype=torch.uint8), torch.tensor([True, False, True])
    )


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


COPIES = {
    "columns twice": lambda x: x.repeat_interleave(2, 1),
    "rows and columns twice": lambda x: x.repeat_interleave(2, 0).repeat_interleave(2, 1),
    "columns three times": lambda x: x.repeat_interleave(3, 1),
    "shown twice each way": lambda x: (
        x[:, None, :, None].expand(-1, 2, -1, 2, -1).reshape(2 * x.shape[0], -1, x.shape[2])
    ),
    "at known places": lambda x: x[:, torch.arange(2 * x.shape[1]) // 2],
    "at places from memory": lambda x: x[:, torch.arange(x.shape[1]).flip(0) // 2],
    "turned": lambda x: x.transpose(0, 1).contiguous(),
    "side by side": lambda x: torch.stack([x, x.flip(0), x], -1),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(5, 12, 2), (6, 96, 2), (4, 7, 3), (3, 33, 1)])
def test_copies_of_short_runs_are_kernels(name, dtype, shape):
    x = torch.randint(0, 99, shape).to(dtype)
    graphs = assert_as_eager(COPIES[name], x, exact=True)
    assert [len(graph.regions) for graph in graphs] == [1] or shape[2] * x.shape[1] > 32


def test_copies_of_long_runs_are_pytorchs():
    x = torch.randn(4, 3, 64)
    graphs = assert_as_eager(lambda x: (x.transpose(0, 1).contiguous(), torch.cat([x, x], 1)), x, exact=True)
    assert not [graph for graph in graphs if graph.regions]


def test_what_is_shown_along_a_row_is_stored_beside_sums_of_columns():
    weight = torch.randint(5, (6, 40))

    def function(x):
        apart = torch.sigmoid((x[:, None] - x[:, :, None]) / 0.1)
        return (weight * apart.sum(-1)).sum()

    x = (torch.randn(6, 40) * 0.1).requires_grad_()
    (ours,) = torch.autograd.grad(compiled(function)(x), x)
    (theirs,) = torch.autograd.grad(function(x), x)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
