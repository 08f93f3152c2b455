"""Ordinary operations between fused ones do not cut a graph, whatever is known of its sizes: one region, and nothing is
left to PyTorch."""

import pytest
import torch
from compile_support import compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo.backend import observing
from nvfuser.dynamo.operators import meta
from nvfuser.dynamo.placement import Kind
from tested_device import ON_GPU
from torch.nn import functional as F

# Programs of x [6, 8, 10], of another tensor of its sizes, of integers n of its sizes, and of an image of 12 x 16.
PROGRAMS = {
    "joins": lambda x, y, n, image: torch.cat([x * 2, y], 1) + torch.stack([x, y], 1).flatten(1, 2),
    "a cache": lambda x, y, n, image: torch.cat([x, (y * 2)[:, -1:]], 1) * 2,
    "pads": lambda x, y, n, image: F.pad(x * 2, (1, 2)).sum() + F.pad(x * 2, (-1, 2)) + 1,
    "reflection": lambda x, y, n, image: F.pad(x * 2, (1, 2), mode="reflect") + 1,
    "parts": lambda x, y, n, image: (x * 2)[:, :-1] - y[:, 1:] + (x * 3)[:, -1:],
    "one position": lambda x, y, n, image: (x * 2)[:, -1] + (y * 2)[:, 0],
    "every other": lambda x, y, n, image: (x * 2)[:, 1::2] + (y * 2)[:, ::2],
    "positions": lambda x, y, n, image: torch.arange(x.shape[1], device=x.device)[:, None] * 0.5 + x,
    "steps": lambda x, y, n, image: torch.arange(0, 4, 0.4, device=x.device) + x,
    "rotary": lambda x, y, n, image: x * y + torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), -1),
    "pairs": lambda x, y, n, image: torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * y,
    "indices": lambda x, y, n, image: (x * 2)[n[:, 0, 0] % 6] + 1,
    "two indices": lambda x, y, n, image: (x * 2)[n[:, 0, 0] % 3, n[:, 1, 1] % 4] + 1,
    "a table": lambda x, y, n, image: y[0][n[:, :, 0] % 8] + x.sum(),
    "shifts": lambda x, y, n, image: (n << 2) + (n >> 1) + (n << (n & 3)),
    "quotients": lambda x, y, n, image: n // 3 + n % 5 + torch.fmod(n, 7) + n // x.shape[0],
    "powers": lambda x, y, n, image: n**2 + n**5 + 2 ** (n * n % 9),
    "order": lambda x, y, n, image: (x * 2).flip(1) + (y * 2).roll(1, 1) + (y + 1).roll(-3, 2),
    "but NaN": lambda x, y, n, image: torch.fmax(x * 2, y) + torch.fmin(x, y) + torch.hypot(x, y) + x.copysign(y),
    "average": lambda x, y, n, image: F.avg_pool2d(image * 2, 2) + F.avg_pool2d(image, 3, 2, 1),
    "largest": lambda x, y, n, image: F.max_pool2d(image * 2, 2) + F.max_pool2d(image, 3, 2, 1),
    "upsampled": lambda x, y, n, image: F.interpolate(image * 2, scale_factor=2) + 1,
    "bilinear": lambda x, y, n, image: F.interpolate(image * 2, scale_factor=2, mode="bilinear") + 1,
    "replaced": lambda x, y, n, image: torch.slice_scatter(x * 2, y[:, :2], 1, 1, 3).select_scatter(y[:, 0], 1, 0),
    "variance": lambda x, y, n, image: (x * 2).var(1, correction=0.5) + y.std(1),
    "between": lambda x, y, n, image: torch.clamp(x * 2, -y.abs(), y.abs()) + torch.addcmul(x, y, x, value=0.3),
    "of integers": lambda x, y, n, image: torch.addcmul(n * 2, n, n, value=3) + torch.gcd(n, n + 6),
    "logarithms": lambda x, y, n, image: torch.logaddexp(x * 2, y) + torch.xlogy(x, y.abs()) + torch.nan_to_num(x),
    "split": lambda x, y, n, image: [part * 2 for part in (*(x * 2).split(3, 1), *(y * 2).chunk(2, -1))],
    "repeats": lambda x, y, n, image: (x * 2).repeat(1, 2, 1) + (y * 2).repeat_interleave(2, 1),
    "triangles": lambda x, y, n, image: (x * 2).tril() + y.triu(1) + torch.eye(8, 10, device=x.device),
    "classes": lambda x, y, n, image: F.one_hot(n % 7, 7) + 1,
    "extremes": lambda x, y, n, image: (x * 2).max(1).values + (y * 2).min(1).values,
    "windows": lambda x, y, n, image: (x * 2).unfold(1, 3, 1) + 1,
    "diagonals": lambda x, y, n, image: (x * 2).diagonal(dim1=1, dim2=2) + (y * 2).diagonal(1, 1, 2)[:, :1],
    "bits": lambda x, y, n, image: (x * 2).view(torch.int32) + 1,
    "mask": lambda x, y, n, image: (
        (x * 2).masked_fill(torch.arange(10, device=x.device) > n[0, 0, 0], -1e9).softmax(-1)
    ),
    "lists": lambda x, y, n, image: (
        torch._foreach_addcdiv([x * 2, y], [y, x], [x.exp(), y.exp()], 0.3)
        + torch._foreach_lerp([x, y], [y, x], 0.1)
        + torch._foreach_sqrt([x.abs(), y.abs()])
    ),
}


