"""Programs for which schedules were once proposed that no kernel could have: each of their plans has one, and gives
eager's values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from compile_support import assert_as_eager, failures, fresh  # noqa: F401

PROGRAMS = {}


def program(*tensors, **options):
    def enter(function):
        PROGRAMS[function.__name__] = (function, tensors, options)
        return function

    return enter


def real(*shape, dtype=torch.float32, grad=True):
    return lambda: torch.randn(shape).to(dtype).requires_grad_(grad)


@program(real(8, 8, 17), lambda: torch.rand(17) > 0.5)
def a_mask_beside_maxima(x, mask):
    y = x - x.amax(0, keepdim=True)
    z = torch.special.i0(y)
    return torch.hypot(y, torch.where(mask, z, z)), y, z


@program(real(2, 17, dtype=torch.float64))
def sums_of_a_turned_tensor(x):
    y = x - x.amax(1, keepdim=True)
    turned = x.t()
    wide = turned.unsqueeze(-1).expand(*turned.shape, 2)
    return wide.sum(1, keepdim=True), y, y + y, turned, wide


@program(real(3, 17, 2), real(8, 3, 5, 16), dynamic=True)
def pools_at_two_steps(x, image):
    pooled = F.avg_pool2d(image, 3, 2, 1, True, False)
    return pooled * pooled, x.float(), F.max_pool2d(image, 2, return_indices=True)[1], pooled


@program(real(3, 17, 7), real(1, 16), dynamic=True)
def a_norm_of_neighbours(x, y):
    return F.tanhshrink(x), y.squeeze(-2), F.local_response_norm(x, 3)


@program(real(3, dtype=torch.float16, grad=False), real(8, 8, 6, 6, dtype=torch.float16, grad=False), dynamic=True)
def an_image_up_and_down(x, image):
    larger = F.interpolate(image, scale_factor=2, mode="bilinear")
    return F.interpolate(larger, scale_factor=0.6, mode="bilinear"), x.tanh()


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name, monkeypatch):
    monkeypatch.setenv("NVFUSER_DISABLE", "fallback")
    function, tensors, options = PROGRAMS[name]
    assert not failures(assert_as_eager(function, *(make() for make in tensors), **options))
