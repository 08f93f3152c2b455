"""Convolutions with their channels innermost, as on a GPU (dynamo/channels_last.py): values, strides, what is left."""

import copy
import os

import pytest

torch = pytest.importorskip("torch")
from nvfuser.dynamo import channels_last  # noqa: E402
from nvfuser.dynamo.backend import observing  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

DEVICE = os.environ.get("NVFUSER_TEST_DEVICE", "cpu")


@pytest.fixture(autouse=True)
def _on_this_device(monkeypatch):
    monkeypatch.setattr(channels_last, "DEVICES", (DEVICE,))
    torch._dynamo.reset()
    torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        self.shortcut = nn.Conv2d(before, after, 1)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.shortcut(x))


class Patches(nn.Module):
    """Tokens from an image, normalised along their channels."""

    def __init__(self):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(16, 32, 4, 4), nn.LayerNorm(32)

    def forward(self, x):
        return self.norm(self.patches(x).flatten(2).transpose(1, 2) + 1)


class Upsampled(nn.Module):
    """Returns a tensor of the convolutions themselves, an updated buffer, and a part of another."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(16, 32, 3, padding=1), nn.ConvTranspose2d(32, 16, 2, 2)
        self.register_buffer("seen", torch.zeros(2, 32, 8, 8))

    def forward(self, x):
        y = self.first(F.gelu(x))
        self.seen.copy_(y.detach())
        return y, self.second(y)[:, 3:7] * 2, y.reshape(2, -1).sum(1)


class Joined(nn.Module):
    """An image of half the size, repeated, beside the image itself."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(16, 32, 3, padding=1), nn.Conv2d(64, 16, 3, padding=1)

    def forward(self, x):
        y = F.relu(self.first(x))
        return self.second(torch.cat([F.interpolate(F.avg_pool2d(y, 2), scale_factor=2), y], 1))


