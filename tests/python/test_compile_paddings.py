"""Pads by mode are joins, which fuse with what is around them."""

import pytest
import torch
import torch.nn.functional as F
from nvfuser.dynamo import paddings
from nvfuser.dynamo.backend import observing


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


@pytest.fixture(params=["joins", "indices"])
def borders(request, monkeypatch):
    """As on the CPU, and as on a GPU."""
    monkeypatch.setattr(paddings, "DEVICES_OF_INDICES", ("cpu",) if request.param == "indices" else ())


@pytest.mark.parametrize(
    ("shape", "widths"),
    [((2, 3, 5), (2, 1)), ((2, 3, 5), (5, 5)), ((2, 3, 5, 7), (2, 1, 3, 0)), ((1, 2, 3, 4, 5), (1, 1, 0, 2, 3, 1))],
)
def test_values_strides_and_gradients(shape, widths):
    def program(x):
        return F.pad(x, widths, mode="circular") * 2

    x = torch.randn(shape, requires_grad=True)
    with observing() as seen:
        got = torch.compile(program, backend="nvfuser")(x)
    wanted = program(x)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert got.stride() == wanted.stride()
    grad = torch.randn_like(wanted)
    torch.testing.assert_close(torch.autograd.grad(got, x, grad), torch.autograd.grad(wanted, x, grad))
    assert not [why for graph in seen.graphs for why in graph.cut.reasons.values() if why == "memory without values"]


@pytest.mark.parametrize("mode", ["circular", "reflect", "replicate"])
def test_strides_of_images_with_their_channels_innermost(mode):
    def program(x):
        return F.pad(x, (1, 2, 0, 1), mode=mode)

    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    got, wanted = torch.compile(program, backend="nvfuser")(x), program(x)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0, check_stride=True)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("shape", "widths"),
    [((2, 3, 9), (2, 1)), ((3, 9), (8, 0)), ((2, 3, 5, 7), (2, 1, 3, 0)), ((1, 2, 3, 4, 5), (1, 1, 0, 2, 2, 1))],
)
def test_borders_that_turn_or_stay(mode, shape, widths, dynamic, borders):
    def program(x):
        return F.pad(x * 3, widths, mode=mode).relu()

    x = torch.randn(shape, requires_grad=True)
    for format in (torch.contiguous_format, *([torch.channels_last] if len(shape) == 4 else [])):
        turned = x.contiguous(memory_format=format)
        got = torch.compile(program, backend="nvfuser", dynamic=dynamic)(turned)
        wanted = program(turned)
        torch.testing.assert_close(got, wanted, rtol=0, atol=0)
        assert got.stride() == wanted.stride()
        grad = torch.randn_like(wanted)
        torch.testing.assert_close(torch.autograd.grad(got, x, grad), torch.autograd.grad(wanted, x, grad))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_borders_of_other_kinds(mode, borders):
    """Negative widths, whole axes, and too wide ones, of which eager's error stays."""
    program = torch.compile(lambda x, widths: F.pad(x, widths, mode=mode) + 1, backend="nvfuser")
    for widths in ((-1, 2), (0, 0), (3, -2)):
        torch.testing.assert_close(
            program(torch.arange(12.0).view(3, 4), widths), F.pad(torch.arange(12.0).view(3, 4), widths, mode=mode) + 1
        )
    if mode == "reflect":
        with pytest.raises(Exception, match="adding size"):
            program(torch.randn(3, 4), (4, 0))


def test_a_negative_width_crops_and_too_wide_a_one_is_eagers_error():
    x = torch.randn(2, 3, 4)
    crop = torch.compile(lambda x: F.pad(x, (-1, 2), mode="circular") + 1, backend="nvfuser")
    torch.testing.assert_close(crop(x), F.pad(x, (-1, 2), mode="circular") + 1)
    with pytest.raises(Exception, match="wrapping around"):
        torch.compile(lambda x: F.pad(x, (5, 0), mode="circular"), backend="nvfuser")(x)


def test_of_changing_sizes():
    program = torch.compile(lambda x: F.pad(x, (2, 1, 0, 1), mode="circular") * 2, backend="nvfuser", dynamic=True)
    for shape in ((3, 5, 7), (3, 4, 2), (2, 6, 9)):
        x = torch.randn(shape)
        torch.testing.assert_close(program(x), F.pad(x, (2, 1, 0, 1), mode="circular") * 2)


def test_a_convolution_with_circular_padding():
    conv = torch.nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular")
    x = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(torch.compile(conv, backend="nvfuser")(x), conv(x))


def test_a_stencil_over_borders(borders):
    """Parts of what is padded, of computed tensors, beside each other."""

    def program(x):
        y = F.pad((x * 0.5).exp()[None], (2, 1, 1, 3), mode="reflect")[0]
        return y[..., 1:-3, 2:-1] - y[..., 3:-1, 3:], y[:, :2].sum((-1, -2))

    x = torch.randn(3, 17, 33)
    for got, wanted in zip(torch.compile(program, backend="nvfuser")(x), program(x), strict=True):
        torch.testing.assert_close(got, wanted)
