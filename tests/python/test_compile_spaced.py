"""Each so-manieth element of an axis, windows beside each other, and short innermost axes: points, pairs, colours."""

import pytest
import torch
from compile_support import assert_as_eager, failures, fresh  # noqa: F401


def left(graphs):
    return [str(node.target) for graph in graphs for node in graph.cut.reasons if node.op == "call_function"]


@pytest.mark.parametrize("step", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("size", "dynamic"), [*((size, False) for size in (1, 2, 6, 7, 12)), *((size, True) for size in (2, 6, 7))]
)
def test_parts_with_steps(size, step, dynamic):
    """Of an argument and of what is computed; the last may be cut short. (Where sizes change, a step does, too.)"""

    def function(x):
        y = x * 2
        parts = [x[:, first::step] + 1 for first in range(min(size, step + 1))]
        parts += [y[1:size:step].sin(), y[:, -size::step], x[::step, : size - 1 : step].exp()]
        return parts

    graphs = assert_as_eager(function, torch.randn(4, size), dynamic=dynamic)
    assert not failures(graphs) and (dynamic or size == 1 or not left(graphs))  # nothing is left of an empty part


@pytest.mark.parametrize(
    ("size", "width", "step"), [(12, 3, 3), (12, 2, 3), (13, 4, 4), (11, 1, 5), (9, 4, 2), (7, 7, 9)]
)
def test_windows(size, width, step):
    def function(x):
        return (x * 2).unfold(1, width, step) + 1, x.unfold(0, 2, 2).sum(-1)

    graphs = assert_as_eager(function, torch.randn(5, size, requires_grad=True))
    assert not failures(graphs)


PAIRS = {
    "rotary": lambda x, y: torch.stack([x[..., ::2] * y[..., ::2], x[..., 1::2] + y[..., ::2]], -1).flatten(-2),
    "turned": lambda x, y: torch.stack([-x[..., 1], x[..., 0]], -1),
    "three": lambda x, y: torch.stack([x * y, x + y, x.exp()], -1),
    "four": lambda x, y: torch.stack([x * y, x + y, x - y, x], -1),
    "boxes": lambda x, y: torch.cat([x[..., :2] - y[..., :2] / 2, x[..., :2] + y[..., :2] / 2], -1),
    "weights": lambda x, y: x[..., :3] * y[..., :1],
    "colours": lambda x, y: (x[..., :3] - y[0, 0, :3]) / y[1, 1, :3].exp(),
    "two outputs": lambda x, y: (torch.stack([x, y], -1), torch.stack([y, x, x], -1), x + y),
    "turned over": lambda x, y: torch.stack([x, y.sin()], -1).transpose(0, 1) * 2,
    "a row": lambda x, y: torch.stack([x[0], y[0]], -1) + y[0, 0, :2],
}


@pytest.mark.parametrize("rows", [0, 1, 3, 301])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32])
@pytest.mark.parametrize("name", PAIRS)
def test_short_innermost_axes(name, dtype, rows):
    if rows < 2 and name in ("colours", "a row"):
        rows = 2

    def made():
        drawn = torch.randn(rows, 7, 4) if dtype.is_floating_point else torch.randint(-9, 9, (rows, 7, 4))
        return drawn.to(dtype)

    function = PAIRS[name]
    assert not failures(assert_as_eager(function, made(), made()))


def test_colours_from_bytes():
    def function(x, mean, scale):
        return ((x.float() / 255 - mean) / scale), (x * 2).to(torch.int16)

    x = torch.randint(0, 256, (33, 65, 3), dtype=torch.uint8)
    assert_as_eager(function, x, torch.rand(3), torch.rand(3) + 0.5)
