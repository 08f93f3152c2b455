"""Pooling as element-wise operations: one tensor for each place in a window, which holds that element of each window.

Windows that lie side by side and cover the tensor are views of it; others are read by index, held to the tensor, and
what lies in the padding is replaced. Large windows stay PyTorch's.
"""

import itertools
import math

import torch
from torch._prims_common import suggest_memory_format

aten = torch.ops.aten

_MOST_PLACES = 16  # of a window


class _Windows:
    """Windows over the last axes of `x`, with a kernel, stride, padding and dilation for each."""

    def __init__(self, x, rank, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        def each(value):
            value = [value] if isinstance(value, int) else list(value)
            return value * rank if len(value) == 1 else value

        self.x, self.axes = x, range(rank)
        self.kernel, self.padding, self.dilation = each(kernel), each(padding), each(dilation)
        self.stride = each(stride) if stride else self.kernel
        self.sizes = list(x.shape[-rank:])
        self.counts = [self._count(axis, ceil_mode) for axis in self.axes]

    def _count(self, axis, ceil_mode):
        size, stride, padding = self.sizes[axis], self.stride[axis], self.padding[axis]
        room = size + 2 * padding - self.dilation[axis] * (self.kernel[axis] - 1) - 1
        count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
        # The last window begins within the tensor or the padding before it.
        return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count

    def fuse(self):
        return self.x.is_floating_point() and math.prod(self.kernel) <= _MOST_PLACES

    def cover(self):
        """Whether they lie side by side, without a rest."""
        return all(
            isinstance(self.sizes[axis], int)
            and self.sizes[axis] == self.counts[axis] * self.kernel[axis]
            and (self.stride[axis], self.padding[axis], self.dilation[axis]) == (self.kernel[axis], 0, 1)
            for axis in self.axes
        )

    def places(self):
        return itertools.product(*(range(size) for size in self.kernel))

    def index(self, axis, place):
        """Of that place of each window along an axis; in the padding it is below 0 or beyond the end."""
        first = place * self.dilation[axis] - self.padding[axis]
        index = torch.arange(self.counts[axis], device=self.x.device) * self.stride[axis] + first
        return index.view([-1] + [1] * (len(self.axes) - axis - 1))

    def may_miss(self, axis):
        last = (self.counts[axis] - 1) * self.stride[axis] + (self.kernel[axis] - 1) * self.dilation[axis]
        return self.padding[axis] > 0 or not isinstance(last, int) or last >= self.sizes[axis]

    def inside(self, place):
        """Whether that place of each window is one of the tensor; None where all are."""
        found = None
        for axis in filter(self.may_miss, self.axes):
            index = self.index(axis, place[axis])
            here = (index >= 0) & (index < self.sizes[axis])
            found = here if found is None else found & here
        return found

    def elements(self, place, outside):
        """That place of each window, `outside` where it is none of the tensor."""
        x = self.x
        if self.cover():
            for axis in reversed(self.axes):
                at = axis - len(self.axes)
                x = x.unflatten(at, (self.counts[axis], self.kernel[axis])).select(at, place[axis])
            return x
        index = [None] * (x.dim() - len(self.axes))
        for axis in self.axes:
            here = self.index(axis, place[axis])
            index.append(here.clamp(0, self.sizes[axis] - 1) if self.may_miss(axis) else here)
        found, inside = aten._unsafe_index.Tensor(x, index), self.inside(place)
        return found if inside is None else torch.where(inside, found, outside)

    def laid_out(self, result):
        """Channels last if the operand's are, as PyTorch's kernels do."""
        return result.contiguous(memory_format=suggest_memory_format(self.x))


def _max_pool(rank):
    def define(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        windows = _Windows(x, rank, kernel, stride, padding, dilation, ceil_mode)
        if not windows.fuse():
            return NotImplemented
        best, position = _largest(windows)
        return windows.laid_out(best), windows.laid_out(position)

    return define


def _largest(windows):
    """The largest element of each window, the last NaN if there are any, and where it lies in the tensor."""

    def flat(indices):
        whole = 0
        for index, size in zip(indices, windows.sizes, strict=True):
            whole = whole * size + index
        return whole

    best = position = None
    for place in windows.places():
        value = windows.elements(place, -math.inf)
        indices = [windows.index(axis, place[axis]) for axis in windows.axes]
        if best is None:
            # A window of minus infinities alone tells the first element that is one of the tensor.
            first = [
                torch.where(index < 0, index % step, index)
                for index, step in zip(indices, windows.dilation, strict=True)
            ]
            best, position = value, flat(first).expand(value.shape)
            continue
        position = torch.where((value > best) | value.isnan(), flat(indices), position)
        best = torch.maximum(best, value)
    return best, position


def _avg_pool(rank):
    def define(x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        windows = _Windows(x, rank, kernel, stride, padding, 1, ceil_mode)
        if not windows.fuse() or ceil_mode:
            return NotImplemented
        total = count = None
        for place in windows.places():
            value, inside = windows.elements(place, 0), windows.inside(place)
            total = value if total is None else total + value
            here = 1 if inside is None or count_include_pad else inside.to(torch.int64)
            count = here if count is None else count + here
        return windows.laid_out(total / (count if divisor_override is None else divisor_override))

    return define


def _parts(x, sizes):
    """The kernel of an adaptive pool whose windows lie side by side; None of another one."""
    given = x.shape[-len(sizes) :]
    known = all(isinstance(size, int) and isinstance(count, int) for size, count in zip(given, sizes, strict=True))
    if not known or any(count == 0 or size % count for size, count in zip(given, sizes, strict=True)):
        return None
    return [size // count for size, count in zip(given, sizes, strict=True)]


def _avg_pool_backward(rank):
    """Of windows that lie side by side: each one's gradient, over the window."""

    def define(grad, x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        windows = _Windows(x, rank, kernel, stride, padding, 1, ceil_mode)
        if not windows.fuse() or not windows.cover():
            return NotImplemented
        grad = grad / (divisor_override or math.prod(windows.kernel))
        for axis in reversed(windows.axes):
            at = axis - rank
            wide = [-1] * (grad.dim() + 1)
            wide[at] = windows.kernel[axis]
            grad = grad.unsqueeze(at).expand(wide).flatten(at - 1, at)
        return windows.laid_out(grad)

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
