"""Pools and their gradients (dynamo/pooling.py), as eager has them: windows side by side, everywhere, and others."""

import pytest
import torch
import torch.nn.functional as F
from compile_support import assert_as_eager, compiled, fresh  # noqa: F401

_POOLS = {
    "average, side by side": lambda x: F.avg_pool2d(x, 2),
    "average, everywhere": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "average, everywhere, without padding": lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    "average, everywhere, another divisor": lambda x: F.avg_pool2d(x, (2, 3), 1, (0, 1), divisor_override=5),
    "average of many, everywhere": lambda x: F.avg_pool2d(x, 5, 1, 2, count_include_pad=False),
    "largest of many, everywhere": lambda x: F.max_pool2d(x, 7, 1, 3),
    "average, with steps": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "largest, side by side": lambda x: F.max_pool2d(x, 2),
    "largest, everywhere": lambda x: F.max_pool2d(x, 3, 1, 1),
    "largest, everywhere, dilated": lambda x: F.max_pool2d(x, 3, 1, 1, 2),
    "largest, with steps": lambda x: F.max_pool2d(x, 3, 2, 1),
    "largest, the last window cut": lambda x: F.max_pool2d(x, 2, 2, 1, 2, ceil_mode=True),
    "largest of a volume": lambda x: F.max_pool3d(x[None], 2)[0],
    "average of parts": lambda x: F.adaptive_avg_pool2d(x, (4, 2)),
    "largest of parts": lambda x: F.adaptive_max_pool2d(x, (4, 2)),
}


@pytest.mark.parametrize("channels_last", [False, True], ids=["rows", "channels last"])
@pytest.mark.parametrize("name", _POOLS)
def test_pool(name, channels_last):
    pool = _POOLS[name]
    x = torch.randn(2, 4, 12, 8)
    x[0, 2, 4:8, 4:8] = 1.0  # several largest ones
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    assert_as_eager(lambda x: torch.sin(pool(x * 2)), x.requires_grad_())


@pytest.mark.parametrize("name", ["average, everywhere", "average, side by side", "largest, side by side"])
def test_half_precision(name):
    """Sums and their gradients are those of float32; eager's gradients of averages are rounded at each window."""
    x = torch.randn(2, 8, 6, 8, dtype=torch.bfloat16)
    theirs, ours = (value.clone().requires_grad_() for value in (x.float(), x))
    wanted = _POOLS[name](theirs * 2)
    found = compiled(lambda x: _POOLS[name](x * 2))(ours)
    for result in (wanted, found):
        (result * torch.arange(result.numel(), device=x.device).view(result.shape).sin()).float().sum().backward()
    torch.testing.assert_close(found, wanted.bfloat16(), rtol=0.02, atol=0.02)
    torch.testing.assert_close(ours.grad, theirs.grad.bfloat16(), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 1, 1)])
def test_what_is_no_number_is_the_largest(pool):
    x = torch.randn(1, 2, 6, 6)
    x[0, 0, 2, 3], x[0, 1] = float("nan"), -float("inf")
    assert_as_eager(lambda x: pool(x * 2) * 3, x.requires_grad_())


def test_positions_of_the_largest():
    x = torch.randn(2, 3, 6, 8)
    assert_as_eager(lambda x: F.max_pool2d(x + 1, 2, return_indices=True), x)
    assert_as_eager(lambda x: F.max_pool2d(x + 1, 3, 1, 1, return_indices=True), x)


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 1), lambda x: F.adaptive_max_pool1d(x, 2)])
def test_a_window_of_one_element_is_a_tensor_of_its_own(pool):
    def function(x):
        y = x * 2
        return y, pool(y)

    y, pooled = compiled(function)(torch.randn(5, 8, 2))
    assert torch.equal(y, pooled) and y.untyped_storage().data_ptr() != pooled.untyped_storage().data_ptr()
