"""Convolutions of each channel by itself: values, layouts and gradients of eager, and no library's call where they have
few taps."""

import pytest
import torch
from compile_support import assert_as_eager, failures, fresh  # noqa: F401
from torch.nn import functional as F

CASES = {
    "of a picture": ((2, 3, 18, 40), (3, 1, 3, 3), {"padding": 1}),
    "without padding, with a bias": ((1, 3, 8, 40), (3, 1, 3, 3), {"bias": True}),
    "five by five": ((1, 4, 9, 37), (4, 1, 5, 5), {"padding": 2}),
    "every second place": ((2, 3, 17, 41), (3, 1, 3, 3), {"padding": 1, "stride": 2, "bias": True}),
    "taps apart": ((2, 3, 17, 41), (3, 1, 3, 3), {"padding": (2, 1), "dilation": (2, 1)}),
    "more padding than taps": ((1, 2, 6, 33), (2, 1, 2, 3), {"padding": 3}),
    "of one channel to a few": ((2, 1, 18, 40), (3, 1, 3, 3), {"padding": 1, "bias": True}),
    "of one channel": ((2, 1, 18, 40), (1, 1, 3, 3), {"padding": 1}),
    "causal": ((2, 20, 45), (20, 1, 4), {"padding": 3, "bias": True}),
    "along time": ((2, 3, 5, 6, 33), (3, 1, 3, 1, 1), {"padding": (1, 0, 0)}),
}
MANY_CHANNELS = (2, 24, 10, 33), (24, 1, 3, 3)


def _numbers(*shape):
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 37 % 101).float() / 101 - 0.4).view(shape)


def _program(x, weight, bias=None, **options):
    convolve = (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3]
    return F.silu(convolve(x, weight, bias, groups=x.shape[1], **options) * 2)


def _given(name, dtype=torch.float32):
    shape, of_weight, options = CASES[name]
    options = dict(options)
    tensors = [_numbers(*shape), _numbers(*of_weight)]
    if options.pop("bias", False):
        tensors.append(_numbers(of_weight[0]))
    return [tensor.to(dtype).requires_grad_() for tensor in tensors], options


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
def test_values_and_gradients_are_those_of_eager(name, dtype):
    tensors, options = _given(name, dtype)
    graphs = assert_as_eager(lambda *each: _program(*each, **options), *tensors)
    assert not failures(graphs)
    nodes = [node for graph in graphs for node in graph.cut.kinds]
    assert nodes and not any(node.target is torch.ops.aten.convolution.default for node in nodes)


@pytest.mark.parametrize("name", ("of a picture", "causal"))
def test_half_precision_is_rounded_once(name):
    tensors, options = _given(name, torch.bfloat16)
    given = [tensor.detach() for tensor in tensors]
    got = torch.compile(lambda *each: _program(*each, **options), backend="nvfuser")(*given)
    exact = _program(*(each.double() for each in given), **options)
    torch.testing.assert_close(got.double(), exact, rtol=2**-7, atol=1e-3)
    assert got.dtype == torch.bfloat16


def test_channels_that_lie_together_are_a_librarys():
    x = _numbers(2, 3, 18, 40).contiguous(memory_format=torch.channels_last)
    assert not failures(assert_as_eager(lambda x, w: F.conv2d(x, w, groups=3).relu(), x, _numbers(3, 1, 3, 3)))


def test_many_channels_of_pictures_are_a_librarys_on_the_cpu():
    x, weight = (_numbers(*shape).requires_grad_() for shape in MANY_CHANNELS)
    graphs = assert_as_eager(lambda x, w: _program(x, w, padding=1), x, weight)
    assert not failures(graphs)
    assert any(node.target is torch.ops.aten.convolution.default for graph in graphs for node in graph.cut.kinds)


def test_what_is_too_small_is_eagers_error():
    with pytest.raises(RuntimeError, match=r"[Kk]ernel size"):
        torch.compile(lambda x, w: F.conv1d(x, w, groups=2, dilation=20), backend="nvfuser")(
            _numbers(1, 2, 35), _numbers(2, 1, 3)
        )
