"""Pooling as element-wise operations: one tensor for each place in a window, which holds that element of each window.

    windows that lie side by side and cover the tensor     views of it
    windows at every place (a stride of 1)                 the tensor, padded and cut
    others, on the CPU                                     reads at an index held to the tensor, and a number for
                                                           what lies in the padding

Others on a GPU, and large windows, stay PyTorch's: there reads at an index want the tensor in memory, and a kernel that
has no lanes along the channels is slower than the library's.

The gradient of an average is an average of gradients; that of a maximum goes to the place that has been the largest,
which is kept as a byte.
"""

import math

import torch
from torch._prims_common import get_computation_dtype

from .windows import Windows

aten = torch.ops.aten

_MOST_PLACES = 16  # of a window
_MOST_PLACES_EVERYWHERE = 49  # of a window at every place: reads of neighbours lie beside each other


def _fuses(windows):
    on_cpu = windows.x.device.type == "cpu"
    most = _MOST_PLACES_EVERYWHERE if windows.everywhere() else _MOST_PLACES
    if not windows.x.is_floating_point() or math.prod(windows.kernel) > most:
        return False
    return on_cpu or windows.cover() or windows.everywhere()


def _max_pool(rank):
    def define(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        windows = Windows(x, rank, kernel, stride, padding, dilation, ceil_mode)
        if not _fuses(windows):
            return NotImplemented
        best, place = _largest(windows)
        position = windows.laid_out(_position(windows, place))
        position.place_in_window = windows.laid_out(place)  # for the gradient, which is given the position
        if math.prod(windows.kernel) == 1:
            best = best.clone()  # the only element of a window shows the memory of x
        return windows.laid_out(best), position

    return define


def _largest(windows):
    """The largest element of each window, the last NaN if there are any, and the number of its place."""
    best = at = None
    for number, place in enumerate(windows.places()):
        value = windows.elements(place, -math.inf)
        if best is None:
            best, at = value, torch.zeros(value.shape, dtype=torch.int8, device=value.device)
            continue
        at = torch.where((value > best) | value.isnan(), number, at)
        best = torch.maximum(best, value)
    return best, at


def _position(windows, place):
    """Where in the tensor the place with that number is: row by row."""
    whole, number = 0, place.to(torch.int64)
    for axis in windows.axes:
        inner = math.prod(windows.kernel[axis + 1 :])
        step = windows.dilation[axis]
        first = windows.index(axis, 0)
        index = first + number // inner % windows.kernel[axis] * step
        if windows.may_miss(axis):
            # A window of minus infinities alone tells the first element that is one of the tensor.
            index = torch.where(index < 0, index % step, index)
        whole = whole * windows.sizes[axis] + index
    return whole


def _max_pool_backward(rank):
    """Of windows that lie side by side: each one's gradient, at the element that was the largest."""

    def define(grad, x, kernel, stride, padding, dilation, ceil_mode, indices):
        windows = Windows(x, rank, kernel, stride, padding, dilation, ceil_mode)
        if not _fuses(windows) or not windows.cover():
            return NotImplemented
        place = getattr(indices, "place_in_window", None)
        if place is None:  # of a forward that was not traced with it
            here = torch.arange(math.prod(windows.sizes), device=x.device).view(windows.sizes)
            grad, largest = (_over_windows(windows, each) for each in (grad, indices))
            return windows.laid_out(torch.where(largest == here, grad, 0))
        numbers = torch.arange(math.prod(windows.kernel), dtype=place.dtype, device=x.device)
        grad, place = (_beside_places(windows, each) for each in (grad, place))
        return windows.laid_out(_merged(windows, torch.where(place == _of_places(windows, numbers), grad, 0)))

    return define


def _beside_places(windows, value):
    """Each window's value (…, n, m), with axes for the places in it: (…, n, 1, m, 1)."""
    first = value.dim() - len(windows.axes)
    for axis in reversed(windows.axes):
        value = value.unsqueeze(first + axis + 1)
    return value


def _of_places(windows, numbers):
    """A number for each place of a window, beside each window: (k, 1, k)."""
    return numbers.view([size for each in windows.kernel for size in (1, each)][1:])


def _merged(windows, value):
    """Places of windows as those of the tensor: (…, n, k, m, k) as (…, n k, m k)."""
    rank = len(windows.axes)
    return value.reshape([*value.shape[: value.dim() - 2 * rank], *windows.sizes])


def _over_windows(windows, value):
    """Each window's value, at all of its elements; they lie side by side."""
    value = _beside_places(windows, value)
    wide = [size for each in zip(windows.counts, windows.kernel, strict=True) for size in each]
    return _merged(windows, value.expand([*value.shape[: value.dim() - len(wide)], *wide]))


def _avg_pool(rank):
    def define(x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        windows = Windows(x, rank, kernel, stride, padding, 1, ceil_mode)
        if not _fuses(windows) or ceil_mode:
            return NotImplemented
        total = _sum(windows)
        return windows.laid_out((total / _divisor(windows, count_include_pad, divisor_override)).to(x.dtype))

    return define


def _sum(windows):
    total = None
    for place in windows.places():
        value = windows.elements(place, 0).to(get_computation_dtype(windows.x.dtype))
        total = value if total is None else total + value
    return total


def _divisor(windows, count_include_pad, given):
    """What the sum of each window is divided by: a number, or one for each window."""
    if given is not None:
        return given
    if count_include_pad:
        return math.prod(windows.kernel)
    count = 1
    for axis in windows.axes:
        first = windows.index(axis, 0)
        end = (first + windows.kernel[axis]).clamp(max=windows.sizes[axis])
        count = count * (end - first.clamp(min=0))
    return count


def _parts(x, sizes):
    """The kernel of an adaptive pool whose windows lie side by side; None of another one."""
    given = x.shape[-len(sizes) :]
    known = all(isinstance(size, int) and isinstance(count, int) for size, count in zip(given, sizes, strict=True))
    if not known or any(count == 0 or size % count for size, count in zip(given, sizes, strict=True)):
        return None
    return [size // count for size, count in zip(given, sizes, strict=True)]


def _avg_pool_backward(rank):
    """Of windows that lie side by side: each one's gradient, over the window. Of windows everywhere: an average of the
    gradients around each place, in windows that are turned around."""

    def define(grad, x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        windows = Windows(x, rank, kernel, stride, padding, 1, ceil_mode)
        if not _fuses(windows) or ceil_mode or not (windows.cover() or windows.everywhere()):
            return NotImplemented
        parts = grad.to(get_computation_dtype(grad.dtype))
        parts = parts / _divisor(windows, count_include_pad, divisor_override)
        if windows.cover():
            return windows.laid_out(_over_windows(windows, parts).to(grad.dtype))
        pads = [size - 1 - pad for size, pad in zip(windows.kernel, windows.padding, strict=True)]
        turned = Windows(parts, rank, windows.kernel, [1] * rank, pads)
        return windows.laid_out(_sum(turned).to(grad.dtype))

    return define


def _adaptive(pool):
    def define(x, sizes):
        kernel = _parts(x, sizes)
        return NotImplemented if kernel is None else pool(x, kernel)

    return define


def _adaptive_backward(pool, rank):
    def define(grad, x):
        kernel = _parts(x, grad.shape[-rank:])
        return NotImplemented if kernel is None else pool(grad, x, kernel)

    return define


_TABLE = {
    aten.max_pool2d_with_indices.default: _max_pool(2),
    aten.max_pool3d_with_indices.default: _max_pool(3),
    aten.max_pool2d_with_indices_backward.default: _max_pool_backward(2),
    aten.max_pool3d_with_indices_backward.default: _max_pool_backward(3),
    aten.avg_pool2d.default: _avg_pool(2),
    aten.avg_pool3d.default: _avg_pool(3),
    aten.avg_pool2d_backward.default: _avg_pool_backward(2),
    aten.avg_pool3d_backward.default: _avg_pool_backward(3),
    aten._adaptive_avg_pool2d_backward.default: _adaptive_backward(_avg_pool_backward(2), 2),
    aten._adaptive_avg_pool3d_backward.default: _adaptive_backward(_avg_pool_backward(3), 3),
    aten._adaptive_avg_pool2d.default: _adaptive(_avg_pool(2)),
    aten._adaptive_avg_pool3d.default: _adaptive(_avg_pool(3)),
    aten.adaptive_max_pool2d.default: _adaptive(_max_pool(2)),
    aten.adaptive_max_pool3d.default: _adaptive(_max_pool(3)),
}


def pooling_decompositions():
    """Overload → decomposition."""
    return dict(_TABLE)