def operands(grown=0):
    shape = (6, 8 + grown, 10)
    n = torch.arange(torch.Size(shape).numel()).view(shape) % 41
    return torch.randn(shape), torch.randn(shape), n, torch.randn(2, 3, 12 + 2 * grown, 16)


def left(graph):
    return [
        f"{node.target}: {graph.cut.reasons[node]}"
        for node, kind in graph.cut.kinds.items()
        if kind is Kind.LIBRARY and node in graph.cut.reasons and isinstance(meta(node), torch.Tensor | list | tuple)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_region(name):
    function = PROGRAMS[name]
    fast = compiled(function, dynamic=True)
    for grown in (0, 2):
        inputs = operands(grown)
        if grown and name in ("a table", "mask", "triangles"):
            continue  # of sizes that are written in it
        with observing() as seen:
            ours = fast(*inputs)
        torch.testing.assert_close(ours, function(*inputs), equal_nan=True, check_stride=True, rtol=1e-5, atol=1e-5)
        assert not failures(seen.graphs)
        for graph in seen.graphs:
            if ON_GPU and name in ("average", "largest"):
                # Windows of unknown sizes, or with steps, are PyTorch's there, and nothing else.
                assert len(left(graph)) == 2 and all("pool2d" in reason for reason in left(graph))
                continue
            assert not left(graph) and len(graph.regions) == 1


def test_sizes_of_one_and_none_of_a_part():
    """What is left of an axis may be one row, or nothing, where nobody saw it before."""

    def function(x):
        return (x * 2)[3:] + 1, (x * 2)[:-2].sum(0), torch.cat([x[2:] * 2, x], 0) + 1

    fast = compiled(function, dynamic=True)
    for rows in (9, 4, 3, 2, 5):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(fast(x), function(x), check_stride=True)


@pytest.mark.parametrize("index", [[0, 2, 9], [0, -7, 1], [-1, 5, 0]])
def test_an_index_of_several_is_checked(index):
    """In one axis, though the next one would have room for it."""

    def function(x, i):
        return x[i, i.clamp(0, 2)] * 2

    x, i = torch.randn(6, 10), torch.tensor(index)
    fast = compiled(function)
    wrong = any(not -6 <= value < 6 for value in index)
    if not wrong:
        torch.testing.assert_close(fast(x, i), function(x, i))
        return
    if x.device.type != "cpu":
        pytest.skip("there PyTorch asserts in a kernel, and the process has no device any more")
    with pytest.raises(IndexError) as theirs:
        function(x, i)
    with pytest.raises(IndexError) as ours:
        fast(x, i)
    assert str(ours.value) == str(theirs.value)


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "RMSprop": {"lr": 0.1, "momentum": 0.5, "centered": True},
    "Adagrad": {"lr": 0.1},
    "Adadelta": {"lr": 1.0},
    "Adamax": {"lr": 0.1},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "Rprop": {"lr": 0.1},
    "ASGD": {"lr": 0.1},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_is_one_region(name):
    """Lists of tensors are as many operations."""

    def run(compile_):
        torch.manual_seed(1)
        weights = [torch.randn(4, 5, requires_grad=True), torch.randn(7, requires_grad=True)]
        optimizer = getattr(torch.optim, name)(weights, foreach=True, **OPTIMIZERS[name])
        step = compile_(optimizer.step)
        for _ in range(3):
            for weight in weights:
                weight.grad = torch.randn_like(weight)
            step()
        return [weight.detach() for weight in weights]

    with observing() as seen:
        ours = run(compiled)
    torch.testing.assert_close(ours, run(lambda step: step), rtol=1e-5, atol=1e-5)
    assert not failures(seen.graphs)
    # What is written back over a parameter is a copy of PyTorch's.
    cut_out = [text for graph in seen.graphs for text in left(graph) if not text.startswith("aten.copy_.")]
    assert not cut_out
