"""Windows over the last axes of a tensor, of pooling and of convolutions: one tensor for each place in a window, which
holds that element of each window."""

import itertools

import torch
from torch._prims_common import suggest_memory_format

aten = torch.ops.aten


class Windows:
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

    def cover(self):
        """Whether they lie side by side, without a rest."""
        return all(
            isinstance(self.sizes[axis], int)
            and self.sizes[axis] == self.counts[axis] * self.kernel[axis]
            and (self.stride[axis], self.padding[axis], self.dilation[axis]) == (self.kernel[axis], 0, 1)
            for axis in self.axes
        )

    def everywhere(self):
        """Whether there is one at every place."""
        return all(isinstance(size, int) for size in self.sizes) and set(self.stride) == {1}

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
        if self.everywhere():
            pads = []
            for axis in reversed(self.axes):
                first = place[axis] * self.dilation[axis] - self.padding[axis]
                pads += [-first, first + self.counts[axis] - self.sizes[axis]]
            return aten.constant_pad_nd.default(x, pads, outside)
        index = [None] * (x.dim() - len(self.axes))
        for axis in self.axes:
            here = self.index(axis, place[axis])
            index.append(here.clamp(0, self.sizes[axis] - 1) if self.may_miss(axis) else here)
        found, inside = aten._unsafe_index.Tensor(x, index), self.inside(place)
        return found if inside is None else torch.where(inside, found, outside)

    def part(self, place):
        """The same, of known sizes and with zeros, as a part of the tensor with its padding."""
        part = self.x
        if any(self.padding):
            part = aten.constant_pad_nd(part, [p for each in reversed(self.padding) for p in (each, each)], 0)
        for axis in self.axes:
            at, step = place[axis] * self.dilation[axis], self.stride[axis]
            part = aten.slice(part, axis - len(self.axes), at, at + (self.counts[axis] - 1) * step + 1, step)
        return part

    def laid_out(self, result):
        """Channels last if the operand's are, as PyTorch's kernels do."""
        return result.contiguous(memory_format=suggest_memory_format(self.x))