MODELS = {
    "residual": (lambda: nn.Sequential(Residual(16, 32), nn.MaxPool2d(2), Residual(32, 32)), (2, 16, 16, 16)),
    "patches": (Patches, (2, 16, 16, 16)),
    "returned": (Upsampled, (2, 16, 8, 8)),
    "by depth": (
        lambda: nn.Sequential(nn.Conv2d(16, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Hardswish()),
        (3, 16, 9, 7),
    ),
    "lines": (
        lambda: nn.Sequential(nn.Conv1d(16, 32, 3, padding=1), nn.GELU(), nn.Conv1d(32, 32, 3, 2, 1, bias=False)),
        (2, 16, 12),
    ),
    "norms by groups": (
        lambda: nn.Sequential(nn.Conv2d(16, 24, 3), nn.GroupNorm(6, 24), nn.SiLU(), nn.Conv2d(24, 16, 3, padding=1)),
        (2, 16, 9, 8),
    ),
    "repeated and joined": (Joined, (2, 16, 8, 12)),
    "one place": (lambda: nn.Sequential(nn.Conv2d(16, 32, 4), nn.ReLU(), nn.Conv2d(32, 16, 1)), (2, 16, 4, 4)),
}


def _flat(value):
    return list(value) if isinstance(value, tuple | list) else [value]


def _step(model, function, x):
    """Outputs, gradients and buffers."""
    x = x.clone().requires_grad_()
    outputs = _flat(function(x))
    sum(output.float().square().mean() for output in outputs).backward()
    grads = [x.grad, *(parameter.grad for parameter in model.parameters())]
    return [*outputs, *grads, *model.buffers()]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_as_eager(name, trained, dtype):
    make, shape = MODELS[name]
    model = make().to(DEVICE, dtype).train(trained)
    x = torch.randn(shape).to(DEVICE, dtype)
    others = {kind: copy.deepcopy(model) for kind in ("eager", "exact")}
    others["exact"] = others["exact"].double()
    with observing() as seen:
        if trained:
            got = _step(model, torch.compile(model, backend="nvfuser"), x)
        else:
            with torch.no_grad():
                got = [*_flat(torch.compile(model, backend="nvfuser")(x)), *model.buffers()]
    assert not any(graph.failures() for graph in seen.graphs)
    clones = [n for g in seen.graphs for n in str(g.run).splitlines() if "memory_format=torch.channels_last" in n]
    assert dtype == torch.float32 or clones or "permute" in str(seen.graphs[0].run) or seen.graphs[0].regions
    wanted = {}
    for kind, other in others.items():
        value = x.double() if kind == "exact" else x
        if trained:
            wanted[kind] = _step(other, other, value)
        else:
            with torch.no_grad():
                wanted[kind] = [*_flat(other(value)), *other.buffers()]
    for ours, eager, exact in zip(got, wanted["eager"], wanted["exact"], strict=True):
        assert ours.stride() == eager.stride() and ours.dtype == eager.dtype
        scale = exact.double().abs().max().clamp(min=1e-6)
        error, of_eager = ((each.double() - exact).abs().max() / scale for each in (ours, eager))
        assert error <= 3 * of_eager + 0.02


def _conversions(model, x):
    with observing() as seen, torch.no_grad():
        torch.compile(model, backend="nvfuser")(x)
    (graph,) = seen.graphs
    return sum(node.kwargs.get("memory_format") is torch.channels_last for node in graph.cut.kinds)


class Rows(nn.Module):
    """What lies between its convolutions is flat, in the order that eager has."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(16, 16, 1), nn.Conv2d(16, 16, 1)

    def forward(self, x):
        x = self.first(x)
        for scale in (2, 3, 4, 5):
            x = x + (x * scale).flatten(1).cumsum(1).view_as(x)
        return self.second(x)


def _conversions_of_step(model, x):
    with observing() as seen:
        torch.compile(model, backend="nvfuser")(x).square().mean().backward()
    return {
        graph.direction: sum(node.kwargs.get("memory_format") is torch.channels_last for node in graph.cut.kinds)
        for graph in seen.graphs
    }


def test_backward_has_the_order_of_its_forward():
    x = torch.randn(2, 16, 8, 8).to(DEVICE, torch.bfloat16)
    norms = nn.Sequential(nn.Conv2d(16, 32, 3), nn.GroupNorm(4, 32), nn.ReLU(), nn.Conv2d(32, 16, 3))
    found = _conversions_of_step(norms.to(DEVICE, torch.bfloat16), x)
    assert found["forward"] > 0 and found["backward"] > 0
    torch._dynamo.reset()
    found = _conversions_of_step(Rows().to(DEVICE, torch.bfloat16), x)
    assert found == {"forward": 0, "backward": 0}


def test_what_is_repeated_keeps_its_order():
    x = torch.randn(2, 16, 8, 8).to(DEVICE, torch.bfloat16).requires_grad_()
    model = Joined().to(DEVICE, torch.bfloat16)
    # Two weights and the image; then these, and the gradient that the step begins with.
    assert _conversions_of_step(model, x) == {"forward": 3, "backward": 4}


def test_nothing_is_copied_between_convolutions():
    model = nn.Sequential(*(nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()) for _ in range(5)))
    model = model.to(DEVICE, torch.bfloat16)
    x = torch.randn(2, 16, 8, 8).to(DEVICE, torch.bfloat16)
    assert _conversions(model, x) == 6  # five weights and the image
    assert _conversions(model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)) == 0


@pytest.mark.parametrize(
    "model",
    [
        nn.Conv2d(32, 32, 3, groups=4),
        nn.Conv2d(3, 8, 3),
        Rows(),
    ],
    ids=["groups", "few channels", "flat in between"],
)
def test_left_as_it_is(model):
    model = model.to(DEVICE, torch.bfloat16)
    channels = next(m for m in model.modules() if isinstance(m, nn.Conv2d)).in_channels
    assert _conversions(model, torch.randn(2, channels, 8, 8).to(DEVICE, torch.bfloat16)) == 0


@pytest.mark.parametrize("may_be_tf32", [True, False])
def test_float32_where_it_is_rounded_alike(monkeypatch, may_be_tf32):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", may_be_tf32)
    x = torch.randn(2, 16, 8, 8).to(DEVICE)
    by_depth = nn.Sequential(nn.Conv2d(16, 32, 1), nn.Conv2d(32, 32, 3, groups=32)).to(DEVICE)
    plain = nn.Conv2d(16, 16, 3).to(DEVICE)
    assert _conversions(by_depth, x) == (1 if may_be_tf32 else 0)  # the image; such weights lie in either order
    assert _conversions(plain, x) == 0
    torch._dynamo.reset()
    assert _conversions(plain, x.to(memory_format=torch.channels_last)) == (1 if may_be_tf32 else 0)  # the weight
